//===- state_test.cpp - Split state trains as one rank does -----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// Strategies that split optimizer states, gradients and parameters, with everything that they
// compose with, against one rank. Cases that meet every pair of choices run by default, all of them
// with ULSC_EXHAUSTIVE=1.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"
#include "pairwise.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace ulsc::test;

namespace {

constexpr int kSteps = 5;

struct Case {
  std::string model, strategy, mesh;
  int ranks;
  std::string microbatches, dtype, optimizer;

  std::vector<std::string> choices() const {
    return {model, strategy, mesh, microbatches, dtype, optimizer};
  }
  std::string name() const {
    std::string text =
        model + "_" + strategy + "_" + mesh + "_in" + microbatches + "_" + dtype + "_" + optimizer;
    for (char &c : text)
      c = isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return text;
  }
};

std::ostream &operator<<(std::ostream &stream, const Case &c) { return stream << c.name(); }

struct Training {
  std::vector<StepMetrics> steps;
  std::map<std::string, Tensor> gradients, parameters;
};

/// Attention and MLP as units of their own, by what all the models call them.
std::filesystem::path unitsRecipe() {
  std::filesystem::path file = scratchDirectory("state-units") / "recipe.json";
  std::ofstream(file) << R"({"storage": {"units": ["*attn.*", "*.mlp.*"]}})";
  return file;
}

Training trainOn(const Case &c) {
  bool isNarrow = c.dtype == "bf16-all";
  Words flags{"--seq",          "32",           "--batch",   "24",
              "--microbatches", c.microbatches, "--dtype",   isNarrow ? "bf16" : c.dtype,
              "--optimizer",    c.optimizer,    "--dropout", "on"};
  if (isNarrow)
    flags.insert(flags.end(), {"--grad-dtype", "bf16", "--moment-dtype", "bf16", "--master-dtype",
                               "none", "--stochastic-rounding", "on"});
  if (!c.mesh.empty()) {
    // Of zero3: what stays gathered, and a recipe with units.
    std::string strategy = c.strategy.substr(0, c.strategy.find('-'));
    if (c.mesh.find("tp=") != std::string::npos)
      strategy += "+tp";
    flags.insert(flags.end(), {"--mesh", c.mesh, "--strategy", strategy});
    if (c.strategy == "zero3-kept")
      flags.insert(flags.end(), {"--reshard-after-forward", "false"});
    if (c.strategy == "zero3-parts")
      flags.insert(flags.end(), {"--reshard-after-forward", "2"});
    if (c.strategy == "zero3-units")
      flags.insert(flags.end(), {"--recipe", unitsRecipe()});
  }
  std::filesystem::path model = goldenDirectory(c.model);
  std::filesystem::path program = compile(model, flags);
  std::filesystem::path directory = scratchDirectory("state-" + c.name());
  Training training;
  training.steps = train(program, c.ranks,
                         {"--data", model / "tokens.bin", "--steps", std::to_string(kSteps),
                          "--seed", "7", "--dropout", "0.1", "--lr", "1e-3", "--dump-gradients",
                          directory / "gradients", "--save", directory / "save"});
  training.gradients = readSlices(directory / "gradients", "step-1-");
  // Adam makes steps of rounding where a gradient is exactly zero.
  if (c.optimizer == "sgd")
    training.parameters =
        readSlices(directory / "save" / ("step-" + std::to_string(kSteps)), "rank-");
  return training;
}

/// One rank, one microbatch, nothing split.
const Training &reference(const Case &c) {
  static std::map<std::string, Training> trainings;
  std::string key = c.model + c.dtype + c.optimizer;
  auto it = trainings.find(key);
  if (it == trainings.end())
    it = trainings.emplace(key, trainOn({c.model, "", "", 1, "1", c.dtype, c.optimizer})).first;
  return it->second;
}

void expectNear(const std::map<std::string, Tensor> &actual,
                const std::map<std::string, Tensor> &expected, double tolerance) {
  ASSERT_FALSE(expected.empty());
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto &[name, tensor] : expected) {
    auto found = actual.find(name);
    ASSERT_NE(found, actual.end()) << name;
    EXPECT_LE(relativeDistance(found->second, tensor), tolerance) << name;
  }
}

class State : public testing::TestWithParam<Case> {};

TEST_P(State, TrainsAsOneRank) {
  const Case &c = GetParam();
  const Training &expected = reference(c);
  Training actual = trainOn(c);
  bool isNarrow = c.dtype != "f32";
  double loss = isNarrow ? 5e-3 : 1e-5, norm = isNarrow ? 3e-2 : 1e-4,
         tensor = isNarrow ? 5e-2 : 1e-4;
  ASSERT_EQ(actual.steps.size(), size_t(kSteps));
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_LE(relativeDifference(actual.steps[i].loss, expected.steps[i].loss), loss)
        << "step " << i;
    EXPECT_LE(relativeDifference(actual.steps[i].gradNorm, expected.steps[i].gradNorm), norm)
        << "step " << i;
  }
  expectNear(actual.gradients, expected.gradients, tensor);
  if (c.optimizer == "sgd")
    expectNear(actual.parameters, expected.parameters, tensor);
}

//===---------------------------------------------------------------------------------------===//
// Files of split state
//===---------------------------------------------------------------------------------------===//

class StateFiles : public testing::Test {
protected:
  std::filesystem::path model = goldenDirectory("llama-bias-tied"), root;

  std::filesystem::path compileFor(const std::string &mesh, const std::string &strategy) {
    return compile(model, {"--seq", "16", "--batch", "12", "--dropout", "on", "--mesh", mesh,
                           "--strategy", strategy});
  }
  std::vector<StepMetrics> runTo(int steps, const std::filesystem::path &program, int ranks,
                                 const Words &more) {
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
  std::filesystem::path zero3 = compileFor("dp=3", "zero3"),
                        plain = compileFor("dp=2,tp=2", "ddp+tp");
  std::vector<StepMetrics> whole = runTo(4, zero3, 3, {});
  runTo(2, zero3, 3, {"--save", root / "saves"});
  std::filesystem::path save = root / "saves" / "step-2";
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

/// Every legal combination, in an order that does not change.
std::vector<Case> allCases() {
  std::vector<Case> all;
  for (const char *model : {"llama", "gpt2", "llama-bias-tied"})
    for (const char *strategy :
         {"zero1", "zero2", "zero3", "zero3-kept", "zero3-parts", "zero3-units", "hsdp"})
      for (auto [mesh, ranks] : {std::pair("dp=2", 2), std::pair("dp=3", 3), std::pair("dp=4", 4),
                                 std::pair("dp=2,tp=2", 4), std::pair("dp=4,tp=2", 8),
                                 std::pair("dp_replicate=2,dp_shard=2", 4),
                                 std::pair("dp_replicate=2,dp_shard=2,tp=2", 8)}) {
        bool isHybrid = std::string(mesh).find("dp_") == 0;
        if (isHybrid != (std::string(strategy) == "hsdp"))
          continue;
        // Parts of two ranks are no other than all of two.
        if (std::string(strategy) == "zero3-parts" && std::string(mesh).find("dp=4") != 0)
          continue;
        for (const char *microbatches : {"1", "2"})
          for (const char *dtype : {"f32", "bf16", "f16", "bf16-all"})
            for (const char *optimizer : {"adamw", "sgd"})
              all.push_back({model, strategy, mesh, ranks, microbatches, dtype, optimizer});
      }
  return all;
}

std::vector<Case> cases() {
  std::vector<Case> all = allCases();
  const char *exhaustive = std::getenv("ULSC_EXHAUSTIVE");
  if (exhaustive && std::string(exhaustive) == "1")
    return all;
  std::vector<std::vector<std::string>> choices;
  for (const Case &c : all)
    choices.push_back(c.choices());
  std::vector<Case> few;
  for (size_t index : pairwise(choices))
    few.push_back(all[index]);
  return few;
}

INSTANTIATE_TEST_SUITE_P(Sweep, State, testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param.name(); });

} // namespace
