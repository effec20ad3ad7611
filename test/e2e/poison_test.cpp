//===- poison_test.cpp - Nothing is read from memory after its last use
//------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// Planned again with `poison`, a program fills each buffer with NaN after its last use. If any op,
// or the next step, read what another buffer may already have overwritten, the loss would be NaN.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

using namespace ulsc::test;
namespace fs = std::filesystem;

namespace {

using Case = TrainingCase;

const Words kPoison{"--pass-pipeline-at",
                    "exec:builtin.module(ulsc-plan-memory{poison=true},ulsc-check-plan)"};

class Poison : public testing::TestWithParam<Case> {
protected:
  static Words makeFlags(bool isPoisoned) {
    const Case &c = GetParam();
    Words flags = c.flags();
    flags.insert(flags.end(), {"--seq", "32", "--batch", "16", "--dropout", "on"});
    if (isPoisoned)
      flags.insert(flags.end(), kPoison.begin(), kPoison.end());
    return flags;
  }
};

TEST_P(Poison, ChangesNoBit) {
  const Case &c = GetParam();
  fs::path model = goldenDirectory(c.model);
  std::vector<StepMetrics> steps[2];
  std::map<std::string, Tensor> gradients[2];
  for (bool isPoisoned : {false, true}) {
    fs::path dump = scratchDirectory("poison");
    steps[isPoisoned] = train(compile(model, makeFlags(isPoisoned)), c.ranks,
                              {"--data", model / "tokens.bin", "--steps", "4", "--dropout", "0.1",
                               "--dump-gradients", dump});
    gradients[isPoisoned] = readSlices(dump, "step-4-");
  }
  ASSERT_EQ(steps[0].size(), 4u);
  ASSERT_EQ(steps[1].size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(steps[1][i].loss, steps[0][i].loss) << "step " << i + 1;
    EXPECT_EQ(steps[1][i].gradNorm, steps[0][i].gradNorm) << "step " << i + 1;
  }
  ASSERT_FALSE(gradients[0].empty());
  for (const auto &[name, tensor] : gradients[0])
    EXPECT_EQ(gradients[1][name].values, tensor.values) << name;
}

/// Else the test above would compare a program with itself.
TEST_P(Poison, IsThere) {
  fs::path directory = scratchDirectory("poison");
  size_t fills[2];
  for (bool isPoisoned : {false, true}) {
    Words command{fs::path(ULSC_BUILD_DIR) / "bin" / "ulsc",
                  "compile",
                  goldenDirectory(GetParam().model),
                  "--emit",
                  "exec",
                  "-o",
                  directory / "exec.mlir"};
    for (const std::string &flag : makeFlags(isPoisoned))
      command.push_back(flag);
    Outcome outcome = run(command);
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
    std::string text = readBytes(directory / "exec.mlir"), nan = "0x7FC00000";
    fills[isPoisoned] = 0;
    for (size_t at = text.find(nan); at != std::string::npos; at = text.find(nan, at + 1))
      ++fills[isPoisoned];
  }
  EXPECT_EQ(fills[0], 0u);
  EXPECT_GT(fills[1], 50u);
}

INSTANTIATE_TEST_SUITE_P(Meshes, Poison,
                         testing::Values(Case{"llama", "", 1, 4}, Case{"llama", "dp=2,tp=2", 4, 4},
                                         Case{"gpt2", "dp=2,tp=2", 4, 1},
                                         Case{"gpt2", "dp=4", 4, 4, "zero1"},
                                         Case{"llama", "dp=2,tp=2", 4, 4, "zero3+tp"}));

} // namespace
