//===- storage_communication_test.cpp - What travels where state is split
//----------------------===//
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

//===---------------------------------------------------------------------------------------===//
// Split state
//===---------------------------------------------------------------------------------------===//

class StorageCommunication : public testing::TestWithParam<Case> {};

/// Bytes of a step's gathers and scatters by kind and phase.
std::map<std::string, int64_t> measureVolume(const json &report) {
  std::map<std::string, int64_t> volume;
  for (const json &entry : report.at("collectives")) {
    std::string kind = entry.at("kind");
    if (kind == "all_gather" || kind == "reduce_scatter")
      volume[kind + " " + entry.at("phase").get<std::string>()] +=
          entry.at("count_per_step").get<int64_t>() * entry.at("bytes").get<int64_t>();
  }
  return volume;
}

/// The volumes of ZeRO (Rajbhandari et al. 2020, section 7), in bytes of Ψ parameters, with what
/// deviates: the embedding's backward needs no table and that of an addition no bias, the head's
/// follows its forward and shares its gather, and a tied table is gathered and scattered for both
/// of its uses.
std::map<std::string, int64_t> expectedVolume(const Case &c) {
  Model model = describe(c.model, 1);
  int64_t all = 0, m = c.microbatches;
  for (const Model::Bucket &bucket : model.buckets)
    all += bucket.calls * (bucket.whole + bucket.divided) * 4;
  bool isTied = c.model == "gpt2";
  int64_t table = (c.model == "llama" ? 256 : 257) * model.hidden * 4,
          positions = isTied ? 128 * model.hidden * 4 : 0;
  // The final norm and the table that the head multiplies with.
  int64_t head = (isTied ? 2 : 1) * model.hidden * 4 + table, tied = isTied ? table : 0;
  // q, k and v, the attention's output, and the MLP's inner and outer size.
  int64_t biases = isTied ? model.layers * (3 + 1 + 4 + 1) * model.hidden * 4 : 0;
  if (c.strategy == "zero1")
    return {{"reduce_scatter backward", all}, {"all_gather step", all}};
  if (c.strategy == "zero2")
    return {{"reduce_scatter backward", m * (all + tied)}, {"all_gather step", all}};
  return {{"reduce_scatter backward", m * (all + tied)},
          {"all_gather forward", m * (all + tied)},
          {"all_gather backward", m * (all - (isTied ? positions : table) - head - biases)}};
}

TEST_P(StorageCommunication, ReportEqualsWhatTravelled) {
  expectReportEqualsWhatTravelled(GetParam());
}

TEST_P(StorageCommunication, IsTheVolumeOfZero) {
  const Case &c = GetParam();
  std::filesystem::path report;
  compileCase(c, report);
  EXPECT_EQ(measureVolume(readJson(report)), expectedVolume(c));
}

/// Each parameter that travels more or less often than the formula says is named with its reason.
TEST_P(StorageCommunication, DeviationsAreNamed) {
  const Case &c = GetParam();
  std::filesystem::path report;
  compileCase(c, report);
  std::map<std::string, std::string> reasons;
  json storage = readJson(report).at("storage");
  for (const json &entry : storage.at("deviations"))
    reasons[entry.at("collective").get<std::string>() + " " +
            entry.at("parameter").get<std::string>()] = entry.at("reason");
  std::map<std::string, std::string> expected;
  std::string unused = "the backward does not need it",
              shared = "the backward follows its forward and shares the gather";
  bool isTied = c.model == "gpt2";
  if (c.strategy != "zero1" && isTied)
    expected["reduce_scatter transformer.wte.weight"] = "several units add to its gradient";
  if (c.strategy == "zero3" && !isTied)
    expected.insert({{"all_gather model.embed_tokens.weight", unused},
                     {"all_gather model.norm.weight", shared},
                     {"all_gather lm_head.weight", shared}});
  // The tied table is gathered for the embedding and for the head, whose backward shares it: twice.
  if (c.strategy == "zero3" && isTied) {
    expected.insert({{"all_gather transformer.wpe.weight", unused},
                     {"all_gather transformer.ln_f.weight", shared},
                     {"all_gather transformer.ln_f.bias", shared}});
    for (const char *linear : {"attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"})
      expected["all_gather transformer.h.*." + std::string(linear) + ".bias"] = unused;
  }
  EXPECT_EQ(reasons, expected);
}

std::vector<Case> storageCases() {
  std::vector<Case> cases;
  for (const char *model : {"llama", "gpt2"})
    for (const char *strategy : {"zero1", "zero2", "zero3"})
      for (int64_t microbatches : {1, 4})
        cases.push_back({model, 4, 1, microbatches, strategy});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Strategies, StorageCommunication, testing::ValuesIn(storageCases()),
                         [](const auto &info) {
                           const Case &c = info.param;
                           return c.model + "_" + c.strategy + "In" +
                                  std::to_string(c.microbatches);
                         });

//===---------------------------------------------------------------------------------------===//
// Parameters kept in parts
//===---------------------------------------------------------------------------------------===//

class KeptInPartsCommunication : public testing::TestWithParam<Case> {};

/// Wire bytes of a step's gathers and scatters by kind, phase and axes.
std::map<std::string, int64_t> measureWire(const json &report) {
  std::map<std::string, int64_t> volume;
  for (const json &entry : report.at("collectives")) {
    std::string kind = entry.at("kind");
    if (kind == "all_gather" || kind == "reduce_scatter")
      volume[kind + " " + entry.at("phase").get<std::string>() + " " + entry.at("axes").dump()] +=
          entry.at("count_per_step").get<int64_t>() * entry.at("wire_bytes").get<int64_t>();
  }
  return volume;
}

TEST_P(KeptInPartsCommunication, ReportEqualsWhatTravelled) {
  expectReportEqualsWhatTravelled(GetParam());
}

/// Of Ψ gathered parameters, (W - 1)/W come over all W ranks before the forward, and (N - 1)/N over
/// N neighbours before the backward; a tied table's second use gathers what its first one left.
TEST_P(KeptInPartsCommunication, BackwardGathersOverNeighbours) {
  const Case &c = GetParam();
  std::filesystem::path path;
  compileCase(c, path);
  json report = readJson(path);
  std::map<std::string, int64_t> whole = expectedVolume(c);
  int64_t ranks = c.dp, kept = std::stoll(c.reshard);
  int64_t tied = c.model == "gpt2" ? c.microbatches * 257 * 64 * 4 : 0;
  std::string all = " [\"dp\"]",
              part = " [\"dp:(" + std::to_string(ranks / kept) + ")" + std::to_string(kept) + "\"]";
  auto overAll = [&](int64_t bytes) { return bytes * (ranks - 1) / ranks; };
  auto overPart = [&](int64_t bytes) { return bytes * (kept - 1) / kept; };
  std::map<std::string, int64_t> expected{
      {"reduce_scatter backward" + all, overAll(whole.at("reduce_scatter backward"))},
      {"all_gather forward" + all, overAll(whole.at("all_gather forward") - tied)},
      {"all_gather backward" + part, overPart(whole.at("all_gather backward"))}};
  if (tied)
    expected["all_gather forward" + part] = overPart(tied);
  EXPECT_EQ(measureWire(report), expected);
  EXPECT_EQ(report.at("storage").at("reshard_after_forward"), kept);
}

INSTANTIATE_TEST_SUITE_P(Models, KeptInPartsCommunication,
                         testing::Values(Case{"llama", 4, 1, 1, "zero3", "2"},
                                         Case{"llama", 4, 1, 2, "zero3", "2"},
                                         Case{"gpt2", 4, 1, 1, "zero3", "2"},
                                         Case{"gpt2", 4, 1, 2, "zero3", "2"}),
                         [](const auto &info) {
                           const Case &c = info.param;
                           return c.model + "In" + std::to_string(c.microbatches);
                         });

//===---------------------------------------------------------------------------------------===//
// Units by patterns
//===---------------------------------------------------------------------------------------===//

class UnitCommunication : public testing::TestWithParam<Case> {};

/// Calls of a step by kind and phase, the scalars' left out.
std::map<std::string, int64_t> countCalls(const json &report) {
  std::map<std::string, int64_t> calls;
  for (const json &entry : report.at("collectives"))
    if (entry.at("phase") != "step" || entry.at("kind") == "all_gather")
      calls[entry.at("kind").get<std::string>() + " " + entry.at("phase").get<std::string>()] +=
          entry.at("count_per_step").get<int64_t>();
  return calls;
}

TEST_P(UnitCommunication, ReportEqualsWhatTravelled) {
  expectReportEqualsWhatTravelled(GetParam());
}

/// Each of the two layers is three units: what the two patterns match, and the norms that none
/// does. Embedding and head stay what they are, and so does what travels.
TEST_P(UnitCommunication, PatternsAreUnitsOfTheirOwn) {
  Case c = GetParam();
  std::filesystem::path path;
  compileCase(c, path);
  json report = readJson(path);
  int64_t m = c.microbatches, layers = 2 * 3, all = layers + 2;
  std::map<std::string, int64_t> expected;
  if (c.strategy == "ddp")
    expected = {{"all_reduce backward", all}};
  else if (c.strategy == "zero1")
    expected = {{"reduce_scatter backward", all}, {"all_gather step", all}};
  else
    // The head's backward shares its gather, the embedding's needs none.
    expected = {{"reduce_scatter backward", m * all},
                {"all_gather forward", m * all},
                {"all_gather backward", m * layers}};
  EXPECT_EQ(countCalls(report), expected);
  json units = report.at("storage").at("units");
  ASSERT_EQ(units.size(), c.units.size());
  EXPECT_EQ(units[0],
            (json{{"match", c.units[0]}, {"parameters", 6}, {"elements", 2 * 3 * 160 * 64}}));
  if (c.strategy != "ddp")
    EXPECT_EQ(measureVolume(report), expectedVolume(c));
}

INSTANTIATE_TEST_SUITE_P(Strategies, UnitCommunication, testing::ValuesIn([] {
                           std::vector<Case> cases;
                           for (const char *strategy : {"ddp", "zero1", "zero3"})
                             for (int64_t microbatches : {1, 2})
                               cases.push_back(
                                   {"llama",
                                    2,
                                    1,
                                    microbatches,
                                    strategy,
                                    "true",
                                    {"model.layers.*.mlp.*", "model.layers.*.self_attn.*"}});
                           return cases;
                         }()),
                         [](const auto &info) {
                           return info.param.strategy + "In" +
                                  std::to_string(info.param.microbatches);
                         });
} // namespace
