//===- recompute_test.cpp - What is computed again changes nothing but memory -----------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

using namespace ulsc::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int kRanks = 4, kSteps = 4, kMicrobatches = 2, kLayers = 2;

/// What a policy is tried with, and the forward collectives of the layers that it repeats in a
/// microbatch: those whose results the backward part needs.
struct Case {
  std::string model, policy;
  int repeated;
};

std::ostream &operator<<(std::ostream &stream, const Case &c) {
  return stream << c.model << " " << c.policy;
}

struct Training {
  std::vector<StepMetrics> steps;
  std::map<std::string, Tensor> gradients;
  json report;
};

Training trainWith(const std::string &model, const std::string &policy, const Words &more = {}) {
  fs::path directory = scratchDirectory("recompute"), source = goldenDirectory(model);
  Words flags{
      "--seq",  "32",        "--batch",   "16", "--microbatches", std::to_string(kMicrobatches),
      "--mesh", "dp=2,tp=2", "--dropout", "on"};
  if (!policy.empty())
    flags.insert(flags.end(), {"--recompute", policy});
  flags.insert(flags.end(), more.begin(), more.end());
  Training training;
  fs::path program = compile(source, flags, directory / "report.json");
  training.report = readJson(directory / "report.json");
  training.steps = train(program, kRanks,
                         {"--data", source / "tokens.bin", "--steps", std::to_string(kSteps),
                          "--dropout", "0.1", "--dump-gradients", directory});
  training.gradients = readSlices(directory, "step-" + std::to_string(kSteps) + "-");
  return training;
}

/// Made once per model and policy; without a policy it is the default's.
const Training &getTraining(const std::string &model, const std::string &policy = "") {
  static std::map<std::pair<std::string, std::string>, Training> trainings;
  auto it = trainings.find({model, policy});
  if (it == trainings.end())
    it = trainings.emplace(std::pair(model, policy), trainWith(model, policy)).first;
  return it->second;
}

/// Calls of collectives in a step, by phase.
std::map<std::string, int> countCalls(const json &report) {
  std::map<std::string, int> calls;
  for (const json &row : report.at("collectives"))
    calls[row.at("phase")] += row.at("count_per_step").get<int>();
  return calls;
}

class Recompute : public testing::TestWithParam<Case> {};

TEST_P(Recompute, ChangesNoNumber) {
  const Case &c = GetParam();
  const Training &expected = getTraining(c.model);
  const Training &actual = getTraining(c.model, c.policy);
  EXPECT_EQ(actual.report["recompute"]["policy"], c.policy);
  ASSERT_EQ(actual.steps.size(), size_t(kSteps));
  // A block that is run again is the same code. One that keeps another value may be fused in
  // another way, and round a sum at another place.
  double tolerance = c.policy.rfind("full", 0) == 0 ? 0 : 1e-6;
  for (int i = 0; i < kSteps; ++i) {
    const StepMetrics &a = actual.steps[i], &b = expected.steps[i];
    EXPECT_LE(relativeDifference(a.loss, b.loss), tolerance) << "step " << i + 1;
    EXPECT_LE(relativeDifference(a.gradNorm, b.gradNorm), tolerance) << "step " << i + 1;
    EXPECT_EQ(a.all["peak_memory_bytes"], actual.report["memory"][0]["peak"]);
  }
  ASSERT_FALSE(expected.gradients.empty());
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (const auto &[name, tensor] : expected.gradients)
    EXPECT_LE(relativeDistance(actual.gradients.at(name), tensor), tolerance) << name;
}

TEST_P(Recompute, RepeatsNoMoreThanItSays) {
  const Case &c = GetParam();
  std::map<std::string, int> expected = countCalls(getTraining(c.model).report);
  ASSERT_GT(expected["forward"], 0);
  ASSERT_EQ(expected.count("recompute"), 0u);
  if (c.repeated)
    expected["recompute"] = c.repeated * kMicrobatches;
  const Training &actual = getTraining(c.model, c.policy);
  EXPECT_EQ(countCalls(actual.report), expected);
  EXPECT_EQ(actual.report["model"], getTraining(c.model).report["model"])
      << "FLOPs of the model do not count what is computed again";
}

/// What is filled with NaN after its last use is not read by what runs again.
TEST(RecomputePoison, ChangesNoBit) {
  for (const char *policy : {"full:group=2", "selective"}) {
    const Training &expected = getTraining("gpt2", policy);
    Training actual =
        trainWith("gpt2", policy,
                  {"--pass-pipeline-at",
                   "exec:builtin.module(ulsc-plan-memory{poison=true},ulsc-check-plan)"});
    ASSERT_EQ(actual.steps.size(), size_t(kSteps));
    for (int i = 0; i < kSteps; ++i) {
      EXPECT_EQ(actual.steps[i].loss, expected.steps[i].loss) << policy << ", step " << i + 1;
      EXPECT_EQ(actual.steps[i].gradNorm, expected.steps[i].gradNorm) << policy;
    }
  }
}

/// The program of a limit is that of the policy chosen, and ranks take no more than the limit.
TEST(RecomputeLimit, IsKeptByRanks) {
  int64_t none = getTraining("llama", "none").report["memory"][0]["peak"],
          full = getTraining("llama", "full").report["memory"][0]["peak"];
  ASSERT_LT(full, none);
  for (int64_t limit : {none, (none + full) / 2, full}) {
    Training actual = trainWith("llama", "", {"--memory-limit", std::to_string(limit)});
    ASSERT_EQ(actual.steps.size(), size_t(kSteps));
    EXPECT_EQ(actual.steps.back().all["peak_memory_bytes"], actual.report["memory"][0]["peak"]);
    EXPECT_LE(actual.report["memory"][0]["peak"], limit);
    EXPECT_EQ(actual.report["recompute"]["policy"] == "none", limit == none);
    for (int i = 0; i < kSteps; ++i)
      EXPECT_LE(relativeDifference(actual.steps[i].loss, getTraining("llama").steps[i].loss), 1e-6);
  }
}

/// A model that is refused on one rank under a limit trains within it where four ranks split it.
TEST(RecomputeLimit, RefusedOnOneRankFitsOnFour) {
  fs::path directory = scratchDirectory("recompute-limit"), source = goldenDirectory("llama");
  auto trainOn = [&](int ranks, const Words &more) {
    Words flags{"--seq", "32", "--batch", "16"};
    flags.insert(flags.end(), more.begin(), more.end());
    fs::path program = compile(source, flags, directory / "report.json");
    return train(program, ranks,
                 {"--data", source / "tokens.bin", "--steps", std::to_string(kSteps)});
  };
  std::vector<StepMetrics> expected = trainOn(1, {"--recompute", "full"});
  int64_t least = readJson(directory / "report.json")["memory"][0]["peak"];
  std::string limit = std::to_string(least * 7 / 10);

  Outcome refused =
      run({fs::path(ULSC_BUILD_DIR) / "bin" / "ulsc", "compile", source, "--seq", "32", "--batch",
           "16", "--memory-limit", limit, "-o", directory / "refused"});
  EXPECT_NE(refused.exitCode, 0);
  EXPECT_NE(refused.output.find("--memory-limit " + limit + " can't be met"), std::string::npos)
      << refused.output;
  EXPECT_FALSE(fs::exists(directory / "refused"));

  std::vector<StepMetrics> actual =
      trainOn(4, {"--mesh", "dp=4", "--strategy", "zero3", "--memory-limit", limit});
  ASSERT_EQ(actual.size(), expected.size());
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_LE(relativeDifference(actual[i].loss, expected[i].loss), 1e-5);
    EXPECT_LE(actual[i].all["peak_memory_bytes"].get<int64_t>(), least * 7 / 10);
  }
}

/// Each of these saves less than the one before.
TEST(RecomputeMemory, FallsFromPolicyToPolicy) {
  for (const char *model : {"llama", "gpt2"}) {
    std::vector<int64_t> saved;
    for (const char *policy :
         {"none", "selective:norm", "selective:norm,act", "selective", "full:layers=1", "full"})
      saved.push_back(getTraining(model, policy).report["recompute"]["saved_bytes"]);
    for (size_t i = 1; i < saved.size(); ++i)
      EXPECT_LT(saved[i], saved[i - 1]) << model << ", policy " << i;
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char *model : {"llama", "gpt2"}) {
    for (const char *policy :
         {"none", "selective", "selective:attn", "selective:norm", "selective:act"})
      all.push_back({model, policy, 0});
    // A layer ends in a collective whose sum is the next layer's input; nothing else reads it.
    all.push_back({model, "full", kLayers});
    all.push_back({model, "full:layers=1", 1});
    all.push_back({model, "full:group=2", 2 * kLayers - 1});
  }
  return all;
}

std::string caseName(const testing::TestParamInfo<Case> &info) {
  std::string name = info.param.model + "_" + info.param.policy;
  for (char &c : name)
    c = isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Policies, Recompute, testing::ValuesIn(cases()), caseName);

} // namespace
