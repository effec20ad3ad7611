//===- pipeline_communication_test.cpp - What travels between pipeline stages ---------------===//
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

class PipelineCommunication : public testing::TestWithParam<Case> {};

/// What chunk follows another on another rank: of zbv, the last chunk is on the first rank.
int64_t getStage(const Case &c, int64_t chunk) {
  bool turns = c.schedule == "zbv" && chunk >= c.pp;
  return turns ? 2 * c.pp - 1 - chunk : chunk % c.pp;
}

/// Messages of a stage. A microbatch's activations go to the stage of the next chunk, their
/// gradients come back; a tied table's gradients go both ways once a step.
std::map<std::string, Traffic> expectedMessages(const Case &c, int64_t stage) {
  int64_t state = kBatch / c.dp / c.microbatches * kSeq * describe(c.model, c.tp).hidden * 4;
  std::map<std::string, Traffic> messages;
  auto add = [&](const std::string &kind, int64_t count, int64_t bytes) {
    messages[kind].count += count;
    messages[kind].bytes += count * bytes;
  };
  for (int64_t chunk = 0; chunk + 1 < c.pp * c.chunks; ++chunk) {
    int64_t here = getStage(c, chunk), there = getStage(c, chunk + 1);
    if (here == there)
      continue;
    if (here == stage) {
      add("send forward", c.microbatches, state);
      add("receive backward", c.microbatches, state);
    }
    if (there == stage) {
      add("receive forward", c.microbatches, state);
      add("send backward", c.microbatches, state);
    }
  }
  bool isTied = c.model != "llama";
  if (isTied && getStage(c, 0) != getStage(c, c.pp * c.chunks - 1) &&
      (stage == getStage(c, 0) || stage == getStage(c, c.pp * c.chunks - 1))) {
    int64_t table = (257 + c.tp - 1) / c.tp * 64 * 4;
    add("send backward", 1, table);
    add("receive backward", 1, table);
  }
  return messages;
}

std::map<std::string, Traffic> reportedMessages(const json &report, int64_t stage) {
  std::map<std::string, Traffic> messages;
  for (const json &entry : report.at("collectives")) {
    std::string kind = entry.at("kind");
    if ((kind != "send" && kind != "receive") || entry.at("stage") != stage)
      continue;
    EXPECT_EQ(entry.at("axes"), json({"pp"}));
    Traffic &sum = messages[kind + " " + entry.at("phase").get<std::string>()];
    int64_t calls = entry.at("count_per_step").get<int64_t>();
    sum.count += calls;
    sum.bytes += calls * entry.at("bytes").get<int64_t>();
  }
  return messages;
}

TEST_P(PipelineCommunication, StagesExchangeActivationsAndTheirGradients) {
  std::filesystem::path report;
  compileCase(GetParam(), report);
  json document = readJson(report);
  for (int64_t stage = 0; stage < GetParam().pp; ++stage)
    EXPECT_EQ(reportedMessages(document, stage), expectedMessages(GetParam(), stage)) << stage;
}

TEST_P(PipelineCommunication, ReportEqualsWhatTravelled) {
  expectReportEqualsWhatTravelled(GetParam());
}

Case makeCase(const std::string &model, int64_t pp, int64_t dp, int64_t tp, int64_t microbatches,
              const std::string &strategy, const std::string &schedule, int64_t chunks) {
  Case c{model, dp, tp, microbatches, strategy};
  c.pp = pp;
  c.schedule = schedule;
  c.chunks = chunks;
  return c;
}

INSTANTIATE_TEST_SUITE_P(Stages, PipelineCommunication,
                         testing::Values(makeCase("llama", 2, 2, 1, 4, "ddp", "1f1b", 1),
                                         makeCase("llama", 4, 1, 1, 2, "ddp", "zb-h1", 1),
                                         makeCase("gpt2", 2, 1, 2, 2, "ddp+tp", "interleaved", 2),
                                         makeCase("gpt2", 2, 2, 1, 2, "zero1", "gpipe", 1),
                                         makeCase("gpt2", 2, 1, 1, 4, "ddp", "zbv", 2),
                                         makeCase("llama", 2, 2, 1, 2, "zero3", "1f1b", 1)));

} // namespace
