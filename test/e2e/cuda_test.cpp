//===- cuda_test.cpp - CUDA programs train as those of the CPU do ---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// The unmodified programs run on the simulated device, races looked for, its streams, blocks and
// warps in the order of a seed, by turns with steps as graphs and without. Cases are those of the
// legality matrix (docs/legality.md): by default some that show each choice to what a target sees
// of it, with two seeds; with ULSC_EXHAUSTIVE=1 those that meet every legal pair, with five.
//
//===---------------------------------------------------------------------------------------===//

#include "legality_training.h"

#include <gtest/gtest.h>

#include <set>

using namespace ulsc::test;
using namespace ulsc::legality;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct CudaCase {
  Case choices;
  bool isAlone; ///< on one rank

  Command getCommand() const { return isAlone ? makeReference(choices) : makeCommand(choices); }
};

std::ostream &operator<<(std::ostream &stream, const CudaCase &c) {
  return stream << describe(c.choices) << (c.isAlone ? " on one rank" : "");
}

/// A choice of a dimension that decides what kernels and products there are, and one of another.
using Pair = std::pair<std::string, std::string>;

std::vector<Pair> getPairs(const Case &choices) {
  std::vector<Pair> pairs;
  auto nameOf = [&](size_t i) {
    return getDimensions()[i].name + ":" + getChoice(choices, i).name;
  };
  // What is narrow beside f32 would hide small errors of f32's kernels.
  std::set<std::string> deciding = {"model", "tensor"};
  if (!usesChoice(choices, "dtype", "f32") || isWide(choices))
    deciding.insert("dtype");
  for (size_t i = 0; i < choices.size(); ++i)
    for (size_t j = 0; j < choices.size(); ++j)
      if (i != j && deciding.count(getDimensions()[i].name))
        pairs.emplace_back(nameOf(i), nameOf(j));
  return pairs;
}

/// Cases in which all the pairs are, each the one with most new pairs, of those the one with the
/// fewest ranks.
std::vector<Case> coverPairs(const std::vector<Case> &cases) {
  std::set<Pair> met;
  std::vector<Case> chosen;
  while (true) {
    const Case *best = nullptr;
    long most = 0;
    for (const Case &choices : cases) {
      std::vector<Pair> pairs = getPairs(choices);
      long gain = std::count_if(pairs.begin(), pairs.end(),
                                [&](const Pair &pair) { return !met.count(pair); });
      if (gain > most || (gain == most && best && countRanks(choices) < countRanks(*best))) {
        best = &choices;
        most = gain;
      }
    }
    if (most == 0)
      return chosen;
    for (const Pair &pair : getPairs(*best))
      met.insert(pair);
    chosen.push_back(*best);
  }
}

std::vector<CudaCase> getCases() {
  std::string problem;
  CaseList list = readLegalityCases(problem);
  std::vector<Case> all = list.pairwise;
  if (!isExhaustive()) {
    all.insert(all.end(), list.more.begin(), list.more.end());
    all = coverPairs(all);
  }
  std::vector<CudaCase> cases;
  std::set<std::string> alone; // of each model, in f32 and in another dtype
  for (const Case &choices : all) {
    if (alone
            .insert(getChoice(choices, 0).name +
                    (usesChoice(choices, "dtype", "f32") ? "" : "narrow"))
            .second)
      cases.push_back({choices, true});
    cases.push_back({choices, false});
  }
  return cases;
}

/// One communication in one order, and one memory but for workspaces and alignment.
void expectSameReports(const json &actual, const json &expected) {
  EXPECT_EQ(actual["collectives"], expected["collectives"]);
  ASSERT_EQ(actual["memory"].size(), expected["memory"].size());
  for (size_t i = 0; i < expected["memory"].size(); ++i) {
    const json &row = actual["memory"][i], &other = expected["memory"][i];
    for (const char *category : {"parameters", "gradients", "optimizer", "activations"})
      EXPECT_EQ(row[category], other[category]) << category;
    auto liveWithoutWorkspaces = [](const json &row) {
      return row["largest_live"].get<double>() - row["workspaces"].get<double>();
    };
    double live = liveWithoutWorkspaces(other);
    EXPECT_NEAR(liveWithoutWorkspaces(row), live, 0.01 * live + 4096);
    EXPECT_LE(row["transient"].get<double>(), 1.03 * row["largest_live"].get<double>() + 4096);
  }
}

class Cuda : public testing::TestWithParam<CudaCase> {};

TEST_P(Cuda, TrainsAsTheCpuDoes) {
  const Case &choices = GetParam().choices;
  Command command = GetParam().getCommand();
  TrainingOptions options;
  options.steps = 3;
  CaseTraining expected = trainCase(command, choices, options);
  options.target = "cuda";
  for (int seed = 0; seed < (isExhaustive() ? 5 : 2); ++seed) {
    SCOPED_TRACE(seed);
    options.environment = {
        {"LD_LIBRARY_PATH", (fs::path(ULSC_BUILD_DIR) / "lib" / "simulator").string()},
        {"ULSC_SIMULATOR_SEED", std::to_string(seed)}};
    options.flags = {"--cuda-graph", seed % 2 ? "off" : "on"};
    CaseTraining actual = trainCase(command, choices, options);
    expectSameNumbers(choices, actual, expected);
    // A limit is met as each target's workspaces leave room.
    if (!usesChoice(choices, "recomputation", "limit"))
      expectSameReports(actual.report, expected.report);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Cuda, testing::ValuesIn(getCases()), [](const auto &info) {
  return nameOfCase({info.param.choices}) + (info.param.isAlone ? "_alone" : "");
});

} // namespace
