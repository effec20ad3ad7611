//===- exposure_test.cpp - Programs measure what the report predicts --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace ulsc::test;
using nlohmann::json;

namespace {

struct Case {
  std::string mesh, strategy;
  int ranks;
};

std::ostream &operator<<(std::ostream &stream, const Case &c) {
  return stream << c.mesh << " " << c.strategy;
}

/// What tells an entry of the report, the manifest or the metrics from the others.
std::string keyOf(const json &entry, int64_t stage) {
  json key = {{"stage", stage}};
  for (const char *name : {"source", "kind", "axes", "phase", "cause", "dtype", "bytes"})
    key[name] = entry.at(name);
  return key.dump();
}

std::string keyOf(const json &entry) { return keyOf(entry, entry.value("stage", int64_t(-1))); }

using Predicted = std::map<std::string, std::pair<int64_t, double>>; ///< calls and time a step

Predicted reported(const json &report) {
  Predicted rows;
  for (const json &entry : report.at("collectives")) {
    int64_t count = entry.at("count_per_step");
    bool isNew =
        rows.emplace(keyOf(entry),
                     std::pair(count, entry.at("predicted_us").get<double>() * double(count) / 1e3))
            .second;
    EXPECT_TRUE(isNew) << entry;
  }
  return rows;
}

/// What ranks of a simulated step wait, one of each stage.
double sumWaits(const json &pipeline) {
  double us = 0;
  for (const json &rank : pipeline.at("ranks"))
    for (const char *kind : {"call_wait_us", "collective_wait_us", "transfer_wait_us"})
      us += rank.at(kind).get<double>();
  return us;
}

class Exposure : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    const Case &c = GetParam();
    std::filesystem::path directory = scratchDirectory("exposure-" + c.mesh + c.strategy);
    Words flags = {"--seq", "16", "--batch", "8", "--microbatches", "2", "--mesh", c.mesh};
    if (!c.strategy.empty())
      flags.insert(flags.end(), {"--strategy", c.strategy});
    program = compile(goldenDirectory("llama"), flags, directory / "report.json");
    report = readJson(directory / "report.json");
    metrics = directory / "metrics.jsonl";
  }

  std::filesystem::path program, metrics;
  json report;
};

TEST_P(Exposure, RowsAreThoseOfTheReport) {
  Outcome outcome = run(launch(
      program, GetParam().ranks,
      {"--data", goldenDirectory("llama") / "tokens.bin", "--steps", "4", "--metrics", metrics}));
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("predicted transfer ms"), std::string::npos) << outcome.output;
  json exposure = readExposure(metrics);
  Predicted expected = reported(report);
  double predictedExposed = 0;
  for (const json &row : exposure.at("rows")) {
    auto found = expected.find(keyOf(row));
    ASSERT_NE(found, expected.end()) << row;
    EXPECT_EQ(row.at("count_per_step"), found->second.first) << row;
    double predicted = row.at("predicted_ms");
    EXPECT_LE(relativeDifference(predicted, found->second.second), 1e-9) << row;
    EXPECT_GT(predicted, 0) << row;
    EXPECT_GE(row.at("predicted_exposed_ms"), 0) << row;
    predictedExposed += row.at("predicted_exposed_ms").get<double>();
    EXPECT_GE(row.at("exposed_ms"), 0) << row;
    EXPECT_GE(row.at("most_exposed_ms").get<double>(),
              row.at("exposed_ms").get<double>() * 0.999999)
        << row;
    expected.erase(found);
  }
  for (const auto &[key, predicted] : expected)
    ADD_FAILURE() << "not measured: " << key;
  EXPECT_LE(exposure.at("exposed_ms"), exposure.at("step_ms"));
  if (report.contains("pipeline")) // of which the report has the simulation
    EXPECT_LE(relativeDifference(predictedExposed, sumWaits(report["pipeline"]) / 1e3), 1e-9);
}

TEST_P(Exposure, TheManifestCountsAsTheReport) {
  json manifest = json::parse(run({program, "--describe"}).output);
  std::map<std::string, int64_t> counted, expected;
  for (const json &entry : manifest.at("collectives")) {
    if (!manifest.contains("stages"))
      counted[keyOf(entry)] += entry.at("count_per_step").get<int64_t>();
    else
      for (size_t stage = 0; stage < manifest["stages"].size(); ++stage)
        if (int64_t count = entry.at("counts_per_step").at(stage))
          counted[keyOf(entry, int64_t(stage))] += count;
  }
  for (const auto &[key, predicted] : reported(report))
    expected[key] = predicted.first;
  EXPECT_EQ(counted, expected);
}

INSTANTIATE_TEST_SUITE_P(Llama, Exposure,
                         testing::Values(Case{"dp=2", "", 2}, Case{"dp=2", "zero3", 2},
                                         Case{"pp=2", "", 2}, Case{"pp=2,tp=2", "", 4}),
                         [](const auto &info) {
                           std::string name = info.param.mesh + info.param.strategy;
                           name.erase(std::remove(name.begin(), name.end(), '='), name.end());
                           std::replace(name.begin(), name.end(), ',', '_');
                           return name;
                         });

} // namespace
