//===- harness.cpp - Compiles models and runs programs ----------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>

#include <unistd.h>

using namespace ulsc::test;
namespace fs = std::filesystem;

bool ulsc::test::isExhaustive() {
  const char *value = std::getenv("ULSC_EXHAUSTIVE");
  return value && std::string(value) == "1";
}

fs::path ulsc::test::scratchDirectory(const std::string &name) {
  fs::path directory = fs::path(ULSC_BUILD_DIR) / "test" / "scratch" / name;
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

Words TrainingCase::flags() const {
  Words flags{"--microbatches", std::to_string(microbatches)};
  if (!mesh.empty())
    flags.insert(flags.end(), {"--mesh", mesh});
  if (!strategy.empty())
    flags.insert(flags.end(), {"--strategy", strategy});
  return flags;
}

/// Programs are kept by what they were made from, for the tests of one run and for the next as long
/// as the compiler is the same.
fs::path ulsc::test::compile(const fs::path &model, const Words &arguments,
                             const fs::path &report) {
  fs::path compiler = fs::path(ULSC_BUILD_DIR) / "bin" / "ulsc";
  auto stamp = [](const fs::path &file) {
    return std::to_string(fs::last_write_time(file).time_since_epoch().count());
  };
  std::string key = model.string() + "\n" + joined(arguments) + "\n" + stamp(compiler);
  for (const char *part : {"core", "cpu", "cuda"})
    key +=
        stamp(fs::path(ULSC_BUILD_DIR) / "lib" / ("libulsc_runtime_" + std::string(part) + ".a"));
  const std::string plugin = "--load-pass-plugin=";
  for (const std::string &argument : arguments)
    if (argument.rfind(plugin, 0) == 0)
      key += stamp(argument.substr(plugin.size()));
  fs::path directory = fs::path(ULSC_BUILD_DIR) / "test" / "programs";
  fs::create_directories(directory);
  fs::path program = directory / std::to_string(std::hash<std::string>{}(key));
  fs::path programReport = program.string() + ".report.json";
  if (!fs::exists(program)) {
    Words command{compiler, "compile", model, "--verify-each"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.insert(command.end(), {"-o", program, "--report", programReport});
    Outcome outcome = run(command);
    EXPECT_EQ(outcome.exitCode, 0) << joined(command) << "\n" << outcome.output;
  }
  if (!report.empty())
    fs::copy_file(programReport, report, fs::copy_options::overwrite_existing);
  return program;
}

Words ulsc::test::launch(const fs::path &program, int ranks, const Words &arguments,
                         const Environment &environment) {
  Words command;
  if (ranks > 1)
    command = {"mpirun", "-np", std::to_string(ranks), "--oversubscribe"};
  else if (!environment.empty())
    command = {"env"};
  for (const auto &[name, value] : environment) {
    if (ranks > 1)
      command.push_back("-x");
    command.push_back(name + "=" + value);
  }
  command.insert(command.end(), {program, "--threads", "1"});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Environment ulsc::test::onSimulatedDevice(const Environment &environment) {
  Environment all = environment;
  all["LD_LIBRARY_PATH"] = fs::path(ULSC_BUILD_DIR) / "lib" / "simulator";
  return all;
}

Environment ulsc::test::preload(const std::string &shim, const Environment &environment) {
  Environment all = environment;
  all["LD_PRELOAD"] = fs::path(ULSC_BUILD_DIR) / "lib" / ("lib" + shim + ".so");
  return all;
}

std::vector<StepMetrics> ulsc::test::readMetrics(const fs::path &file) {
  std::vector<StepMetrics> steps;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    nlohmann::json all = nlohmann::json::parse(line);
    if (!all.contains("step"))
      continue;
    // JSON has no number that is not finite.
    auto number = [&](const char *key) {
      return all.at(key).is_null() ? std::nan("") : all.at(key).get<double>();
    };
    steps.push_back({all.at("step"), number("loss"), number("grad_norm"), all});
  }
  return steps;
}

nlohmann::json ulsc::test::readExposure(const fs::path &file) {
  nlohmann::json exposure;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    exposure = nlohmann::json::parse(line).value("exposure", exposure);
  return exposure;
}

std::vector<StepMetrics> ulsc::test::train(const fs::path &program, int ranks, Words arguments,
                                           const Environment &environment) {
  static int runs = 0;
  fs::path metrics =
      scratchDirectory("metrics-" + std::to_string(::getpid()) + "-" + std::to_string(runs++)) /
      "metrics.jsonl";
  arguments.insert(arguments.end(), {"--metrics", metrics});
  Words command = launch(program, ranks, arguments, environment);
  Outcome outcome = run(command);
  EXPECT_EQ(outcome.exitCode, 0) << joined(command) << "\n" << outcome.output;
  return readMetrics(metrics);
}

nlohmann::json ulsc::test::readJson(const fs::path &file) {
  std::ifstream stream(file);
  return nlohmann::json::parse(stream);
}

void ulsc::test::expectPlannedMemory(const nlohmann::json &row, const nlohmann::json &seen) {
  int64_t peak = row["peak"];
  // Besides, the program writes gradients and saves, through a buffer of this size.
  constexpr int64_t fileBuffer = int64_t(1) << 20;
  ASSERT_GT(peak, seen["threshold"]) << "the model is too small for the shim";
  ASSERT_EQ(seen["regions"].size(), 1u) << "rank " << seen["rank"];
  EXPECT_EQ(seen["regions"][0], nlohmann::json({{"bytes", peak}, {"caller", "program"}}))
      << "rank " << seen["rank"];
  EXPECT_LE(seen["callers"]["program"]["peak_bytes"], peak + fileBuffer) << "rank " << seen["rank"];
  // As ulsc-check-plan, which warns, counts it.
  constexpr double alignment = 4096;
  double transient = row["transient"], live = row["largest_live"];
  ASSERT_GT(live, 0);
  EXPECT_GE(transient, live) << "one of the two analyses is wrong";
  EXPECT_LE(transient - alignment, 1.03 * live);
}

std::string ulsc::test::readBytes(const fs::path &file) {
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream.good()) << file;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

std::vector<std::string> ulsc::test::listDirectory(const fs::path &directory) {
  std::vector<std::string> names;
  if (fs::exists(directory))
    for (const fs::directory_entry &entry : fs::directory_iterator(directory))
      names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

double ulsc::test::relativeDifference(double a, double b) {
  return std::abs(a - b) / std::max(std::abs(b), 1e-30);
}
