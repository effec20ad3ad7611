// Reads the environment variables of the simulated device.
#include "simulator/core/settings.h"

#include "simulator/core/report.h"

#include <cstdlib>

namespace ulsc::simulator {

namespace {

uint64_t readNumber(const char *name, uint64_t otherwise, uint64_t minimum, uint64_t maximum) {
  const char *value = std::getenv(name);
  if (!value || !*value)
    return otherwise;
  char *end = nullptr;
  uint64_t number = std::strtoull(value, &end, 10);
  if (*end != 0 || *value == '-' || number < minimum || number > maximum)
    report({"environment",
            text(name, " is '", value, "'"),
            {},
            text("a whole number from ", minimum, " to ", maximum)});
  return number;
}

int readArchitecture() {
  const char *value = std::getenv("ULSC_SIMULATOR_ARCH");
  if (!value || !*value)
    return 90;
  char *end = nullptr;
  long major = std::strtol(value, &end, 10);
  long minor = *end == '.' ? std::strtol(end + 1, &end, 10) : -1;
  if (*end != 0 || major < 5 || major > 12 || minor < 0 || minor > 9)
    report({"environment",
            text("ULSC_SIMULATOR_ARCH is '", value, "'"),
            {},
            "a compute capability such as 8.0, 9.0 or 10.0"});
  return int(major * 10 + minor);
}

Settings readSettings() {
  Settings result;
  if (const char *file = std::getenv("ULSC_SIMULATOR_REPORT"))
    result.reportFile = file;
  result.seed = readNumber("ULSC_SIMULATOR_SEED", 0, 0, UINT64_MAX);
  result.findsRaces = readNumber("ULSC_SIMULATOR_RACES", 1, 0, 1) != 0;
  // The upper bound keeps the reserved addresses, shadows included, below 47 bits.
  result.memoryBytes =
      readNumber("ULSC_SIMULATOR_MEMORY", result.memoryBytes, 1 << 20, uint64_t(1) << 40);
  result.devices = int(readNumber("ULSC_SIMULATOR_DEVICES", 1, 1, 64));
  result.timeoutSeconds = int(readNumber("ULSC_SIMULATOR_TIMEOUT", 60, 1, 86400));
  result.ncclError = readNumber("ULSC_SIMULATOR_NCCL_ERROR", 0, 0, UINT64_MAX);
  result.architecture = readArchitecture();
  return result;
}

} // namespace

const Settings &settings() {
  static const Settings result = readSettings();
  return result;
}

} // namespace ulsc::simulator
