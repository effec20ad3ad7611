//===- KernelPlanTest.cpp - Questions about kernels -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/KernelPlan.h"
#include "KernelTexts.h"
#include "dialects/Exec/ExecOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

namespace {
struct Parsed {
  explicit Parsed(const std::string &text) {
    context.loadDialect<arith::ArithDialect, linalg::LinalgDialect, math::MathDialect,
                        tensor::TensorDialect, exec::ExecDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    kernel = *module->getOps<exec::KernelOp>().begin();
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  exec::KernelOp kernel;
};
} // namespace

TEST(KernelPlan, SoftmaxHasThreeLoopsAndKeepsTheExponential) {
  Parsed parsed(softmax(8, 100));
  KernelPlan plan(parsed.kernel);
  ASSERT_EQ(plan.groups.size(), 3u);
  EXPECT_EQ(plan.groups[1].kept.size(), 1u);
  EXPECT_EQ(plan.extent, 8);
}

TEST(KernelPlan, LongRowsAreComputedAgain) {
  Parsed parsed(softmax(8, 50257));
  EXPECT_TRUE(KernelPlan(parsed.kernel).groups[1].kept.empty());
}

TEST(KernelPlan, ElementwiseKernelsAreFlat) {
  Parsed parsed(bf16Add(5000));
  KernelPlan plan(parsed.kernel);
  EXPECT_TRUE(plan.flat);
  EXPECT_EQ(plan.extent, 5000);
}

TEST(MayWriteInPlace, NeedsTheSameElements) {
  Parsed softmaxKernel(softmax(8, 100)), gelu(biasGelu(8, 100)), permute(transpose(8, 8, 8));
  EXPECT_TRUE(mayWriteInPlace(softmaxKernel.kernel, 0, 0));
  EXPECT_TRUE(mayWriteInPlace(gelu.kernel, 0, 0));
  EXPECT_FALSE(mayWriteInPlace(gelu.kernel, 1, 0));
  EXPECT_FALSE(mayWriteInPlace(permute.kernel, 0, 0));
}

TEST(MayWriteInPlace, RefusesInputsThatALaterLoopReads) {
  // The first output is written in the loop of the sum, the second reads the input again after it.
  Parsed parsed(R"(
    #id = affine_map<(r, c) -> (r, c)>
    #row = affine_map<(r, c) -> (r)>
    exec.kernel private @k(%x: tensor<8x9xf32>) -> (tensor<8x9xf32>, tensor<8x9xf32>) attributes {row_dims = 1 : i64} {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<8x9xf32>
      %er = tensor.empty() : tensor<8xf32>
      %i = linalg.fill ins(%zero : f32) outs(%er : tensor<8xf32>) -> tensor<8xf32>
      %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<8x9xf32>) outs(%e : tensor<8x9xf32>) {
        ^bb0(%a: f32, %o: f32):
          %0 = arith.negf %a : f32
          linalg.yield %0 : f32
      } -> tensor<8x9xf32>
      %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<8x9xf32>) outs(%i : tensor<8xf32>) {
        ^bb0(%a: f32, %acc: f32):
          %0 = arith.addf %a, %acc : f32
          linalg.yield %0 : f32
      } -> tensor<8xf32>
      %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
          ins(%x, %s : tensor<8x9xf32>, tensor<8xf32>) outs(%e : tensor<8x9xf32>) {
        ^bb0(%a: f32, %b: f32, %o: f32):
          %0 = arith.subf %a, %b : f32
          linalg.yield %0 : f32
      } -> tensor<8x9xf32>
      exec.yield %n, %y : tensor<8x9xf32>, tensor<8x9xf32>
    })");
  EXPECT_FALSE(mayWriteInPlace(parsed.kernel, 0, 0));
  EXPECT_TRUE(mayWriteInPlace(parsed.kernel, 0, 1));
}
