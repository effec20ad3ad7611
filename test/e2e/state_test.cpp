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

#include "harness.h"

#include "tools/ulsc-legality/CaseList.h"
#include "tools/ulsc-legality/Compiler.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace ulsc::test;
using namespace ulsc::legality;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int kSteps = 4;

struct Training {
  std::vector<StepMetrics> steps;
  std::map<std::string, Tensor> gradients, parameters;
  json memory;            ///< the report's row
  std::vector<json> seen; ///< what each rank allocated; empty unless it was watched
};

/// The words of `ulsc compile`, model first.
Words complete(const Command &command) {
  static const Compiler compiler(fs::path(ULSC_BUILD_DIR) / "bin" / "ulsc", ULSC_SOURCE_DIR,
                                 fs::path(ULSC_BUILD_DIR) / "test" / "recipes");
  std::string error;
  std::optional<Words> words = compiler.complete(command, error);
  EXPECT_TRUE(words) << error;
  return words.value_or(Words{});
}

Training trainOn(const Command &command, const Case &choices, bool isWatched) {
  fs::path directory = scratchDirectory("state-" + std::to_string(::getpid()));
  Words words = complete(command);
  if (words.empty())
    return {};
  fs::path model = words[0];
  words.erase(words.begin());
  fs::path program = compile(model, words, directory / "report.json");
  Words flags{"--data",
              model / "tokens.bin",
              "--steps",
              std::to_string(kSteps),
              "--seed",
              "7",
              "--lr",
              "1e-3",
              "--save",
              directory / "save",
              "--dump-gradients",
              directory / "gradients"};
  if (usesChoice(choices, "dropout", "on"))
    flags.insert(flags.end(), {"--dropout", "0.1"});
  Training training;
  Environment environment;
  if (isWatched)
    environment = preload("ulsc_alloc_shim", {{"ULSC_ALLOC_OUT", directory / "alloc.%r"}});
  training.steps = train(program, command.ranks, flags, environment);
  training.memory = readJson(directory / "report.json")["memory"];
  training.gradients = readSlices(directory / "gradients", "step-1-");
  for (int rank = 0; isWatched && rank < command.ranks; ++rank)
    training.seen.push_back(readJson(directory / ("alloc." + std::to_string(rank))));
  // Adam makes steps of rounding where a gradient is exactly zero.
  if (usesChoice(choices, "optimizer", "sgd"))
    training.parameters =
        readSlices(directory / "save" / ("step-" + std::to_string(kSteps)), "rank-");
  return training;
}

/// One rank, one microbatch, nothing split; made once for all cases with the same numbers.
const Training &getReference(const Case &choices) {
  static std::map<Words, Training> trainings;
  Command command = makeReference(choices);
  Words key = command.flags;
  key.insert(key.end(), {command.model, command.recipe});
  auto it = trainings.find(key);
  if (it == trainings.end())
    it = trainings.emplace(key, trainOn(command, choices, false)).first;
  return it->second;
}

//===---------------------------------------------------------------------------------------===//
// Numbers
//===---------------------------------------------------------------------------------------===//

/// The largest relative difference that is still right.
struct Tolerance {
  double loss, norm, parameters;
  double gradients; ///< of the first step
};

/// Sums are taken in another order on other meshes and differ in their last bits. What is rounded
/// to 8 or 11 bits after that may fall on the other side, 2^-8 of its size away.
Tolerance getTolerance(const Case &choices) {
  Tolerance wide{1e-5, 1e-4, 1e-4, 1e-4}, narrow{1e-3, 5e-3, 3e-2, 3e-2};
  if (isWide(choices))
    return wide;
  // Moments are rounded after the first step's gradients.
  if (usesChoice(choices, "dtype", "f32") && usesChoice(choices, "state", "bf16-moments"))
    narrow.gradients = wide.gradients;
  return narrow;
}

/// Measurements are in the XML that --gtest_output writes.
void record(const char *what, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  testing::Test::RecordProperty(what, text);
}

void expectNear(const std::map<std::string, Tensor> &actual,
                const std::map<std::string, Tensor> &expected, double tolerance, const char *what) {
  ASSERT_FALSE(expected.empty());
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (const auto &[name, tensor] : expected) {
    auto found = actual.find(name);
    ASSERT_NE(found, actual.end()) << name;
    double distance = relativeDistance(found->second, tensor);
    EXPECT_LE(distance, tolerance) << what << " " << name;
    largest = std::max(largest, distance);
  }
  record(what, largest);
}

void expectNumbers(const Case &choices, const Training &actual, const Training &expected) {
  Tolerance tolerance = getTolerance(choices);
  ASSERT_EQ(actual.steps.size(), size_t(kSteps));
  ASSERT_EQ(expected.steps.size(), size_t(kSteps));
  double loss = 0, norm = 0;
  for (int i = 0; i < kSteps; ++i) {
    loss = std::max(loss, relativeDifference(actual.steps[i].loss, expected.steps[i].loss));
    norm = std::max(norm, relativeDifference(actual.steps[i].gradNorm, expected.steps[i].gradNorm));
  }
  EXPECT_LE(loss, tolerance.loss);
  EXPECT_LE(norm, tolerance.norm);
  record("loss", loss);
  record("norm", norm);
  expectNear(actual.gradients, expected.gradients, tolerance.gradients, "gradients");
  if (usesChoice(choices, "optimizer", "sgd"))
    expectNear(actual.parameters, expected.parameters, tolerance.parameters, "parameters");
}

//===---------------------------------------------------------------------------------------===//
// Memory
//===---------------------------------------------------------------------------------------===//

void expectMemory(const Training &training) {
  size_t stages = training.memory.size();
  ASSERT_GE(stages, 1u);
  for (size_t rank = 0; rank < training.seen.size(); ++rank)
    expectPlannedMemory(training.memory[rank * stages / training.seen.size()], training.seen[rank]);
  EXPECT_EQ(training.steps.back().all["peak_memory_bytes"], training.memory[0]["peak"]);
  double largest = 0;
  for (const json &row : training.memory)
    largest = std::max(largest, double(row["transient"]) / double(row["largest_live"]));
  record("transient_to_live", largest);
}

//===---------------------------------------------------------------------------------------===//
// The sweep
//===---------------------------------------------------------------------------------------===//

/// A case with the name that failures and lists show.
struct SweepCase {
  Case choices;
};

std::ostream &operator<<(std::ostream &stream, const SweepCase &c) {
  return stream << describe(c.choices);
}

class State : public testing::TestWithParam<SweepCase> {};

TEST_P(State, TrainsAsOneRank) {
  const Case &choices = GetParam().choices;
  const Training &expected = getReference(choices);
  Training actual = trainOn(makeCommand(choices), choices, true);
  expectNumbers(choices, actual, expected);
  if (!actual.steps.empty())
    expectMemory(actual);
}

CaseList readCases(std::string &problem) {
  return CaseList::read(fs::path(ULSC_SOURCE_DIR) / "docs" / "legality-cases.txt", problem);
}

std::vector<SweepCase> getCases() {
  std::string problem;
  CaseList list = readCases(problem);
  std::vector<SweepCase> cases;
  for (const Case &choices : list.pairwise)
    cases.push_back({choices});
  const char *exhaustive = std::getenv("ULSC_EXHAUSTIVE");
  if (exhaustive && std::string(exhaustive) == "1")
    for (const Case &choices : list.more)
      cases.push_back({choices});
  return cases;
}

std::string nameOf(const testing::TestParamInfo<SweepCase> &info) {
  std::string name = describe(info.param.choices, "_");
  for (char &c : name)
    c = isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Sweep, State, testing::ValuesIn(getCases()), nameOf);

/// A choice that is new, or a cell of the matrix that turned legal, needs cases.
TEST(StateCases, MeetEveryLegalPair) {
  std::string problem;
  CaseList list = readCases(problem);
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
