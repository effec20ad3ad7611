//===- cuda_test.cpp - CUDA programs train as those of the CPU do ---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// The unmodified programs run on the simulated device, races looked for, its streams, blocks and
// warps in the order of a seed. By default two seeds, with ULSC_EXHAUSTIVE=1 five.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

using namespace ulsc::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int kSteps = 3;

struct Cell {
  std::string name, model;
  int ranks;
  Words flags;
};

std::ostream &operator<<(std::ostream &stream, const Cell &cell) { return stream << cell.name; }

/// Each strategy of the CPU target once at least, on both families and 1 to 8 ranks.
std::vector<Cell> makeCells() {
  return {
      {"one_rank", "llama", 1, {"--microbatches", "2"}},
      {"gpt2_dropout", "gpt2", 1, {"--dropout", "on"}},
      {"tied", "llama-bias-tied", 1, {"--optimizer", "sgd"}},
      {"dp", "gpt2", 2, {"--mesh", "dp=2", "--microbatches", "4"}},
      {"tp", "llama", 2, {"--mesh", "tp=2", "--dropout", "on"}},
      {"tp_sp", "gpt2", 2, {"--mesh", "tp=2", "--strategy", "tp+sp"}},
      {"zero1", "llama", 2, {"--mesh", "dp=2", "--strategy", "zero1"}},
      {"zero2", "gpt2", 2, {"--mesh", "dp=2", "--strategy", "zero2", "--microbatches", "2"}},
      {"zero3", "llama", 4, {"--mesh", "dp=4", "--strategy", "zero3"}},
      {"hsdp", "gpt2", 4, {"--mesh", "dp_replicate=2,dp_shard=2", "--strategy", "hsdp"}},
      {"full", "llama", 4, {"--mesh", "dp=2,tp=2", "--recompute", "full"}},
      {"pp", "gpt2", 2, {"--mesh", "pp=2", "--microbatches", "4"}},
      {"zbv", "llama", 2, {"--mesh", "pp=2", "--pp-schedule", "zbv", "--microbatches", "4"}},
      {"pp_tp",
       "llama",
       4,
       {"--mesh", "pp=2,tp=2", "--pp-schedule", "zb-h1", "--microbatches", "2"}},
      {"pp_zero3",
       "gpt2",
       4,
       {"--mesh", "pp=2,dp=2", "--strategy", "zero3", "--microbatches", "2"}},
      {"pp_dp_tp", "llama", 8, {"--mesh", "pp=2,dp=2,tp=2", "--strategy", "zero1+tp"}},
  };
}

struct Training {
  std::vector<StepMetrics> steps;
  std::map<std::string, Tensor> gradients;
};

Training trainOn(const Cell &cell, const std::string &target, const Environment &environment) {
  fs::path directory = scratchDirectory("cuda-" + cell.name + "-" + target);
  Words flags = {"--seq", "32", "--batch", "8", "--target", target};
  flags.insert(flags.end(), cell.flags.begin(), cell.flags.end());
  fs::path program = compile(goldenDirectory(cell.model), flags);
  Training training;
  training.steps = train(program, cell.ranks,
                         {"--data", goldenDirectory(cell.model) / "tokens.bin", "--steps",
                          std::to_string(kSteps), "--lr", "1e-3", "--seed", "7", "--dump-gradients",
                          directory / "gradients"},
                         environment);
  training.gradients = readSlices(directory / "gradients", "step-1-");
  return training;
}

class Cuda : public testing::TestWithParam<Cell> {};

TEST_P(Cuda, TrainsAsTheCpuDoes) {
  const Cell &cell = GetParam();
  Training expected = trainOn(cell, "cpu", {});
  const char *exhaustive = std::getenv("ULSC_EXHAUSTIVE");
  int seeds = exhaustive && std::string(exhaustive) == "1" ? 5 : 2;
  for (int seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    Training actual =
        trainOn(cell, "cuda",
                {{"LD_LIBRARY_PATH", (fs::path(ULSC_BUILD_DIR) / "lib" / "simulator").string()},
                 {"ULSC_SIMULATOR_SEED", std::to_string(seed)}});
    ASSERT_EQ(actual.steps.size(), size_t(kSteps));
    ASSERT_EQ(expected.steps.size(), size_t(kSteps));
    for (int i = 0; i < kSteps; ++i) {
      EXPECT_LE(relativeDifference(actual.steps[i].loss, expected.steps[i].loss), 1e-4) << i;
      EXPECT_LE(relativeDifference(actual.steps[i].gradNorm, expected.steps[i].gradNorm), 1e-4)
          << i;
    }
    ASSERT_FALSE(expected.gradients.empty());
    ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
    for (const auto &[name, tensor] : expected.gradients)
      EXPECT_LE(relativeDistance(actual.gradients[name], tensor), 1e-4) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, Cuda, testing::ValuesIn(makeCells()),
                         [](const auto &info) { return info.param.name; });

} // namespace
