//===- communication_test.cpp - What travels is what the report says
//------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <map>

using namespace ulsc::test;
using nlohmann::json;

namespace {
constexpr int kSteps = 3;

struct Case {
  std::string model, mesh;
  int ranks, microbatches;
};

class Communication : public testing::TestWithParam<Case> {};

/// What travels in a step for one reason: the report has a line for it, the program one or more
/// collectives.
struct Traffic {
  int64_t count = 0, bytes = 0;
  bool operator==(const Traffic &other) const {
    return count == other.count && bytes == other.bytes;
  }
};
std::ostream &operator<<(std::ostream &stream, const Traffic &traffic) {
  return stream << traffic.count << " calls, " << traffic.bytes << " bytes";
}

/// Without the phase: for the step's scalars the manifest says "step" where the report says
/// "forward".
std::string reasonOf(const json &entry) {
  return entry.at("kind").get<std::string>() + " " + entry.at("axes").dump() + " " +
         entry.at("cause").get<std::string>();
}

/// What the shim counted, by the reason that the program's manifest gives for each collective.
std::map<std::string, Traffic> counted(const std::filesystem::path &file, const json &manifest) {
  std::map<std::string, Traffic> traffic;
  json document = readJson(file);
  for (const auto &[identifier, entry] : document.at("collectives").items()) {
    Traffic &sum = traffic[reasonOf(manifest.at("collectives").at(std::stoul(identifier)))];
    sum.count += entry.at("calls").get<int64_t>();
    sum.bytes += entry.at("bytes").get<int64_t>();
  }
  return traffic;
}

TEST_P(Communication, ReportEqualsWhatTravelled) {
  const Case &c = GetParam();
  std::filesystem::path directory = scratchDirectory("communication-" + c.model + c.mesh);
  std::filesystem::path report = directory / "report.json", model = goldenDirectory(c.model);
  std::filesystem::path program = compile(model,
                                          {"--seq", "32", "--batch", "16", "--microbatches",
                                           std::to_string(c.microbatches), "--mesh", c.mesh},
                                          report);
  train(program, c.ranks, {"--data", model / "tokens.bin", "--steps", std::to_string(kSteps)},
        preload("ulsc_pmpi_shim", {{"ULSC_PMPI_OUT", directory / "pmpi.%r.json"}}));
  json manifest = json::parse(run({program, "--describe"}).output);
  std::map<std::string, Traffic> expected;
  json document = readJson(report);
  for (const json &entry : document.at("collectives")) {
    Traffic &sum = expected[reasonOf(entry)];
    int64_t calls = entry.at("count_per_step").get<int64_t>() * kSteps;
    sum.count += calls;
    sum.bytes += calls * entry.at("bytes").get<int64_t>();
  }
  ASSERT_FALSE(expected.empty());
  for (int rank = 0; rank < c.ranks; ++rank)
    EXPECT_EQ(counted(directory / ("pmpi." + std::to_string(rank) + ".json"), manifest), expected)
        << "rank " << rank;
}

/// Sum over the report's collectives that match, of count × bytes.
struct Totals {
  int64_t count = 0, bytes = 0;
};

Totals totals(const json &collectives, const std::string &axis, const std::string &phase,
              int64_t bytes = 0) {
  Totals result;
  for (const json &entry : collectives)
    if (entry["axes"] == json::array({axis}) && entry["phase"] == phase &&
        (bytes == 0 || entry["bytes"] == bytes)) {
      result.count += entry["count_per_step"].get<int64_t>();
      result.bytes += entry["count_per_step"].get<int64_t>() * entry["bytes"].get<int64_t>();
    }
  return result;
}

/// Per microbatch: two all-reduces of the hidden state a layer each way, one more each way for
/// embedding and head; every gradient byte once a step over dp.
TEST(CommunicationCounts, TensorAndDataParallelLlama) {
  std::filesystem::path directory = scratchDirectory("communication-counts");
  std::filesystem::path report = directory / "report.json", model = goldenDirectory("llama");
  const int64_t layers = 2, microbatches = 4, batch = 16, seq = 32, hidden = 64, dp = 2, tp = 2;
  compile(model, {"--seq", "32", "--batch", "16", "--microbatches", "4", "--mesh", "dp=2,tp=2"},
          report);
  json document = readJson(report);
  const json &collectives = document["collectives"];
  int64_t state = batch / dp / microbatches * seq * hidden * 4;
  EXPECT_EQ(totals(collectives, "tp", "forward", state).count, microbatches * (2 * layers + 1));
  EXPECT_EQ(totals(collectives, "tp", "backward", state).count, microbatches * (2 * layers + 1));
  // Norm weights are whole on every tp rank, everything else is divided.
  int64_t norms = (2 * layers + 1) * hidden;
  int64_t parameters = document["model"]["parameters"];
  EXPECT_EQ(totals(collectives, "dp", "backward").bytes, ((parameters - norms) / tp + norms) * 4);
}

INSTANTIATE_TEST_SUITE_P(Meshes, Communication,
                         testing::Values(Case{"llama", "dp=2,tp=2", 4, 4},
                                         Case{"gpt2", "dp=2,tp=2", 4, 1},
                                         Case{"gpt2", "tp=2", 2, 4}),
                         [](const auto &info) {
                           return info.param.model + std::to_string(info.index);
                         });
} // namespace
