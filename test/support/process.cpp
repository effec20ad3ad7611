//===- process.cpp - Runs commands, and ends them in the midst --------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "process.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ulsc::test;
namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

/// Environment of every process: more ranks than cores, and root in containers, are normal in
/// tests. Naming the transports halves the time that a run takes to start.
static Environment baseEnvironment() {
  return {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
          {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
          {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
          {"OMPI_MCA_mpi_yield_when_idle", "1"},
          {"OMPI_MCA_pml", "ob1"},
          {"OMPI_MCA_btl", "self,vader"}};
}

[[noreturn]] static void execute(const Words &command, const Environment &environment, int output) {
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::setpgid(0, 0);
  ::unsetenv("OMP_NUM_THREADS");
  for (const auto &[name, value] : environment)
    ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char *> words;
  for (const std::string &word : command)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  ::_exit(127);
}

static int millisecondsUntil(Clock::time_point deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

Process::Process(const Words &command, const Environment &environment) {
  Environment all = baseEnvironment();
  for (const auto &[name, value] : environment)
    all[name] = value;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return;
  pid = ::fork();
  if (pid == 0)
    execute(command, all, ends[1]);
  // On both sides, as either may be first.
  ::setpgid(pid, pid);
  ::close(ends[1]);
  input = ends[0];
}

Process::~Process() {
  if (pid > 0) {
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  if (input >= 0)
    ::close(input);
}

Process::Reading Process::read(int timeoutMilliseconds) {
  pollfd wanted{input, POLLIN, 0};
  if (::poll(&wanted, 1, timeoutMilliseconds) <= 0)
    return Reading::Late;
  char buffer[65536];
  ssize_t count = ::read(input, buffer, sizeof(buffer));
  if (count <= 0)
    return Reading::End;
  output.append(buffer, count);
  return Reading::Some;
}

bool Process::waitFor(const std::string &text, int timeoutSeconds) {
  auto deadline = Clock::now() + std::chrono::seconds(timeoutSeconds);
  while (output.find(text) == std::string::npos)
    if (read(millisecondsUntil(deadline)) != Reading::Some)
      return false;
  return true;
}

Outcome Process::wait(int timeoutSeconds) {
  auto deadline = Clock::now() + std::chrono::seconds(timeoutSeconds);
  Reading reading = Reading::Some;
  while (reading == Reading::Some)
    reading = read(millisecondsUntil(deadline));
  if (reading == Reading::Late) {
    ::kill(-pid, SIGKILL);
    output += "\n[ended after " + std::to_string(timeoutSeconds) + " s]\n";
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  pid = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), output};
}

Outcome ulsc::test::run(const Words &command, const Environment &environment, int timeoutSeconds) {
  return Process(command, environment).wait(timeoutSeconds);
}

std::vector<pid_t> ulsc::test::findProcesses(const std::string &nameAndValue, int rank) {
  std::vector<pid_t> found;
  std::string rankText = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
  std::error_code code; // processes come and go
  for (const fs::directory_entry &entry : fs::directory_iterator("/proc", code)) {
    pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0)
      continue;
    std::ifstream stream(entry.path() / "environ", std::ios::binary);
    std::string text = std::string(1, '\0') +
                       std::string(std::istreambuf_iterator<char>(stream), {}) +
                       std::string(1, '\0');
    auto holds = [&](const std::string &word) {
      return text.find(std::string(1, '\0') + word + std::string(1, '\0')) != std::string::npos;
    };
    if (holds(nameAndValue) && (rank < 0 || holds(rankText)))
      found.push_back(pid);
  }
  return found;
}
