//===- CollectiveFaultsTest.cpp - Faults of collectives between stages and inside them ------ ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "CompiledStages.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::test;

namespace {

/// A second collective behind the norm's, of all ranks of the pipeline and along dp.
void addMaximum(Program &program, int64_t stage) {
  CollectiveStartOp norm = program.getNorm(stage);
  CollectiveWaitOp wait = Program::getWait(norm);
  OpBuilder builder(wait);
  builder.setInsertionPointAfter(wait);
  auto groups = program.module->getOperation()->getAttrOfType<ArrayAttr>("exec.groups");
  SmallVector<Attribute> all(groups.begin(), groups.end());
  Attribute axes = builder.getStrArrayAttr({"pp", "dp"});
  auto *place = llvm::find(all, axes);
  uint64_t number = place - all.begin();
  if (place == all.end())
    all.push_back(axes);
  program.module->getOperation()->setAttr("exec.groups", builder.getArrayAttr(all));
  Value buffer = norm.getInputs()[0];
  auto start = CollectiveStartOp::create(
      builder, NameLoc::get(builder.getStringAttr("largest.gradient")),
      exec::CollectiveKindAttr::get(&getContext(), CollectiveKind::AllReduce),
      exec::ReductionAttr::get(&getContext(), exec::Reduction::Max), DenseI64ArrayAttr(),
      IntegerAttr(), builder.getI64IntegerAttr(number), norm.getIdentifierAttr(),
      builder.getI64IntegerAttr(40), ValueRange{buffer}, ValueRange{buffer});
  CollectiveWaitOp::create(builder, start.getLoc(), 40);
}

/// The program with a second collective between its stages: the norm's, then it.
struct TwoCollectives : Program {
  TwoCollectives() : Program("1f1b") {
    addMaximum(*this, 0);
    addMaximum(*this, 1);
    auto reductions = getStarts(1, CollectiveKind::AllReduce);
    maximum = reductions.back();
    norm = reductions[reductions.size() - 2];
  }
  CollectiveStartOp norm, maximum;
};

TEST(CollectiveFaults, TwoBetweenStagesAreAccepted) { EXPECT_EQ(TwoCollectives().prove(), ""); }

TEST(CollectiveFaults, OtherOrderOnOneStage) {
  TwoCollectives program;
  CollectiveWaitOp wait = Program::getWait(program.maximum);
  program.maximum->moveBefore(program.norm);
  wait->moveBefore(program.norm);
  expectRefused(program, {"stage 0 starts all_reduce sum over pp of f32, f32, f32 at ",
                          " as collective number 0 between stages, but stage 1 starts all_reduce "
                          "max over pp+dp of f32 at largest.gradient"});
}

TEST(CollectiveFaults, OtherOrderOfWaitsOnOneStage) {
  TwoCollectives program;
  program.maximum->moveAfter(program.norm);
  Program::getWait(program.maximum)->moveAfter(program.maximum);
  expectRefused(program, {"stage 0 waits for all_reduce sum over pp of f32, f32, f32 at ",
                          " where stage 1 waits for all_reduce max over pp+dp of f32 at "
                          "largest.gradient"});
}

TEST(CollectiveFaults, OneStageHasNone) {
  TwoCollectives program;
  Program::erase(program.maximum);
  expectRefused(program, {"stage 0 starts all_reduce max over pp+dp of f32 at largest.gradient as "
                          "collective number 1 between stages, stage 1 has no such collective"});
}

/// A collective between stages ahead of a transfer on one, behind it on the other: what is launched
/// in that order never starts.
TEST(CollectiveFaults, CollectiveAndTransferCross) {
  Program program("1f1b");
  CollectiveStartOp norm = program.getNorm(0);
  CollectiveStartOp receive = program.getStarts(0, CollectiveKind::Receive).back();
  CollectiveWaitOp wait = Program::getWait(norm);
  norm.setSlot(40);
  wait.setSlot(40);
  norm->moveBefore(receive);
  expectRefused(program,
                {"stages wait for each other: stage 0 waits until others start all_reduce "
                 "sum over pp of f32, f32, f32 at ",
                 "; stage 1 waits for its send to stage 0 of 4x8x16xf32 " + getOwner(receive)});
}

/// Tensor parallelism communicates inside the layers: a sum's wait behind the op that takes it.
TEST(CollectiveFaults, SumInsideALayerUsedBeforeItsWait) {
  Program program("1f1b", "\"pp\"=2, \"tp\"=2");
  CollectiveStartOp start;
  for (auto function : program.module->getOps<exec::FunctionOp>())
    if (function.getSymName() == "layer.fwd")
      start = *function.getBody().front().getOps<CollectiveStartOp>().begin();
  ASSERT_TRUE(start);
  CollectiveWaitOp wait = Program::getWait(start);
  Operation *user = wait->getNextNode();
  while (!llvm::is_contained(user->getOperands(), start->getOperand(0)))
    user = user->getNextNode();
  wait->moveAfter(user);
  expectRefused(program, {"stage 0: ", "chunk 0, microbatch 0 ",
                          " memory that all_reduce sum over tp of 8x8x16xf32 at ",
                          ", chunk 0, microbatch 0 writes until its wait"});
}

/// Gradients are summed along dp while the last calls compute; one of these adds to them.
TEST(CollectiveFaults, GradientWrittenWhileItIsSummed) {
  Program program("gpipe");
  CollectiveStartOp sum;
  for (CollectiveStartOp start : program.getStarts(1, CollectiveKind::AllReduce))
    if (start.getInputs().size() > 3)
      sum = start;
  ASSERT_TRUE(sum);
  Operation *writer = sum;
  while (!isa<exec::CallOp>(writer) ||
         !llvm::is_contained(writer->getOperands(), sum.getInputs()[0]))
    writer = writer->getPrevNode();
  sum->moveBefore(writer);
  expectRefused(program, {"stage 1: call @" + cast<exec::CallOp>(writer).getCallee().str(),
                          "chunk 1, microbatch ", " memory that all_reduce sum over dp of ",
                          " writes until its wait"});
}

TEST(CollectiveFaults, WaitInAnotherBlock) {
  Program program("1f1b", "\"pp\"=2, \"tp\"=2");
  for (auto function : program.module->getOps<exec::FunctionOp>())
    if (function.getSymName() == "layer.fwd") {
      auto start = *function.getBody().front().getOps<CollectiveStartOp>().begin();
      start.setSlot(40);
    }
  expectRefused(program, {"stage 0 waits for slot "});
}

} // namespace
