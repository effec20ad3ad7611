//===- process.h - Runs commands, and ends them in the midst ----------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_SUPPORT_PROCESS_H
#define ULSC_TEST_SUPPORT_PROCESS_H

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace ulsc::test {

using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

struct Outcome {
  int exitCode = 0; ///< 128 + n when killed by signal n
  std::string output;
};

/// A command under way, its stdout and stderr together. Its process group ends with the object.
class Process {
public:
  explicit Process(const Words &command, const Environment &environment = {});
  ~Process();
  Process(const Process &) = delete;
  Process &operator=(const Process &) = delete;

  pid_t getPid() const { return pid; }
  /// Reads until `text` was written; false when the command ends or `timeoutSeconds` pass before.
  bool waitFor(const std::string &text, int timeoutSeconds = 300);
  /// Reads to the end; the command is ended with SIGKILL after `timeoutSeconds`.
  Outcome wait(int timeoutSeconds = 300);

private:
  enum class Reading { Some, End, Late };
  Reading read(int timeoutMilliseconds);

  pid_t pid = -1;
  int input = -1;
  std::string output;
};

/// Runs a command to its end.
Outcome run(const Words &command, const Environment &environment = {}, int timeoutSeconds = 300);

/// The processes that have `NAME=VALUE` in their environment, those of one rank if `rank` is not
/// negative.
std::vector<pid_t> findProcesses(const std::string &nameAndValue, int rank = -1);

} // namespace ulsc::test

#endif // ULSC_TEST_SUPPORT_PROCESS_H
