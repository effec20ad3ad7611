//===- ReadProgramTest.cpp - Steps as flat lists ----------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "test/unit/DialectContext.h"
#include "ulsc/Timeline/Timeline.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::timeline;

namespace {

/// The program of a module, or the error.
FailureOr<Program> read(StringRef text, std::string *error = nullptr) {
  MLIRContext &context = test::getContext();
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  if (!module)
    return failure();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (error)
      *error = diagnostic.str();
    return success();
  });
  return readProgram(*module, cost::Cluster::getDefault());
}

std::vector<int64_t> getMicrobatches(const Program &program) {
  std::vector<int64_t> found;
  for (const Action &action : program.ranks[0].actions)
    if (action.type == Action::Type::BeginCall)
      found.push_back(action.label.microbatch);
  return found;
}

// A loop and a microbatch behind it, whose gradient is reduced.
constexpr StringLiteral kLoop = R"mlir(
  dist.mesh @mesh <["dp"=2]>
  uls.block @b.fwd(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
    %0 = uls.add %x, %x : tensor<4xf32>, tensor<4xf32>
    %1 = uls.constant dense<1.0> : tensor<8xf32>
    uls.yield %0, %1 : tensor<4xf32>, tensor<8xf32>
  }
  uls.block @b.bwd(%saved: tensor<8xf32>) -> tensor<8xf32> {
    %0 = uls.mul %saved, %saved : tensor<8xf32>, tensor<8xf32>
    uls.yield %0 : tensor<8xf32>
  }
  uls.step @step(%tokens: tensor<3x4xf32>) {
    %zero = uls.constant dense<0.0> : tensor<8xf32>
    %sum = uls.microbatches 2 iter(%zero) : (tensor<8xf32>) -> (tensor<8xf32>) {
    ^bb0(%m: i64, %acc: tensor<8xf32>):
      %x = uls.microbatch %tokens at %m : tensor<3x4xf32> -> tensor<4xf32>
      %y:2 = uls.call @b.fwd(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>)
      %dw = uls.call @b.bwd(%y#1) : (tensor<8xf32>) -> tensor<8xf32>
      %next = uls.accumulate %acc, %dw : tensor<8xf32>, tensor<8xf32>
      uls.yield %next : tensor<8xf32>
    }
    %two = arith.constant 2 : i64
    %x = uls.microbatch %tokens at %two : tensor<3x4xf32> -> tensor<4xf32>
    %y:2 = uls.call @b.fwd(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>)
    %dw = uls.call @b.bwd(%y#1) : (tensor<8xf32>) -> tensor<8xf32>
    %last = uls.accumulate %sum, %dw : tensor<8xf32>, tensor<8xf32>
    %h = dist.start {
      %r = dist.all_reduce sum %last over @mesh ["dp"] : (tensor<8xf32>) -> tensor<8xf32>
      dist.yield %r : tensor<8xf32>
    } : <tensor<8xf32>>
    %reduced = dist.wait %h : <tensor<8xf32>> -> tensor<8xf32>
    %norm = uls.square_sum %reduced : tensor<8xf32> -> tensor<f32>
    uls.report "grad_norm" %norm : tensor<f32>
    uls.yield
  }
)mlir";

TEST(ReadProgram, FollowsLoops) {
  FailureOr<Program> program = read(kLoop);
  ASSERT_TRUE(succeeded(program));
  EXPECT_EQ(getMicrobatches(*program), (std::vector<int64_t>{0, 0, 1, 1, 2, 2}));
  const RankProgram &rank = program->ranks[0];
  EXPECT_EQ(rank.stage, -1);
  EXPECT_EQ(rank.lanes, std::vector<std::string>{"dp"});
  ASSERT_EQ(rank.communications.size(), 1u);
  EXPECT_EQ(rank.communications[0].label.bytes, 32);
  EXPECT_FALSE(rank.communications[0].joinsStages);
}

TEST(ReadProgram, GradientsAreSummedInPlace) {
  FailureOr<Program> program = read(kLoop);
  ASSERT_TRUE(succeeded(program));
  int64_t gradients = 0;
  size_t last = 0;
  for (const Allocation &allocation : program->ranks[0].allocations)
    if (allocation.category == Category::Gradients) {
      gradients += allocation.bytes;
      last = allocation.last;
    }
  EXPECT_EQ(gradients, 32);
  // The reduced gradient takes the place of the sum until the norm.
  const std::vector<Action> &actions = program->ranks[0].actions;
  EXPECT_EQ(actions[last].type, Action::Type::Compute);
  EXPECT_EQ(last + 1, actions.size());
}

TEST(ReadProgram, NeedsAScheduledModule) {
  std::string error;
  EXPECT_TRUE(failed(read("module {}", &error)));
  EXPECT_EQ(error, "has no uls.step, so there is no timeline; a timeline is of a module of the "
                   "stage scheduled");
  EXPECT_TRUE(failed(read(R"mlir(
    dist.mesh @mesh <["pp"=2]>
    uls.step @step.0(%x: tensor<4xf32>) attributes {dist.stage = 0 : i64} {
      %h = dist.start {
        dist.send %x to 1 over @mesh ["pp"] : tensor<4xf32>
        dist.yield
      } : <>
      dist.wait %h : <>
      uls.yield
    })mlir",
                          &error)));
  EXPECT_NE(error.find("has stage 1 on its other side, which has no step"), std::string::npos)
      << error;
}

} // namespace
