//===- LocalStepTest.cpp - Ops of a rank's step, as a program on ranks and in the interpreter -===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

// Collectives along inner dimensions, exchanges of neighbours and the gradient of a maximum, which
// no compiled model has: a hand-written step of four ranks reports sums that weigh every element by
// its place and its rank. The program must report what the interpreter does.

#include "passes/Lower/Passes.h"
#include "passes/Schedule/Passes.h"
#include "ulsc/InitAllDialects.h"
#include "ulsc/Interpreter.h"
#include "ulsc/Target/Cpu.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace ulsc;

namespace {

const char *const kStep = R"(
module attributes {
  dist.partitioned,
  uls.model = {family = "toy", name = "toy", config = "{}", vocabulary = 16 : i64, weight_prefix = "", parameters = 240 : i64, flops_per_step = 1.0 : f64},
  uls.batch = {global = 4 : i64, micro = 2 : i64, microbatches = 1 : i64, seq = 4 : i64, data_axes = ["dp"]},
  uls.gradient_dtype = f32} {
  dist.mesh @mesh <["dp"=2, "tp"=2]>
  uls.param @x : tensor<4x8x6xf32> axes ["a", "b", "c"] init <normal, 1.0> sharding <@mesh, [{"dp"}, {"tp"}, {}]> {frozen}
  uls.param @w : tensor<48xf32> axes ["a"] init <normal, 1.0> sharding <@mesh, [{}]> {frozen}
  // The sum of a value's elements, each with a weight of its own.
  uls.block @weigh.fwd(%x: tensor<48xf32>, %w: tensor<48xf32>) -> (tensor<f32>) {
    %0 = uls.mul %x, %w : tensor<48xf32>, tensor<48xf32>
    %1 = uls.reduce sum %0 dims [0] : tensor<48xf32> -> tensor<f32>
    uls.yield %1 : tensor<f32>
  }
  uls.block @exchange.fwd(%x: tensor<2x4x6xf32>) -> (tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>) {
    %inner = dist.all_to_all %x split [2] concat [1] over @mesh ["tp"] : (tensor<2x4x6xf32>) -> tensor<2x8x3xf32>
    %outer = dist.all_to_all %x split [1] concat [0] over @mesh ["dp"] : (tensor<2x4x6xf32>) -> tensor<4x2x6xf32>
    %y = uls.exp %x : tensor<2x4x6xf32>
    %both:2 = dist.all_to_all %x, %y split [1, 1] concat [2, 0] over @mesh ["dp", "tp"] : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> (tensor<2x1x24xf32>, tensor<8x1x6xf32>)
    %swap = dist.permute %x pairs [0, 1, 1, 0] over @mesh ["tp"] : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %ring = dist.permute %y pairs [0, 2, 2, 3, 3, 1, 1, 0] over @mesh ["dp", "tp"] : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %0 = uls.reshape %inner : tensor<2x8x3xf32> -> tensor<48xf32>
    %1 = uls.reshape %outer : tensor<4x2x6xf32> -> tensor<48xf32>
    %2 = uls.reshape %both#0 : tensor<2x1x24xf32> -> tensor<48xf32>
    %3 = uls.reshape %both#1 : tensor<8x1x6xf32> -> tensor<48xf32>
    %4 = uls.reshape %swap : tensor<2x4x6xf32> -> tensor<48xf32>
    %5 = uls.reshape %ring : tensor<2x4x6xf32> -> tensor<48xf32>
    uls.yield %0, %1, %2, %3, %4, %5 : tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>
  }
  // Half of the elements are the maximum: the first of each group alone has the cotangent.
  uls.block @maxima.fwd(%x: tensor<2x4x6xf32>, %w: tensor<48xf32>) -> (tensor<48xf32>, tensor<48xf32>, tensor<48xf32>) {
    %zero = uls.constant dense<0.0> : tensor<f32>
    %t = uls.minimum %x, %zero : tensor<2x4x6xf32>, tensor<f32>
    %m0 = uls.reduce max %t dims [0, 2] : tensor<2x4x6xf32> -> tensor<4xf32>
    %c0 = uls.slice %w dim 0 offset 3 : tensor<48xf32> -> tensor<4xf32>
    %g0 = uls.reduce_max_grad %t, %m0, %c0 dims [0, 2] : tensor<2x4x6xf32>, tensor<4xf32>
    %m1 = uls.reduce max %t dims [2] : tensor<2x4x6xf32> -> tensor<2x4xf32>
    %c1 = uls.slice %w dim 0 offset 8 : tensor<48xf32> -> tensor<8xf32>
    %d1 = uls.reshape %c1 : tensor<8xf32> -> tensor<2x4xf32>
    %g1 = uls.reduce_max_grad %t, %m1, %d1 dims [2] : tensor<2x4x6xf32>, tensor<2x4xf32>
    %m2 = uls.reduce max %x dims [0, 1, 2] : tensor<2x4x6xf32> -> tensor<f32>
    %c2 = uls.constant dense<3.0> : tensor<f32>
    %g2 = uls.reduce_max_grad %x, %m2, %c2 dims [0, 1, 2] : tensor<2x4x6xf32>, tensor<f32>
    %0 = uls.reshape %g0 : tensor<2x4x6xf32> -> tensor<48xf32>
    %1 = uls.reshape %g1 : tensor<2x4x6xf32> -> tensor<48xf32>
    %2 = uls.reshape %g2 : tensor<2x4x6xf32> -> tensor<48xf32>
    uls.yield %0, %1, %2 : tensor<48xf32>, tensor<48xf32>, tensor<48xf32>
  }
  uls.step @step(%tokens: tensor<1x2x4xi32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}, {}]>},
                 %targets: tensor<1x2x4xi32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}, {}]>}) {
    %x = uls.materialize @x : tensor<2x4x6xf32>
    %w = uls.materialize @w : tensor<48xf32>
    %e:6 = uls.call @exchange.fwd(%x) : (tensor<2x4x6xf32>) -> (tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<48xf32>)
    %e0 = uls.call @weigh.fwd(%e#0, %w) : (tensor<48xf32>, tensor<48xf32>) -> tensor<f32>
    %e1 = uls.call @weigh.fwd(%e#1, %w) : (tensor<48xf32>, tensor<48xf32>) -> tensor<f32>
    %e2 = uls.call @weigh.fwd(%e#2, %w) : (tensor<48xf32>, tensor<48xf32>) -> tensor<f32>
    %e3 = uls.call @weigh.fwd(%e#3, %w) : (tensor<48xf32>, tensor<48xf32>) -> tensor<f32>
    %e4 = uls.call @weigh.fwd(%e#4, %w) : (tensor<48xf32>, tensor<48xf32>) -> tensor<f32>
    %e5 = uls.call @weigh.fwd(%e#5, %w) : (tensor<48xf32>, tensor<48xf32>) -> tensor<f32>
    %m:3 = uls.call @maxima.fwd(%x, %w) : (tensor<2x4x6xf32>, tensor<48xf32>) -> (tensor<48xf32>, tensor<48xf32>, tensor<48xf32>)
    %m0 = uls.call @weigh.fwd(%m#0, %w) : (tensor<48xf32>, tensor<48xf32>) -> tensor<f32>
    %m1 = uls.call @weigh.fwd(%m#1, %w) : (tensor<48xf32>, tensor<48xf32>) -> tensor<f32>
    %m2 = uls.call @weigh.fwd(%m#2, %w) : (tensor<48xf32>, tensor<48xf32>) -> tensor<f32>
    %p = dist.axis_index @mesh ["dp", "tp"] : tensor<i64>
    %q = uls.convert %p : tensor<i64> -> tensor<f32>
    %one = uls.constant dense<1.0> : tensor<f32>
    %rank = uls.add %q, %one : tensor<f32>, tensor<f32>
    %n0 = uls.mul %m0, %rank : tensor<f32>, tensor<f32>
    %n1 = uls.mul %m1, %rank : tensor<f32>, tensor<f32>
    %n2 = uls.mul %m2, %rank : tensor<f32>, tensor<f32>
    %e01 = uls.sub %e0, %e1 : tensor<f32>, tensor<f32>
    %e23 = uls.mul %e2, %e3 : tensor<f32>, tensor<f32>
    %e45 = uls.mul %e4, %e5 : tensor<f32>, tensor<f32>
    %f0 = uls.mul %e01, %rank : tensor<f32>, tensor<f32>
    %f1 = uls.mul %e23, %rank : tensor<f32>, tensor<f32>
    %f2 = uls.mul %e45, %rank : tensor<f32>, tensor<f32>
    %f3 = uls.add %f0, %f1 : tensor<f32>, tensor<f32>
    %f = uls.add %f3, %f2 : tensor<f32>, tensor<f32>
    %n3 = uls.add %n0, %n1 : tensor<f32>, tensor<f32>
    %n = uls.add %n3, %n2 : tensor<f32>, tensor<f32>
    %sums:2 = dist.all_reduce sum %f, %n over @mesh ["dp", "tp"] : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    uls.report "loss" %sums#0 : tensor<f32>
    uls.report "grad_norm" %sums#1 : tensor<f32>
    uls.report "valid_count" %one : tensor<f32>
    %stop = uls.constant dense<0.0> : tensor<f32>
    uls.report "stop_count" %stop : tensor<f32>
    uls.yield
  }
})";

MLIRContext &getContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerAllDialects(registry);
    auto *made = new MLIRContext(registry);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

/// What a step reports.
struct Reported {
  double loss = 0, gradNorm = 0;
};

Reported interpret() {
  auto module = parseSourceString<ModuleOp>(kStep, &getContext());
  auto interpreter = interpreter::Interpreter::create(*module);
  interpreter::Tensor tokens = interpreter::Tensor::zeros({1, 4, 4}, /*isFloat=*/false);
  auto result = interpreter->runStep(tokens, tokens);
  EXPECT_TRUE(succeeded(result));
  return succeeded(result) ? Reported{result->loss, result->gradNorm} : Reported{};
}

/// Compiles the step, with collectives under way or waited for at once, and runs it on four ranks.
Reported runProgram(bool overlaps) {
  auto module = parseSourceString<ModuleOp>(kStep, &getContext());
  PassManager passes(&getContext());
  if (overlaps)
    passes.addPass(createOverlapCollectivesPass());
  buildLowerPipeline(passes, {});
  buildCpuPipeline(passes);
  EXPECT_TRUE(module && succeeded(passes.run(*module)));
  std::string directory =
      testing::TempDir() + "ulsc-local-step-" + (overlaps ? "overlap" : "plain");
  std::string program = directory + "/program", metrics = directory + "/m.jsonl";
  EXPECT_EQ(std::system(("rm -rf " + directory + " && mkdir -p " + directory).c_str()), 0);
  EXPECT_TRUE(succeeded(emitCpuObject(*module, {}, program + ".o")));
  EXPECT_TRUE(succeeded(linkProgram(module->getLoc(), {program + ".o"}, "cpu", program, "")));
  std::ofstream(directory + "/tokens.bin") << std::string(256, '\0');
  std::string command = "mpirun --oversubscribe -np 4 " + program + " --data " + directory +
                        "/tokens.bin --steps 1 --seed 0 --threads 1 --metrics " + metrics;
  EXPECT_EQ(std::system((command + " > " + directory + "/log 2>&1").c_str()), 0)
      << std::ifstream(directory + "/log").rdbuf();
  std::ifstream lines(metrics);
  for (std::string line; std::getline(lines, line);)
    if (auto step = nlohmann::json::parse(line); step.contains("loss"))
      return {step["loss"], step["grad_norm"]};
  ADD_FAILURE() << "no step in " << metrics;
  return {};
}

TEST(LocalStep, ReportsWhatTheInterpreterDoes) {
  Reported expected = interpret();
  EXPECT_GT(std::abs(expected.loss), 1e-2);
  EXPECT_GT(std::abs(expected.gradNorm), 1e-2);
  for (bool overlaps : {false, true}) {
    Reported actual = runProgram(overlaps);
    EXPECT_NEAR(actual.loss, expected.loss, 1e-4 * std::abs(expected.loss)) << overlaps;
    EXPECT_NEAR(actual.gradNorm, expected.gradNorm, 1e-4 * std::abs(expected.gradNorm)) << overlaps;
  }
}

} // namespace
