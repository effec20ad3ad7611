// Jobs whose ranks find each other without MPI, as forked processes.
#ifndef ULSC_RUNTIME_TEST_TCP_JOB_H
#define ULSC_RUNTIME_TEST_TCP_JOB_H

#include "comm/communicator.h"
#include "comm/join.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

namespace ulsc::test {

/// How a rank ended, and what it wrote to stderr.
struct RankEnd {
  int exitCode = 0; ///< 128 + n by signal n
  std::string errors;
};

class TcpJob : public testing::Test {
protected:
  using Body = std::function<void(runtime::Communicator &)>;

  /// Listens on a port of its own, as torchrun's agent does: the job's ports are those that follow,
  /// so that no test takes another one's.
  void SetUp() override;
  void TearDown() override;

  /// What rank `rank` of `ranks` on this machine finds in its environment.
  runtime::Launch launchOf(int rank, int ranks) const;
  /// Forks a process and returns its number. Work that returns ends it with 0; an Error is printed
  /// and ends it with 1.
  int fork(const std::function<void()> &work);
  /// A rank that joins, does its work and finishes.
  int start(const runtime::Launch &launch, const Body &body);
  pid_t pidOf(int number) const { return processes[number].pid; }
  /// Waits for the end of a process.
  RankEnd wait(int number);
  void stop(int number);
  /// Waits until a process has written this to stderr.
  void waitForText(int number, const std::string &text) const;
  /// All ranks at once; their ends by rank.
  std::vector<RankEnd> runJob(int ranks, const Body &body);

  /// A connection to rank 0, which has not been told anything yet, and its challenge.
  runtime::Socket connectToFirst(std::string &challenge) const;

  runtime::JoinOptions options;

private:
  std::string errorsOf(int number) const;

  struct Process {
    pid_t pid;
    std::FILE *errors;
  };
  runtime::Socket agent;
  int masterPort = 0;
  std::vector<Process> processes;
};

/// What `text` has to hold; a readable failure where not.
void expectText(const std::string &text, const std::string &part);

/// Ends a forked process where the condition is false.
void require(bool condition, const std::string &what);

} // namespace ulsc::test

#endif // ULSC_RUNTIME_TEST_TCP_JOB_H
