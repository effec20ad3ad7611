//===- precision_test.cpp - State, gradients and compute in few bits --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// What each choice costs in bytes, that training goes on under it, how bf16 state is rounded, and
// what an overflow under f16 leaves (test/e2e/loss_scale_test.cpp).
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace ulsc::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::map<std::string, int> kSizes{{"f32", 4}, {"bf16", 2}, {"f16", 2}};

json describe(const fs::path &program) {
  Outcome outcome = run({program, "--describe"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  return json::parse(outcome.output);
}

//===---------------------------------------------------------------------------------------===//
// Bytes
//===---------------------------------------------------------------------------------------===//

struct Choice {
  std::string name;
  Words flags;
  int bytes; ///< of a parameter that is a matrix, under AdamW

  Words with(const Words &others) const {
    Words all = others;
    all.insert(all.end(), flags.begin(), flags.end());
    return all;
  }
};

std::ostream &operator<<(std::ostream &stream, const Choice &c) { return stream << c.name; }

const Choice kChoices[] = {
    {"f32", {}, 4 + 4 + 4 + 4},
    {"bf16", {"--dtype", "bf16"}, 2 + 4 + 4 + 4 + 4},
    {"bf16_gradients", {"--dtype", "bf16", "--grad-dtype", "bf16"}, 2 + 2 + 4 + 4 + 4},
    {"bf16_moments", {"--dtype", "bf16", "--moment-dtype", "bf16"}, 2 + 4 + 4 + 2 + 2},
    {"bf16_all",
     {"--dtype", "bf16", "--grad-dtype", "bf16", "--moment-dtype", "bf16", "--master-dtype", "none",
      "--stochastic-rounding", "on"},
     2 + 2 + 2 + 2},
    {"f16", {"--dtype", "f16"}, 2 + 4 + 4 + 4 + 4},
};

class Precision : public testing::TestWithParam<Choice> {};

TEST_P(Precision, BytesOfAParameter) {
  json manifest =
      describe(compile(goldenDirectory("llama"), GetParam().with({"--seq", "32", "--batch", "8"})));
  std::map<std::string, int> bytes;
  for (const json &tensor : manifest["tensors"])
    bytes[tensor["parameter"]] += kSizes.at(tensor["dtype"]);
  EXPECT_EQ(bytes.at("model.layers.0.mlp.down_proj.weight"), GetParam().bytes);
  EXPECT_EQ(bytes.at("model.embed_tokens.weight"), GetParam().bytes);
}

/// Roundings change the numbers a little, an error in them a lot.
TEST_P(Precision, TrainsNearF32) {
  for (const char *model : {"llama", "gpt2"}) {
    fs::path directory = goldenDirectory(model);
    auto trainWith = [&](const Words &flags) {
      return train(compile(directory, flags), 1,
                   {"--data", directory / "tokens.bin", "--steps", "20", "--lr", "3e-3"});
    };
    Words common{"--seq", "32", "--batch", "8"};
    std::vector<StepMetrics> steps = trainWith(GetParam().with(common)), wide = trainWith(common);
    ASSERT_EQ(steps.size(), wide.size());
    ASSERT_LT(wide.back().loss, wide.front().loss - 0.3) << "too little happens";
    for (size_t i = 0; i < steps.size(); ++i) {
      EXPECT_LE(relativeDifference(steps[i].loss, wide[i].loss), 1e-2) << model << " step " << i;
      EXPECT_LE(relativeDifference(steps[i].gradNorm, wide[i].gradNorm), 1e-1)
          << model << " step " << i;
    }
  }
}

/// Straight on, and stopped in the midst: the same bits.
TEST_P(Precision, ResumesBitwise) {
  fs::path model = goldenDirectory("llama"),
           directory = scratchDirectory("precision-" + GetParam().name);
  fs::path program =
      compile(model, GetParam().with({"--seq", "32", "--batch", "8", "--mesh", "dp=2", "--strategy",
                                      "zero1", "--dropout", "on"}));
  Words flags{"--data", model / "tokens.bin", "--dropout", "0.1"};
  auto trainTo = [&](int steps, const std::string &save, const Words &others) {
    Words all = flags;
    all.insert(all.end(), {"--steps", std::to_string(steps), "--save", directory / save});
    all.insert(all.end(), others.begin(), others.end());
    train(program, 2, all);
  };
  trainTo(6, "straight", {});
  trainTo(3, "stopped", {});
  trainTo(6, "stopped", {"--resume", "auto"});
  for (const char *file : {"rank-00000.safetensors", "rank-00001.safetensors"})
    EXPECT_TRUE(readBytes(directory / "straight/step-6" / file) ==
                readBytes(directory / "stopped/step-6" / file))
        << file;
}

INSTANTIATE_TEST_SUITE_P(Choices, Precision, testing::ValuesIn(kChoices),
                         [](const auto &info) { return info.param.name; });

//===---------------------------------------------------------------------------------------===//
// Reductions
//===---------------------------------------------------------------------------------------===//

TEST(PrecisionOfReductions, TravelInTheirDtype) {
  fs::path model = goldenDirectory("llama"), directory = scratchDirectory("precision-reductions");
  auto trainWith = [&](const Words &flags) {
    Words all{"--seq", "32", "--batch", "8", "--mesh", "dp=2"};
    all.insert(all.end(), flags.begin(), flags.end());
    fs::path program = compile(model, all, directory / "report.json");
    return train(program, 2, {"--data", model / "tokens.bin", "--steps", "5"});
  };
  auto gradientBytes = [&](const std::string &dtype) {
    int64_t bytes = 0;
    json report = readJson(directory / "report.json");
    for (const json &row : report["collectives"])
      if (row["phase"] == "backward" && row["dtype"] == dtype)
        bytes += row["bytes"].get<int64_t>() * row["count_per_step"].get<int64_t>();
    return bytes;
  };
  std::vector<StepMetrics> wide = trainWith({});
  int64_t wideBytes = gradientBytes("f32");
  ASSERT_GT(wideBytes, 0);
  std::vector<StepMetrics> narrow = trainWith({"--reduce-dtype", "bf16"});
  EXPECT_EQ(gradientBytes("bf16") * 2, wideBytes);
  EXPECT_EQ(gradientBytes("f32"), 0);
  for (size_t i = 0; i < wide.size(); ++i)
    EXPECT_LE(relativeDifference(narrow[i].loss, wide[i].loss), 1e-3) << "step " << i;
}

//===---------------------------------------------------------------------------------------===//
// Rounding
//===---------------------------------------------------------------------------------------===//

std::map<std::string, Tensor> stateAfter(const fs::path &program, const fs::path &model, int ranks,
                                         const std::string &rate, const std::string &name) {
  fs::path directory = scratchDirectory("precision-state-" + name);
  train(program, ranks,
        {"--data", model / "tokens.bin", "--steps", "1", "--seed", "3", "--momentum", "0",
         "--weight-decay", "0", "--lr", rate, "--save", directory});
  return readSlices(directory / "step-1", "rank-");
}

/// How much of the step that f32 makes a program makes: 1 is all of it.
double movement(const Words &flags, const std::string &name) {
  fs::path model = goldenDirectory("llama");
  Words common{"--seq", "32", "--batch", "8", "--optimizer", "sgd"}, all = common;
  all.insert(all.end(), flags.begin(), flags.end());
  const char *rate = "2e-3";
  auto wide = compile(model, common), narrow = compile(model, all);
  auto wideBefore = stateAfter(wide, model, 1, "0", name + "-a"),
       wideAfter = stateAfter(wide, model, 1, rate, name + "-b"),
       before = stateAfter(narrow, model, 1, "0", name + "-c"),
       after = stateAfter(narrow, model, 1, rate, name + "-d");
  double along = 0, square = 0;
  for (const auto &[key, tensor] : wideAfter) {
    if (key.find("weight") == std::string::npos || key.find("moment") != std::string::npos)
      continue;
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      double step = tensor.values[i] - wideBefore.at(key).values[i];
      along += step * (after.at(key).values[i] - before.at(key).values[i]);
      square += step * step;
    }
  }
  return along / square;
}

/// Steps far below the distance of neighbours: to nearest most are lost, at random none on average.
TEST(PrecisionOfRounding, StochasticKeepsSmallSteps) {
  Words nearest{"--dtype", "bf16", "--master-dtype", "none"}, stochastic = nearest;
  stochastic.insert(stochastic.end(), {"--stochastic-rounding", "on"});
  EXPECT_NEAR(movement(stochastic, "stochastic"), 1.0, 0.1);
  EXPECT_LE(movement(nearest, "nearest"), 0.6);
}

/// The same element of the same state takes the same way on every mesh. Sums differ in their last
/// bits, so a few elements fall on the other side.
TEST(PrecisionOfRounding, EveryMeshRoundsAlike) {
  fs::path model = goldenDirectory("llama-bias-tied");
  Words flags{"--seq",
              "32",
              "--batch",
              "8",
              "--optimizer",
              "sgd",
              "--moment-dtype",
              "bf16",
              "--stochastic-rounding",
              "on"};
  auto one = stateAfter(compile(model, flags), model, 1, "1e-3", "one");
  for (const char *strategy : {"tp+ddp", "tp+zero1", "tp+zero3"}) {
    Words split = flags;
    split.insert(split.end(), {"--mesh", "dp=2,tp=2", "--strategy", strategy});
    auto many = stateAfter(compile(model, split), model, 4, "1e-3", "many");
    int64_t elements = 0, equal = 0, moments = 0;
    for (const auto &[key, tensor] : one) {
      if (key.find("moment1") == std::string::npos)
        continue;
      ++moments;
      const Tensor &other = many.at(key);
      ASSERT_EQ(other.values.size(), tensor.values.size());
      for (size_t i = 0; i < tensor.values.size(); ++i) {
        ++elements;
        equal += other.values[i] == tensor.values[i];
      }
    }
    ASSERT_GT(moments, 10);
    EXPECT_GE(double(equal), 0.995 * double(elements)) << strategy;
  }
}

} // namespace
