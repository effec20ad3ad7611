//===- golden_test.cpp - PyTorch's numbers
//-----------------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// The same weights and tokens as PyTorch (test/golden/README.md says how those numbers were made
// and what each tolerance can tell apart).
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace ulsc::test;
using nlohmann::json;

namespace {

/// A number as a flag takes it, without loss.
std::string text(const json &number) { return number.dump(); }

Words recipeFlags(const json &recipe) {
  Words flags{"--lr",           text(recipe["lr"]),
              "--weight-decay", text(recipe["weight_decay"]),
              "--clip-grad",    text(recipe["clip_grad"]),
              "--lr-schedule",  recipe["lr_schedule"].get<std::string>(),
              "--dropout",      "0"};
  if (recipe["optimizer"] == "adamw")
    for (const std::string &word :
         {std::string("--betas"), text(recipe["betas"][0]) + "," + text(recipe["betas"][1]),
          std::string("--eps"), text(recipe["eps"]), std::string("--weight-decay-on"),
          recipe["weight_decay_on"].get<std::string>()})
      flags.push_back(word);
  else
    flags.insert(flags.end(), {"--momentum", text(recipe["momentum"])});
  return flags;
}

struct Tolerance {
  double firstLoss, loss, norm;
};

class Golden : public testing::TestWithParam<std::string> {
protected:
  void compare(const std::string &optimizer, const std::string &dtype, const std::string &precision,
               Tolerance tolerance, int ranks = 1, const std::string &mesh = "") {
    std::filesystem::path directory = goldenDirectory(GetParam());
    json golden = readJson(directory / "golden.json");
    const json &section = golden[optimizer];
    Words compileFlags{"--seq",       text(golden["data"]["seq"]),
                       "--batch",     text(golden["data"]["batch"]),
                       "--dtype",     dtype,
                       "--optimizer", optimizer};
    if (!mesh.empty())
      compileFlags.insert(compileFlags.end(), {"--mesh", mesh});
    std::filesystem::path program = compile(directory, compileFlags);
    Words flags = recipeFlags(section["recipe"]);
    flags.insert(flags.end(),
                 {"--weights", directory / "model.safetensors", "--data", directory / "tokens.bin",
                  "--steps", text(section["recipe"]["steps"])});
    std::vector<StepMetrics> steps = train(program, ranks, flags);
    const json &expected = section[precision];
    ASSERT_EQ(steps.size(), expected["loss"].size());
    for (size_t i = 0; i < steps.size(); ++i) {
      EXPECT_LE(relativeDifference(steps[i].loss, expected["loss"][i]),
                i == 0 ? tolerance.firstLoss : tolerance.loss)
          << "loss of step " << i << ": " << steps[i].loss << ", PyTorch: " << expected["loss"][i];
      EXPECT_LE(relativeDifference(steps[i].gradNorm, expected["grad_norm"][i]), tolerance.norm)
          << "grad-norm of step " << i << ": " << steps[i].gradNorm
          << ", PyTorch: " << expected["grad_norm"][i];
    }
  }
};

TEST_P(Golden, AdamWInF32) { compare("adamw", "f32", "f64", {2e-6, 2e-5, 1e-4}); }
TEST_P(Golden, SgdInF32) { compare("sgd", "f32", "f64", {2e-6, 2e-5, 1e-4}); }
TEST_P(Golden, AdamWInBf16) { compare("adamw", "bf16", "bf16_autocast", {3e-3, 3e-3, 5e-2}); }
TEST_P(Golden, AdamWOnFourRanks) {
  compare("adamw", "f32", "f64", {2e-6, 2e-5, 1e-4}, 4, "dp=2,tp=2");
}

TEST_P(Golden, GradientsOfTheFirstStep) {
  std::filesystem::path directory = goldenDirectory(GetParam());
  json golden = readJson(directory / "golden.json");
  std::filesystem::path program =
      compile(directory, {"--seq", text(golden["data"]["seq"]), "--batch",
                          text(golden["data"]["batch"]), "--dtype", "f32", "--optimizer", "adamw"});
  std::filesystem::path dump = scratchDirectory("gradients-" + GetParam());
  train(program, 1,
        {"--weights", directory / "model.safetensors", "--data", directory / "tokens.bin",
         "--steps", "1", "--dropout", "0", "--dump-gradients", dump});
  std::map<std::string, Tensor> gradients = readSlices(dump, "step-");
  const json &expected = golden["step0_gradients"];
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(gradients.size(), expected.size());
  for (const auto &[name, entry] : expected.items()) {
    auto it = gradients.find(name + ":gradient");
    ASSERT_NE(it, gradients.end()) << name;
    double squares = 0;
    for (double value : it->second.values)
      squares += value * value;
    double norm = entry["norm"]["f64"], largest = entry["max_abs"];
    EXPECT_LE(std::abs(std::sqrt(squares) - norm), 1e-5 * norm + 1e-9) << name;
    for (size_t i = 0; i < entry["indices"].size(); ++i) {
      int64_t index = entry["indices"][i];
      double value = entry["values"][i];
      EXPECT_NEAR(it->second.values[index], value, 2e-5 * largest + 1e-9)
          << name << " at " << index;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Golden,
                         testing::Values("llama", "llama-bias-tied", "llama-linear", "gpt2"),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = c == '-' ? '_' : c;
                           return name;
                         });

} // namespace
