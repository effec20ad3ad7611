//===- harness.cpp - Compiles models and runs programs ----------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ulsc::test;
namespace fs = std::filesystem;

/// Environment of every process: more ranks than cores, and root in containers, are normal in
/// tests.
static Environment baseEnvironment() {
  return {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
          {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
          {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
          {"OMPI_MCA_mpi_yield_when_idle", "1"}};
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

/// Reads until end of file or the deadline; returns whether the deadline passed.
static bool drain(int input, std::string &text, int timeoutSeconds) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(timeoutSeconds);
  char buffer[65536];
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0)
      return true;
    pollfd wanted{input, POLLIN, 0};
    if (::poll(&wanted, 1, static_cast<int>(left.count())) <= 0)
      continue;
    ssize_t count = ::read(input, buffer, sizeof(buffer));
    if (count <= 0)
      return false;
    text.append(buffer, count);
  }
}

Outcome ulsc::test::run(const Words &command, const Environment &environment, int timeoutSeconds) {
  Environment all = baseEnvironment();
  for (const auto &[name, value] : environment)
    all[name] = value;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return {127, "no pipe"};
  pid_t child = ::fork();
  if (child == 0)
    execute(command, all, ends[1]);
  ::close(ends[1]);
  Outcome outcome;
  if (drain(ends[0], outcome.output, timeoutSeconds)) {
    ::kill(-child, SIGKILL);
    outcome.output += "\n[ended after " + std::to_string(timeoutSeconds) + " s]\n";
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

fs::path ulsc::test::scratchDirectory(const std::string &name) {
  fs::path directory = fs::path(ULSC_BUILD_DIR) / "test" / "e2e" / "scratch" / name;
  fs::remove_all(directory);
  fs::create_directories(directory);
  return directory;
}

fs::path ulsc::test::goldenDirectory(const std::string &model) {
  return fs::path(ULSC_SOURCE_DIR) / "test" / "golden" / model;
}

static std::string joined(const Words &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Programs are kept by what they were made from, for the tests of one run and for the next as long
/// as the compiler is the same.
fs::path ulsc::test::compile(const fs::path &model, const Words &arguments,
                             const fs::path &report) {
  fs::path compiler = fs::path(ULSC_BUILD_DIR) / "bin" / "ulsc";
  fs::path runtime = fs::path(ULSC_BUILD_DIR) / "lib" / "libulsc_runtime.a";
  auto stamp = [](const fs::path &file) {
    return std::to_string(fs::last_write_time(file).time_since_epoch().count());
  };
  std::string key =
      model.string() + "\n" + joined(arguments) + "\n" + stamp(compiler) + stamp(runtime);
  fs::path directory = fs::path(ULSC_BUILD_DIR) / "test" / "e2e" / "programs";
  fs::create_directories(directory);
  fs::path program = directory / std::to_string(std::hash<std::string>{}(key));
  fs::path programReport = program.string() + ".report.json";
  if (!fs::exists(program)) {
    Words command{compiler, "compile", model};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.insert(command.end(), {"-o", program, "--report", programReport});
    Outcome outcome = run(command);
    EXPECT_EQ(outcome.exitCode, 0) << joined(command) << "\n" << outcome.output;
  }
  if (!report.empty())
    fs::copy_file(programReport, report, fs::copy_options::overwrite_existing);
  return program;
}

Words ulsc::test::launch(const fs::path &program, int ranks, const Words &arguments) {
  Words command;
  if (ranks > 1)
    command = {"mpirun", "-np", std::to_string(ranks), "--oversubscribe"};
  command.insert(command.end(), {program, "--threads", "1"});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::vector<StepMetrics> ulsc::test::readMetrics(const fs::path &file) {
  std::vector<StepMetrics> steps;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    nlohmann::json all = nlohmann::json::parse(line);
    steps.push_back({all.at("step"), all.at("loss"), all.at("grad_norm"), all});
  }
  return steps;
}

std::vector<StepMetrics> ulsc::test::train(const fs::path &program, int ranks, Words arguments,
                                           const Environment &environment) {
  static int runs = 0;
  fs::path metrics =
      scratchDirectory("metrics-" + std::to_string(::getpid()) + "-" + std::to_string(runs++)) /
      "metrics.jsonl";
  arguments.insert(arguments.end(), {"--metrics", metrics});
  Words command = launch(program, ranks, arguments);
  Outcome outcome = run(command, environment);
  EXPECT_EQ(outcome.exitCode, 0) << joined(command) << "\n" << outcome.output;
  return readMetrics(metrics);
}

nlohmann::json ulsc::test::readJson(const fs::path &file) {
  std::ifstream stream(file);
  return nlohmann::json::parse(stream);
}

double ulsc::test::relativeDifference(double a, double b) {
  return std::abs(a - b) / std::max(std::abs(b), 1e-30);
}
