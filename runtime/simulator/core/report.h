// The one way the simulated device ends a process that did something illegal.
#ifndef ULSC_RUNTIME_SIMULATOR_CORE_REPORT_H
#define ULSC_RUNTIME_SIMULATOR_CORE_REPORT_H

#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace ulsc::simulator {

/// The exit code of a process that was ended by a report.
constexpr int reportExitCode = 86;

/// What was found, in the words of a reader who knows CUDA.
struct Finding {
  std::string kind; ///< One stable word for tests and tools: "race", "out-of-bounds", "misaligned".
  std::string summary; ///< The first line: what happened.
  /// Lines "name: value" below it, in order: operations, threads, PTX lines, addresses.
  std::vector<std::pair<std::string, std::string>> details;
  std::string legal; ///< What would have been legal.
};

/// Writes one block to stderr that begins with "simulated device: ", appends one JSON object to the
/// file named by ULSC_SIMULATOR_REPORT, and ends the process with reportExitCode by _exit.
[[noreturn]] void report(const Finding &finding);

/// Builds a message from its parts.
template <typename... Parts>
std::string text(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

/// The operation that runs now, for findings inside it ("kernel 'softmax' (source …) on stream 3");
/// empty outside.
std::string currentOperation();

/// Called by report() just before it ends the process: a drop-in marks shared state so that other
/// ranks see why this one has gone. Functions stay registered.
void onReport(void (*function)(const Finding &finding));

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CORE_REPORT_H
