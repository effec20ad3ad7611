//===- cuda_epilogues_test.cpp - Products that do more train as those that don't ------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// gpt2 has what cuBLASLt's epilogues are for: biases, and gelu by tanh.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <set>

using namespace ulsc::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct EpilogueCase {
  std::string name;
  int ranks;
  Words flags;
  std::set<std::string> epilogues; ///< that its step uses
  double tolerance;
};

std::ostream &operator<<(std::ostream &stream, const EpilogueCase &c) { return stream << c.name; }

class CudaEpilogues : public testing::TestWithParam<EpilogueCase> {};

TEST_P(CudaEpilogues, TrainAsTheCpuDoes) {
  const EpilogueCase &given = GetParam();
  fs::path directory = scratchDirectory("cuda-epilogues-" + given.name),
           model = goldenDirectory("gpt2"), trace = directory / "trace.json";
  Words flags = {"--seq", "16", "--batch", "2"},
        run = {"--data", model / "tokens.bin", "--steps", "3"};
  flags.insert(flags.end(), given.flags.begin(), given.flags.end());
  std::vector<StepMetrics> expected = train(compile(model, flags), given.ranks, run);
  flags.insert(flags.end(), {"--target", "cuda"});
  run.insert(run.end(), {"--trace", trace, "--trace-steps", "1"});
  std::vector<StepMetrics> actual =
      train(compile(model, flags), given.ranks, run, onSimulatedDevice());
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[i].loss, expected[i].loss, given.tolerance) << "step " << i;
    EXPECT_NEAR(actual[i].gradNorm, expected[i].gradNorm,
                given.tolerance * 10 * expected[i].gradNorm)
        << "step " << i;
  }
  std::set<std::string> epilogues;
  json events = readJson(trace);
  for (const json &event : events["traceEvents"])
    if (event.value("cat", "") == "gemm" && event["args"].contains("epilogue"))
      epilogues.insert(event["args"]["epilogue"].get<std::string>());
  EXPECT_EQ(epilogues, given.epilogues);
}

const std::set<std::string> inOneDtype = {"bias", "gelu", "gelu_bias_grad", "bias_grad"},
                            inTwoDtypes = {"bias", "gelu", "gelu_grad", "bias_grad"};

// Products into an accumulator have no epilogue, so that with two microbatches weights' gradients
// leave the biases' to kernels.
INSTANTIATE_TEST_SUITE_P(
    Cases, CudaEpilogues,
    testing::Values(EpilogueCase{"f32", 1, {}, inOneDtype, 1e-4},
                    EpilogueCase{"f32_tp", 2, {"--mesh", "tp=2"}, inOneDtype, 1e-4},
                    EpilogueCase{"f32_microbatches",
                                 1,
                                 {"--microbatches", "2"},
                                 {"bias", "gelu", "gelu_bias_grad"},
                                 1e-4},
                    EpilogueCase{"bf16", 1, {"--dtype", "bf16"}, inTwoDtypes, 2e-2},
                    EpilogueCase{"f16_bf16_gradients",
                                 1,
                                 {"--dtype", "f16", "--grad-dtype", "bf16"},
                                 {"bias", "gelu", "gelu_grad"},
                                 2e-2}),
    [](const auto &info) { return info.param.name; });

} // namespace
