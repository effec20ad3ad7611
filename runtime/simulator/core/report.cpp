// Writes findings and ends the process.
#include "simulator/core/report.h"

#include "simulator/core/device.h"
#include "simulator/core/settings.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace ulsc::simulator {

namespace {

std::vector<void (*)(const Finding &)> &listeners() {
  static auto *result = new std::vector<void (*)(const Finding &)>;
  return *result;
}

void writeAll(int file, const std::string &block) {
  size_t done = 0;
  while (done < block.size()) {
    ssize_t count = write(file, block.data() + done, block.size() - done);
    if (count <= 0)
      return;
    done += size_t(count);
  }
}

/// One line of JSON, in one write, so that ranks may share the file.
void appendObject(const Finding &finding) {
  // Not from settings(): reading those may be what is reported.
  const char *path = std::getenv("ULSC_SIMULATOR_REPORT");
  if (!path || !*path)
    return;
  nlohmann::ordered_json object;
  object["kind"] = finding.kind;
  object["summary"] = finding.summary;
  for (const auto &[name, value] : finding.details)
    object["details"].push_back({{"name", name}, {"value", value}});
  object["legal"] = finding.legal;
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0)
    return;
  writeAll(file, object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  close(file);
}

} // namespace

void onReport(void (*function)(const Finding &finding)) { listeners().push_back(function); }

void report(const Finding &finding) {
  std::string block = "simulated device: " + finding.kind + ": " + finding.summary + "\n";
  for (const auto &[name, value] : finding.details)
    block += "  " + name + ": " + value + "\n";
  if (!finding.legal.empty())
    block += "  legal: " + finding.legal + "\n";
  fflush(stdout);
  writeAll(2, block);
  appendObject(finding);
  for (auto *listener : listeners())
    listener(finding);
  _exit(reportExitCode);
}

std::string currentOperation() {
  Device &state = device();
  return state.runningNumber ? state.log.describe(state.runningNumber) : "";
}

} // namespace ulsc::simulator
