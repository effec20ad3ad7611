//===- state_test.cpp - What composes trains as one rank does ---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// Strategies that split optimizer states, gradients and parameters, with everything that they
// compose with, against one rank. Choices are those of the legality matrix (docs/legality.md),
// cases those of docs/legality-cases.txt: by default the ones that meet every legal pair, with
// ULSC_EXHAUSTIVE=1 the larger list, too.
//
//===---------------------------------------------------------------------------------------===//

#include "legality_training.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace ulsc::test;
using namespace ulsc::legality;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// One rank, one microbatch, nothing split; made once for all cases with the same numbers.
const CaseTraining &getReference(const Case &choices) {
  static std::map<Words, CaseTraining> trainings;
  Command command = makeReference(choices);
  Words key = command.flags;
  key.insert(key.end(), {command.model, command.recipe});
  auto it = trainings.find(key);
  if (it == trainings.end())
    it = trainings.emplace(key, trainCase(command, choices, {})).first;
  return it->second;
}

//===---------------------------------------------------------------------------------------===//
// Memory
//===---------------------------------------------------------------------------------------===//

void expectMemory(const CaseTraining &training) {
  const json &memory = training.report["memory"]; // a row a stage
  size_t stages = memory.size();
  ASSERT_GE(stages, 1u);
  for (size_t rank = 0; rank < training.seen.size(); ++rank)
    expectPlannedMemory(memory[rank * stages / training.seen.size()], training.seen[rank]);
  EXPECT_EQ(training.steps.back().all["peak_memory_bytes"], memory[0]["peak"]);
  double largest = 0;
  for (const json &row : memory)
    largest = std::max(largest, double(row["transient"]) / double(row["largest_live"]));
  recordMeasurement("transient_to_live", largest);
}

//===---------------------------------------------------------------------------------------===//
// The sweep
//===---------------------------------------------------------------------------------------===//

class State : public testing::TestWithParam<LegalityCase> {};

TEST_P(State, TrainsAsOneRank) {
  const Case &choices = GetParam().choices;
  const CaseTraining &expected = getReference(choices);
  TrainingOptions options;
  options.isWatched = true;
  CaseTraining actual = trainCase(makeCommand(choices), choices, options);
  expectSameNumbers(choices, actual, expected);
  if (!actual.steps.empty())
    expectMemory(actual);
}

std::vector<LegalityCase> getCases() {
  std::string problem;
  CaseList list = readLegalityCases(problem);
  std::vector<LegalityCase> cases;
  for (const Case &choices : list.pairwise)
    cases.push_back({choices});
  if (isExhaustive())
    for (const Case &choices : list.more)
      cases.push_back({choices});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Sweep, State, testing::ValuesIn(getCases()),
                         [](const auto &info) { return nameOfCase(info.param); });

/// A choice that is new, or a cell of the matrix that turned legal, needs cases.
TEST(StateCases, MeetEveryLegalPair) {
  std::string problem;
  CaseList list = readLegalityCases(problem);
  ASSERT_EQ(problem, "");
  for (const std::string &pair : list.findUnmetPairs())
    ADD_FAILURE() << pair << " is in no case; run tools/generate-docs.sh";
  EXPECT_GE(list.pairwise.size() + list.more.size(), 60u);
  for (const std::vector<Case> &cases : {list.pairwise, list.more})
    for (const Case &choices : cases)
      EXPECT_TRUE(isFree(choices, list.conflicts)) << describe(choices);
}

//===---------------------------------------------------------------------------------------===//
// Files of split state
//===---------------------------------------------------------------------------------------===//

class StateFiles : public testing::Test {
protected:
  fs::path model = goldenDirectory("llama-bias-tied"), root;

  fs::path compileFor(const std::string &mesh, const std::string &strategy) {
    return compile(model, {"--seq", "16", "--batch", "12", "--dropout", "on", "--mesh", mesh,
                           "--strategy", strategy});
  }
  std::vector<StepMetrics> runTo(int steps, const fs::path &program, int ranks, const Words &more) {
    Words arguments{"--data",    model / "tokens.bin",
                    "--steps",   std::to_string(steps),
                    "--dropout", "0.1",
                    "--seed",    "5",
                    "--weights", model / "model.safetensors"};
    if (resumes(more))
      arguments.resize(arguments.size() - 2);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return train(program, ranks, arguments);
  }
  static bool resumes(const Words &words) { return !words.empty() && words[0] == "--resume"; }
};

TEST_F(StateFiles, ResumeIsBitwiseAndOnAnotherStrategy) {
  root = scratchDirectory("state-resume");
  fs::path zero3 = compileFor("dp=3", "zero3"), plain = compileFor("dp=2,tp=2", "ddp+tp");
  std::vector<StepMetrics> whole = runTo(4, zero3, 3, {});
  runTo(2, zero3, 3, {"--save", root / "saves"});
  fs::path save = root / "saves" / "step-2";
  std::vector<StepMetrics> same = runTo(4, zero3, 3, {"--resume", save}),
                           other = runTo(4, plain, 4, {"--resume", save});
  ASSERT_EQ(same.size(), 2u);
  ASSERT_EQ(other.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(same[i].loss, whole[i + 2].loss);
    EXPECT_EQ(same[i].gradNorm, whole[i + 2].gradNorm);
    EXPECT_LE(relativeDifference(other[i].loss, whole[i + 2].loss), 1e-5);
    EXPECT_LE(relativeDifference(other[i].gradNorm, whole[i + 2].gradNorm), 1e-4);
  }
}

} // namespace
