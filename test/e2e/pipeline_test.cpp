//===- pipeline_test.cpp - Pipeline stages train as one rank does ---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

using namespace ulsc::test;

namespace {

constexpr int kSteps = 4;

struct Case {
  std::string model, mesh;
  int ranks, microbatches;
  std::string schedule, strategy;
  int chunks = 1;
};

std::ostream &operator<<(std::ostream &stream, const Case &c) {
  return stream << c.model << " " << c.mesh << " " << c.schedule << " " << c.strategy << ", "
                << c.microbatches << " microbatches, " << c.chunks << " chunks";
}

struct Training {
  std::vector<StepMetrics> steps;
  std::filesystem::path gradients;
};

std::string nameOf(const Case &c) {
  std::string name = c.model + "_" + c.mesh + "_" + c.schedule + "_" + c.strategy + "_" +
                     std::to_string(c.microbatches) + "_" + std::to_string(c.chunks);
  for (char &letter : name)
    letter = isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
}

Training trainOn(const Case &c) {
  Words flags = {
      "--seq",     "16", "--batch", "24", "--microbatches", std::to_string(c.microbatches),
      "--dropout", "on"};
  if (!c.mesh.empty())
    flags.insert(flags.end(), {"--mesh", c.mesh, "--pp-schedule", c.schedule, "--pp-chunks",
                               std::to_string(c.chunks)});
  if (!c.strategy.empty())
    flags.insert(flags.end(), {"--strategy", c.strategy});
  std::filesystem::path model = goldenDirectory(c.model);
  std::filesystem::path program = compile(model, flags);
  Training training;
  training.gradients = scratchDirectory("pipeline-" + nameOf(c));
  training.steps =
      train(program, c.ranks,
            {"--data", model / "tokens.bin", "--steps", std::to_string(kSteps), "--seed", "7",
             "--dropout", "0.1", "--lr", "1e-3", "--dump-gradients", training.gradients});
  return training;
}

/// One rank, one microbatch, made once per model.
const Training &reference(const std::string &model) {
  static std::map<std::string, Training> trainings;
  auto it = trainings.find(model);
  if (it == trainings.end())
    it = trainings.emplace(model, trainOn({model, "", 1, 1, "", ""})).first;
  return it->second;
}

class Pipeline : public testing::TestWithParam<Case> {};

TEST_P(Pipeline, TrainsAsOneRank) {
  const Training &expected = reference(GetParam().model);
  Training actual = trainOn(GetParam());
  ASSERT_EQ(actual.steps.size(), size_t(kSteps));
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_LE(relativeDifference(actual.steps[i].loss, expected.steps[i].loss), 1e-5)
        << "step " << i;
    EXPECT_LE(relativeDifference(actual.steps[i].gradNorm, expected.steps[i].gradNorm), 1e-4)
        << "step " << i;
  }
  std::string prefix = "step-1-";
  auto a = readSlices(actual.gradients, prefix), b = readSlices(expected.gradients, prefix);
  ASSERT_FALSE(b.empty());
  ASSERT_EQ(a.size(), b.size());
  for (const auto &[name, tensor] : b)
    EXPECT_LE(relativeDistance(a[name], tensor), 1e-4) << name;
}

std::vector<Case> cases() {
  return {{"llama", "pp=2", 2, 4, "1f1b", ""},
          {"llama", "pp=2", 2, 1, "gpipe", ""},
          {"llama", "pp=4", 4, 3, "1f1b", ""},
          {"gpt2", "pp=2", 2, 3, "1f1b", ""},
          {"gpt2", "pp=4,dp=2", 8, 4, "gpipe", "zero1"},
          {"gpt2", "pp=2,tp=2", 4, 4, "interleaved", "tp", 2},
          {"llama", "pp=2,dp=2,tp=2", 8, 4, "1f1b", "zero3+tp"},
          {"llama", "pp=2,dp=2", 4, 4, "interleaved", "zero3", 2}};
}

INSTANTIATE_TEST_SUITE_P(Stages, Pipeline, testing::ValuesIn(cases()),
                         [](const auto &info) { return nameOf(info.param); });

} // namespace
