//===- StepTest.cpp - Whole steps: gradients, optimizers, forward-only programs
//--------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// Runs the step that the stage `train` writes for the model of test/Passes/Train/write-step.mlir
/// (tied table, frozen norm, bf16 storage, dropout, three microbatches) in the interpreter, in
/// double precision.
///
//===---------------------------------------------------------------------------------------===//

#include "passes/Train/Passes.h"
#include "test/unit/DialectContext.h"
#include "ulsc/Interpreter.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

using test::getContext;

namespace {

/// The model, brought through the stage `train`.
OwningOpRef<ModuleOp> makeStep(const char *optimizer) {
  auto module =
      parseSourceFile<ModuleOp>(ULSC_TEST_DIR "/Passes/Train/write-step.mlir", &getContext());
  PassManager manager(&getContext());
  TrainOptions options;
  options.optimizer = optimizer;
  buildTrainPipeline(manager, options);
  EXPECT_TRUE(module && succeeded(manager.run(*module)));
  return module;
}

/// A batch of 3 × 4 × 8 tokens below 16, one target in five invalid.
struct Batch {
  explicit Batch(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<int64_t> tokenValues(96), targetValues(96);
    for (size_t i = 0; i < 96; ++i) {
      tokenValues[i] = random() % 16;
      targetValues[i] = random() % 5 == 0 ? -1 : int64_t(random() % 16);
    }
    tokens = Tensor({3, 4, 8}, std::move(tokenValues));
    targets = Tensor({3, 4, 8}, std::move(targetValues));
  }
  Tensor tokens, targets;
};

Tensor moved(const Tensor &tensor, int64_t element, double move) {
  std::vector<double> elements(tensor.getFloats().begin(), tensor.getFloats().end());
  elements[element] += move;
  return Tensor(tensor.getShape(), std::move(elements));
}

TEST(Step, GradientsAreThoseOfTheReportedLoss) {
  OwningOpRef<ModuleOp> module = makeStep("adamw");
  Batch batch(3);
  auto run = [&](StringRef parameter, int64_t element, double move) {
    auto machine = Interpreter::create(*module);
    if (!parameter.empty())
      EXPECT_TRUE(succeeded(
          machine->setStored(parameter, moved(*machine->getStored(parameter), element, move))));
    return *machine->runStep(batch.tokens, batch.targets);
  };
  StepResult result = run("", 0, 0);
  EXPECT_EQ(result.gradients.size(), 3u);
  EXPECT_EQ(result.gradients.count("norm"), 0u);
  double squares = 0;
  for (const auto &[name, gradient] : result.gradients) {
    for (double element : gradient.getFloats())
      squares += element * element;
    for (int64_t i = 0; i < gradient.getNumElements(); i += 3) {
      double slope = (run(name, i, 1e-5).loss - run(name, i, -1e-5).loss) / 2e-5;
      EXPECT_NEAR(gradient.getFloats()[i], slope, 1e-8) << name << "[" << i << "]";
    }
  }
  EXPECT_NEAR(result.gradNorm, std::sqrt(squares), 1e-12);
  EXPECT_GT(result.gradNorm, 1e-3);
}

/// One parameter element as torch.optim would train it.
struct Element {
  double parameter, moment1 = 0, moment2 = 0;
};

void stepAdamW(Element &e, double gradient, const Control &c, double lrScale, double decayScale,
               int64_t step) {
  double lr = c.learningRate * lrScale;
  e.parameter *= 1 - lr * c.weightDecay * decayScale;
  e.moment1 = c.beta1 * e.moment1 + (1 - c.beta1) * gradient;
  e.moment2 = c.beta2 * e.moment2 + (1 - c.beta2) * gradient * gradient;
  double corrected1 = e.moment1 / (1 - std::pow(c.beta1, step));
  double corrected2 = e.moment2 / (1 - std::pow(c.beta2, step));
  e.parameter -= lr * corrected1 / (std::sqrt(corrected2) + c.epsilon);
}

void stepSgd(Element &e, double gradient, const Control &c, double lrScale, double decayScale,
             int64_t step) {
  gradient += c.weightDecay * decayScale * e.parameter;
  e.moment1 = step == 1 ? gradient : c.momentum * e.moment1 + gradient;
  e.parameter -= c.learningRate * lrScale * e.moment1;
}

/// Trains a few steps and follows every element of every trained parameter by `stepElement`.
void followOptimizer(const char *optimizer, decltype(stepAdamW) *stepElement) {
  OwningOpRef<ModuleOp> module = makeStep(optimizer);
  Options options;
  options.control.learningRate = 0.05;
  options.control.clipGrad = 0.1;
  options.control.parameterLrScale["w1"] = 0.5;
  options.control.parameterDecayScale["embed"] = 0;
  auto machine = Interpreter::create(*module, options);
  std::map<std::string, std::vector<Element>> elements;
  for (const char *name : {"embed", "w0", "w1"})
    for (double value : machine->getStored(name)->getFloats())
      elements[name].push_back({value});
  Tensor frozen = *machine->getStored("norm");
  for (int64_t step = 1; step <= 4; ++step) {
    Batch batch(step);
    StepResult result = *machine->runStep(batch.tokens, batch.targets);
    double clip = std::min(1.0, 0.1 / (result.gradNorm + 1e-6));
    EXPECT_LT(clip, 1.0);
    for (auto &[name, all] : elements) {
      double lrScale = name == "w1" ? 0.5 : 1, decayScale = name == "embed" ? 0 : 1;
      for (size_t i = 0; i < all.size(); ++i) {
        stepElement(all[i], clip * result.gradients[name].getFloats()[i], options.control, lrScale,
                    decayScale, step);
        EXPECT_NEAR(machine->getStored(name)->getFloats()[i], all[i].parameter, 1e-12)
            << name << "[" << i << "]";
      }
    }
  }
  EXPECT_EQ(getRelativeDifference(*machine->getStored("norm"), frozen), 0.0);
}

TEST(Step, AdamWFollowsPyTorch) { followOptimizer("adamw", stepAdamW); }
TEST(Step, SgdFollowsPyTorch) { followOptimizer("sgd", stepSgd); }

TEST(Step, StopRequestsAreSummed) {
  OwningOpRef<ModuleOp> module = makeStep("sgd");
  Options options;
  options.control.stopRequested = {1.0};
  Batch batch(1);
  EXPECT_EQ(Interpreter::create(*module, options)->runStep(batch.tokens, batch.targets)->stopCount,
            1.0);
}

TEST(Step, WithoutValidTargetsNothingIsNaN) {
  OwningOpRef<ModuleOp> module = makeStep("sgd");
  Batch batch(1);
  batch.targets = Tensor({3, 4, 8}, std::vector<int64_t>(96, -1));
  StepResult result = *Interpreter::create(*module)->runStep(batch.tokens, batch.targets);
  EXPECT_EQ(result.loss, 0.0);
  EXPECT_EQ(result.gradNorm, 0.0);
}

/// The forward-only program of the trained module reports the loss that the step reports without
/// dropout, and changes nothing.
TEST(Evaluation, ReportsTheLossWithoutDropout) {
  OwningOpRef<ModuleOp> training = makeStep("adamw");
  OwningOpRef<ModuleOp> evaluation = training->clone();
  PassManager manager(&getContext());
  manager.addPass(createDeriveEvaluationPass());
  ASSERT_TRUE(succeeded(manager.run(*evaluation)));
  Options options;
  options.control.dropoutRate = 0;
  Batch batch(5);
  StepResult expected =
      *Interpreter::create(*training, options)->runStep(batch.tokens, batch.targets);
  auto machine = Interpreter::create(*evaluation);
  Tensor before = *machine->getStored("embed");
  auto result = machine->runStep(batch.tokens, batch.targets);
  ASSERT_TRUE(succeeded(result));
  EXPECT_NEAR(result->loss, expected.loss, 1e-12);
  EXPECT_EQ(result->validCount, expected.validCount);
  EXPECT_EQ(getRelativeDifference(*machine->getStored("embed"), before), 0.0);
}

} // namespace
