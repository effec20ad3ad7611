//===- mesh_test.cpp - Every mesh trains as one rank does
//----------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

using namespace ulsc::test;

namespace {

constexpr int kSteps = 10;

using Case = TrainingCase;

struct Training {
  std::vector<StepMetrics> steps;
  std::filesystem::path gradients;
};

/// Trains with dropout on, from the same seed whatever the mesh.
Training trainOn(const Case &c) {
  Words flags = c.flags();
  flags.insert(flags.end(), {"--seq", "32", "--batch", "16", "--dropout", "on"});
  std::filesystem::path model = goldenDirectory(c.model);
  std::filesystem::path program = compile(model, flags);
  Training training;
  training.gradients =
      scratchDirectory("mesh-" + c.model + "-" + c.mesh + "-" + std::to_string(c.microbatches));
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
    it = trainings.emplace(model, trainOn({model, "", 1, 1})).first;
  return it->second;
}

class Mesh : public testing::TestWithParam<Case> {};

TEST_P(Mesh, TrainsAsOneRank) {
  const Training &expected = reference(GetParam().model);
  Training actual = trainOn(GetParam());
  ASSERT_EQ(actual.steps.size(), size_t(kSteps));
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_LE(relativeDifference(actual.steps[i].loss, expected.steps[i].loss), 1e-5)
        << "step " << i;
    EXPECT_LE(relativeDifference(actual.steps[i].gradNorm, expected.steps[i].gradNorm), 1e-4)
        << "step " << i;
  }
  for (int step : {1, kSteps}) {
    std::string prefix = "step-" + std::to_string(step) + "-";
    auto a = readSlices(actual.gradients, prefix), b = readSlices(expected.gradients, prefix);
    ASSERT_FALSE(b.empty()) << prefix;
    ASSERT_EQ(a.size(), b.size());
    for (const auto &[name, tensor] : b)
      EXPECT_LE(relativeDistance(a[name], tensor), 1e-4) << name << " in step " << step;
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (int microbatches : {1, 4}) {
    for (const char *model : {"llama", "gpt2"})
      for (auto [mesh, ranks] : {std::pair("dp=2", 2), std::pair("dp=4", 4), std::pair("tp=2", 2),
                                 std::pair("dp=2,tp=2", 4)})
        all.push_back({model, mesh, ranks, microbatches});
    // Four key/value heads allow tp=4.
    all.push_back({"llama-linear", "tp=4", 4, microbatches});
    all.push_back({"llama-linear", "dp=2,tp=4", 8, microbatches});
    // A padded vocabulary, biases and a tied head.
    all.push_back({"llama-bias-tied", "dp=2,tp=2", 4, microbatches});
    all.push_back({"llama-bias-tied", "", 1, microbatches});
  }
  return all;
}

std::string caseName(const testing::TestParamInfo<Case> &info) {
  std::string name = info.param.model + "_" + (info.param.mesh.empty() ? "one" : info.param.mesh) +
                     "_" + std::to_string(info.param.microbatches);
  for (char &c : name)
    c = isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Meshes, Mesh, testing::ValuesIn(cases()), caseName);

} // namespace
