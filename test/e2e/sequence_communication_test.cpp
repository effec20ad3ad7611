//===- sequence_communication_test.cpp - What travels under sequence parallelism
//---------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "communication.h"

#include <gtest/gtest.h>

using namespace ulsc::test;
using namespace ulsc::test::communication;
using nlohmann::json;

namespace {

class SequenceCommunication : public testing::TestWithParam<Case> {};

/// Calls and bytes of a step by kind, axes and phase; numbers about the whole step and the loss's
/// statistics of rows, which sequence parallelism does not touch, are left out.
std::map<std::string, Traffic> measure(const json &report) {
  std::map<std::string, Traffic> traffic;
  for (const json &entry : report.at("collectives")) {
    if (entry.at("phase") == "step" ||
        entry.at("cause").get<std::string>().find("row statistics") != std::string::npos)
      continue;
    Traffic &sum = traffic[entry.at("kind").get<std::string>() + " " + entry.at("axes").dump() +
                           " " + entry.at("phase").get<std::string>()];
    int64_t calls = entry.at("count_per_step").get<int64_t>();
    sum.count += calls;
    sum.bytes += calls * entry.at("bytes").get<int64_t>();
  }
  return traffic;
}

/// Korthikanti et al. 2022: two gathers and two scatters a layer each way instead of two
/// all-reduces, two more gathers where only shards were kept; a gather and a scatter each way for
/// embedding and head together. Gradients of what is whole on every rank of tp but computed on a
/// part of the sequence are summed over tp as well.
std::map<std::string, Traffic> expectedTraffic(const Case &c) {
  Model model = describe(c.model, c.tp);
  int64_t calls = c.microbatches * (2 * model.layers + 1);
  int64_t state = kBatch / c.dp / c.microbatches * kSeq * model.hidden * 4;
  Traffic each{calls, calls * state};
  std::map<std::string, Traffic> traffic;
  for (const char *phase : {"forward", "backward"}) {
    traffic[std::string("all_gather [\"tp\"] ") + phase] = each;
    traffic[std::string("reduce_scatter [\"tp\"] ") + phase] = each;
  }
  if (c.recompute != "none")
    traffic["all_gather [\"tp\"] recompute"] = each;
  std::string both =
      c.dp > 1 ? "all_reduce [\"dp\",\"tp\"] backward" : "all_reduce [\"tp\"] backward";
  for (const Model::Bucket &bucket : model.buckets) {
    if (bucket.whole) {
      traffic[both].count += bucket.calls;
      traffic[both].bytes += bucket.calls * bucket.whole * 4;
    }
    if (bucket.divided && c.dp > 1) {
      Traffic &sum = traffic["all_reduce [\"dp\"] backward"];
      sum.count += bucket.calls;
      sum.bytes += bucket.calls * bucket.divided / c.tp * 4;
    }
  }
  return traffic;
}

TEST_P(SequenceCommunication, ReportEqualsWhatTravelled) {
  expectReportEqualsWhatTravelled(GetParam());
}

TEST_P(SequenceCommunication, IsThatOfMegatron) {
  const Case &c = GetParam();
  std::filesystem::path report;
  compileCase(c, report);
  expectEqual(measure(readJson(report)), expectedTraffic(c), "in the report");
}

std::vector<Case> sequenceCases() {
  std::vector<Case> cases;
  for (const char *model : {"llama", "gpt2"})
    for (int64_t dp : {1, 2})
      for (int64_t microbatches : {1, 4}) {
        cases.push_back({model, dp, 2, microbatches, "ddp+tp+sp"});
        cases.push_back({model, dp, 2, microbatches, "ddp+tp+sp", "true", {}, "none"});
      }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Meshes, SequenceCommunication, testing::ValuesIn(sequenceCases()),
                         [](const auto &info) {
                           const Case &c = info.param;
                           return c.model + "Dp" + std::to_string(c.dp) + "In" +
                                  std::to_string(c.microbatches) +
                                  (c.recompute == "none" ? "Gathered" : "Shards");
                         });

} // namespace
