// What the environment says about the simulated device. Read once, at the first use.
#ifndef ULSC_RUNTIME_SIMULATOR_CORE_SETTINGS_H
#define ULSC_RUNTIME_SIMULATOR_CORE_SETTINGS_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace ulsc::simulator {

struct Settings {
  uint64_t seed = 0;                    ///< ULSC_SIMULATOR_SEED
  bool findsRaces = true;               ///< ULSC_SIMULATOR_RACES, 0 or 1
  size_t memoryBytes = size_t(8) << 30; ///< ULSC_SIMULATOR_MEMORY
  int devices = 1;                      ///< ULSC_SIMULATOR_DEVICES
  int timeoutSeconds = 60;              ///< ULSC_SIMULATOR_TIMEOUT
  uint64_t ncclError = 0;               ///< ULSC_SIMULATOR_NCCL_ERROR; 0: none
  int architecture = 90;                ///< ULSC_SIMULATOR_ARCH: 9.0, 10.0; 90 and 100 here
  std::string reportFile;               ///< ULSC_SIMULATOR_REPORT
};

/// A value that can't be read is reported.
const Settings &settings();

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CORE_SETTINGS_H
