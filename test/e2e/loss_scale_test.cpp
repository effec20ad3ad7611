//===- loss_scale_test.cpp - Overflows under f16 ----------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// A scale that is far too large, or grows at every step until it is, makes gradients overflow: the
// step has to leave all state as it was, the scale to halve, and training to go on, on all ranks
// alike.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace ulsc::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct Case {
  std::string model, mesh, strategy, optimizer;
  int ranks;
};

std::ostream &operator<<(std::ostream &stream, const Case &c) {
  return stream << c.model << " " << c.mesh << " " << c.strategy << " " << c.optimizer;
}

class LossScale : public testing::TestWithParam<Case> {
protected:
  fs::path build() {
    const Case &c = GetParam();
    Words flags{"--seq", "32",      "--batch", "12",          "--microbatches",
                "2",     "--dtype", "f16",     "--optimizer", c.optimizer};
    if (!c.mesh.empty())
      flags.insert(flags.end(), {"--mesh", c.mesh, "--strategy", c.strategy});
    return compile(goldenDirectory(c.model), flags);
  }

  std::vector<StepMetrics> trainTo(const fs::path &program, int steps, const Words &others) {
    Words flags{"--data",  goldenDirectory(GetParam().model) / "tokens.bin",
                "--steps", std::to_string(steps),
                "--lr",    "1e-3"};
    flags.insert(flags.end(), others.begin(), others.end());
    return train(program, GetParam().ranks, flags);
  }

  static bool isSkipped(const StepMetrics &step) { return step.all.at("skipped"); }
  static double scaleOf(const StepMetrics &step) { return step.all.at("loss_scale"); }
};

TEST_P(LossScale, SurvivesAnInjectedOverflow) {
  fs::path program = build(), directory = scratchDirectory("loss-scale");
  Words flags{"--loss-scale", "1048576", "--loss-scale-growth-interval", "1"};
  std::vector<StepMetrics> steps = trainTo(program, 24, flags);
  ASSERT_EQ(steps.size(), 24u);
  int skipped = 0, taken = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    (isSkipped(steps[i]) ? skipped : taken) += 1;
    EXPECT_EQ(std::isfinite(steps[i].gradNorm), !isSkipped(steps[i])) << "step " << i;
    EXPECT_TRUE(std::isfinite(steps[i].loss)) << "step " << i;
    if (i > 0)
      EXPECT_EQ(scaleOf(steps[i]), scaleOf(steps[i - 1]) * (isSkipped(steps[i - 1]) ? 0.5 : 2))
          << "step " << i;
  }
  EXPECT_GE(skipped, 3);
  EXPECT_GE(taken, 6);
  EXPECT_LT(steps.back().loss, steps.front().loss);

  // The state before and after a step that overflowed, the second one too, whose state is not the
  // first one.
  int checked = 0;
  for (size_t i = 1; i < steps.size() && checked < 2; ++i) {
    if (!isSkipped(steps[i]) || isSkipped(steps[i - 1]))
      continue;
    ++checked;
    for (int count : {int(i), int(i) + 1}) {
      Words saving = flags;
      saving.insert(saving.end(), {"--save", directory / std::to_string(count)});
      trainTo(program, count, saving);
    }
    auto saved = [&](size_t count) {
      return directory / std::to_string(count) / ("step-" + std::to_string(count));
    };
    for (int rank = 0; rank < GetParam().ranks; ++rank) {
      char file[32];
      std::snprintf(file, sizeof(file), "rank-%05d.safetensors", rank);
      EXPECT_TRUE(readBytes(saved(i) / file) == readBytes(saved(i + 1) / file))
          << "step " << i + 1 << " changed the state of rank " << rank;
    }
    json before = readJson(saved(i) / "state.json"), after = readJson(saved(i + 1) / "state.json");
    EXPECT_EQ(after["loss_scale"].get<double>(), before["loss_scale"].get<double>() / 2);
    EXPECT_EQ(after["skipped_steps"].get<int>(), before["skipped_steps"].get<int>() + 1);
  }
  EXPECT_GT(checked, 0);
}

/// The scale is no part of the numbers: gradients, norms and losses are those of another scale.
TEST_P(LossScale, ChangesNoNumber) {
  fs::path program = build();
  std::vector<StepMetrics> small = trainTo(program, 5, {"--loss-scale", "256"}),
                           large = trainTo(program, 5, {"--loss-scale", "4096"});
  for (size_t i = 0; i < small.size(); ++i) {
    EXPECT_FALSE(isSkipped(large[i])) << "step " << i;
    EXPECT_LE(relativeDifference(large[i].loss, small[i].loss), 1e-3) << "step " << i;
    EXPECT_LE(relativeDifference(large[i].gradNorm, small[i].gradNorm), 2e-2) << "step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Meshes, LossScale,
                         testing::Values(Case{"llama", "", "", "adamw", 1},
                                         Case{"gpt2", "dp=2", "zero2", "adamw", 2},
                                         Case{"llama", "dp=2,tp=2", "zero1+tp", "adamw", 4},
                                         Case{"llama-bias-tied", "dp=3", "zero3", "sgd", 3}));

TEST(LossScaleFlags, BelongToF16) {
  fs::path model = goldenDirectory("llama");
  fs::path program = compile(model, {"--seq", "32", "--batch", "8", "--dtype", "bf16"});
  Outcome outcome = run(
      launch(program, 1, {"--data", model / "tokens.bin", "--steps", "1", "--loss-scale", "1024"}));
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_NE(outcome.output.find("flag '--loss-scale' belongs to --dtype f16, but the program was "
                                "compiled with --dtype bf16; leave it out"),
            std::string::npos)
      << outcome.output;
}

} // namespace
