//===- cuda_test.cpp - CUDA programs train as those of the CPU do ---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// The unmodified programs run on the simulated device, races looked for, its streams, blocks and
// warps in the order of a seed, by turns with steps as graphs and without. Cases are those of the
// legality matrix (docs/legality.md): by default some that show each choice to what a target sees
// of it, with two seeds; with ULSC_EXHAUSTIVE=1 those that meet every legal pair, with five.
//
//===---------------------------------------------------------------------------------------===//

#include "cover_pairs.h"
#include "legality_training.h"

#include <gtest/gtest.h>

#include <set>

using namespace ulsc::test;
using namespace ulsc::legality;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct CudaCase {
  Case choices;
  bool isAlone; ///< on one rank

  Command getCommand() const { return isAlone ? makeReference(choices) : makeCommand(choices); }
};

std::ostream &operator<<(std::ostream &stream, const CudaCase &c) {
  return stream << describe(c.choices) << (c.isAlone ? " on one rank" : "");
}

/// A dtype and a choice of another dimension: each kind of kernel and product in each of its forms.
std::vector<ChoicePair> getPairs(const Case &choices) {
  std::vector<ChoicePair> pairs;
  for (const char *dtype : {"f32", "bf16", "f16"}) {
    // What is narrow beside f32 would hide small errors of f32's kernels.
    if (!usesChoice(choices, "dtype", dtype) || (std::string(dtype) == "f32" && !isWide(choices)))
      continue;
    for (size_t i = 0; i < choices.size(); ++i)
      pairs.emplace_back(dtype, getDimensions()[i].name + ":" + getChoice(choices, i).name);
  }
  return pairs;
}

std::vector<CudaCase> getCases() {
  std::string problem;
  CaseList list = readLegalityCases(problem);
  std::vector<Case> all = list.pairwise;
  if (!isExhaustive())
    all.insert(all.end(), list.more.begin(), list.more.end());
  if (!isExhaustive())
    all = coverPairs(all, getPairs, countRanks);
  std::vector<CudaCase> cases;
  std::set<std::string> alone; // each dtype
  for (const Case &choices : all) {
    for (const char *dtype : {"f32", "bf16", "f16"})
      if (usesChoice(choices, "dtype", dtype) && alone.insert(dtype).second)
        cases.push_back({choices, true});
    cases.push_back({choices, false});
  }
  return cases;
}

/// How much more a GPU's program may hold where most is live, as a part of that, but for
/// workspaces: gelu's gradient is not written over what it reads, and f32 products stand beside
/// gradients in bf16.
double getMoreLive(const Case &choices) {
  bool hasGelu = usesChoice(choices, "model", "gpt2"),
       hasNarrowGradients = usesChoice(choices, "state", "bf16-gradients") ||
                            usesChoice(choices, "state", "bf16-all"),
       hasMiddle = hasNarrowGradients && !usesChoice(choices, "dtype", "bf16");
  return hasGelu || hasMiddle ? 0.2 : 0.01;
}

/// One communication in one order, and one memory but for workspaces, alignment and `moreLive`.
void expectSameReports(const json &actual, const json &expected, double moreLive) {
  EXPECT_EQ(actual["collectives"], expected["collectives"]);
  ASSERT_EQ(actual["memory"].size(), expected["memory"].size());
  for (size_t i = 0; i < expected["memory"].size(); ++i) {
    const json &row = actual["memory"][i], &other = expected["memory"][i];
    for (const char *category : {"parameters", "gradients", "optimizer"})
      EXPECT_EQ(row[category], other[category]) << category;
    double activations = other["activations"];
    EXPECT_NEAR(row["activations"].get<double>(), activations, 0.03 * activations + 4096);
    auto liveWithoutWorkspaces = [](const json &row) {
      return row["largest_live"].get<double>() - row["workspaces"].get<double>();
    };
    double live = liveWithoutWorkspaces(other);
    EXPECT_LE(liveWithoutWorkspaces(row), (1 + moreLive) * live + 4096);
    EXPECT_GE(liveWithoutWorkspaces(row), 0.99 * live - 4096);
    EXPECT_LE(row["transient"].get<double>(), 1.03 * row["largest_live"].get<double>() + 4096);
  }
}

class Cuda : public testing::TestWithParam<CudaCase> {};

TEST_P(Cuda, TrainsAsTheCpuDoes) {
  const Case &choices = GetParam().choices;
  Command command = GetParam().getCommand();
  TrainingOptions options;
  options.steps = 3;
  // The simulated device interprets every instruction of every thread.
  options.seq = 16;
  CaseTraining expected = trainCase(command, choices, options);
  options.target = "cuda";
  for (int seed = 0; seed < (isExhaustive() ? 5 : 2); ++seed) {
    SCOPED_TRACE(seed);
    options.environment = onSimulatedDevice({{"ULSC_SIMULATOR_SEED", std::to_string(seed)}});
    options.flags = {"--cuda-graph", seed % 2 ? "off" : "on"};
    CaseTraining actual = trainCase(command, choices, options);
    expectSameNumbers(choices, actual, expected);
    // A limit is met as each target's workspaces leave room.
    if (!usesChoice(choices, "recomputation", "limit"))
      expectSameReports(actual.report, expected.report, getMoreLive(choices));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Cuda, testing::ValuesIn(getCases()), [](const auto &info) {
  return nameOfCase({info.param.choices}) + (info.param.isAlone ? "_alone" : "");
});

/// What bf16 rounds otherwise, grouped queries included.
TEST(CudaAttention, OfCudnnTrainsAsItsOwn) {
  fs::path directory = scratchDirectory("cuda-attention"), model = goldenDirectory("llama");
  std::map<std::string, std::vector<StepMetrics>> runs;
  for (const std::string library : {"cudnn", "own"}) {
    SCOPED_TRACE(library);
    fs::path report = directory / (library + ".json");
    fs::path program = compile(model,
                               {"--seq", "32", "--batch", "4", "--microbatches", "2", "--dtype",
                                "bf16", "--target", "cuda", "--attention", library},
                               report);
    json row = {{"source", "model.layers.*.self_attn"}, {"library", library}};
    EXPECT_EQ(readJson(report)["attention"], json::array({row}));
    runs[library] =
        train(program, 1, {"--data", model / "tokens.bin", "--steps", "3"}, onSimulatedDevice());
    ASSERT_EQ(runs[library].size(), 3u);
  }
  double largest = 0;
  for (size_t i = 0; i < 3; ++i) {
    const StepMetrics &cudnn = runs["cudnn"][i], &own = runs["own"][i];
    EXPECT_LE(relativeDifference(cudnn.loss, own.loss), 1e-3) << "step " << i;
    EXPECT_LE(relativeDifference(cudnn.gradNorm, own.gradNorm), 5e-3) << "step " << i;
    largest = std::max(largest, relativeDifference(cudnn.gradNorm, own.gradNorm));
  }
  EXPECT_GT(largest, 0) << "both run the same kernels";
  recordMeasurement("norm", largest);
}

/// Times come from the device: the host has submitted a step long before it has run.
TEST(CudaTimes, AreOfTheDevice) {
  fs::path directory = scratchDirectory("cuda-times"), model = goldenDirectory("llama");
  fs::path program =
      compile(model, {"--seq", "32", "--batch", "8", "--mesh", "dp=2", "--target", "cuda"});
  std::vector<StepMetrics> steps = train(program, 2,
                                         {"--data", model / "tokens.bin", "--steps", "2", "--trace",
                                          directory / "trace.json", "--trace-steps", "1"},
                                         onSimulatedDevice());
  ASSERT_EQ(steps.size(), 2u);
  double end = 0, computed = 0, waited = 0, step = 0;
  json trace = readJson(directory / "trace.json");
  for (const json &event : trace["traceEvents"]) {
    if (event["pid"] != 0 || event["ph"] != "X")
      continue;
    std::string category = event["cat"];
    double begin = event["ts"], duration = event["dur"];
    if (category == "step")
      step = duration;
    if (category == "wait")
      waited += duration;
    if (category != "kernel" && category != "gemm")
      continue;
    EXPECT_GE(begin, end - 1e-3) << "one stream runs one kernel after the other";
    end = begin + duration;
    computed += duration;
    EXPECT_GT(event["args"].value("bytes", 0.0) + event["args"].value("flops", 0.0), 0);
  }
  EXPECT_GT(computed, 0);
  EXPECT_LE(computed + waited, step);
  double exposed = 0;
  for (const json &milliseconds : steps[1].all["exposed_comm_ms"])
    exposed += milliseconds.get<double>();
  EXPECT_GE(exposed * 1e3, waited * 0.999);
  EXPECT_LE(exposed, steps[1].all["step_ms"].get<double>());
}

} // namespace
