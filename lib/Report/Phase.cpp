//===- Phase.cpp - What a collective is part of -----------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Report.h"

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "lib/Report/Parts.h"
#include "ulsc/Recompute.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::report;

/// Whether a value of the step comes from the backward part of a block: a gradient, reduced or not.
static bool isGradient(Value value, llvm::DenseSet<Value> &seen) {
  auto result = llvm::dyn_cast<OpResult>(value);
  if (!result || !seen.insert(value).second)
    return false;
  Operation *op = result.getOwner();
  if (auto call = llvm::dyn_cast<uls::CallOp>(op))
    return isBackwardPart(call.getCallee());
  if (llvm::isa<uls::BackwardOp>(op))
    return true;
  if (auto loop = llvm::dyn_cast<uls::MicrobatchesOp>(op))
    return isGradient(loop.getBody().front().getTerminator()->getOperand(result.getResultNumber()),
                      seen);
  if (auto wait = llvm::dyn_cast<dist::WaitOp>(op))
    if (auto start = wait.getHandle().getDefiningOp<dist::StartOp>())
      op = start.getCollective();
  return llvm::any_of(op->getOperands(), [&](Value operand) { return isGradient(operand, seen); });
}

/// Whether a block is a forward part that is called again for the backward part: `@b.again` or a
/// variant.
static bool isRepeatedPart(StringRef name) {
  return name.ends_with(".again") || name.contains(".again.");
}

namespace {
/// Who uses a gathered value in a step, whatever lies between.
struct GatherUses {
  bool forward = false, backward = false, stored = false;
  llvm::DenseSet<Value> seen;

  void add(ValueRange values) {
    for (Value value : values)
      if (seen.insert(value).second)
        for (Operation *user : value.getUsers())
          add(user);
  }
  void add(Operation *user) {
    if (auto call = llvm::dyn_cast<uls::CallOp>(user))
      (isBackwardPart(call.getCallee()) || isRepeatedPart(call.getCallee()) ? backward : forward) =
          true;
    else if (llvm::isa<uls::AssignOp, exec::PutOp>(user))
      stored = true;
    else if (auto start = llvm::dyn_cast<dist::StartOp>(user->getParentOp()))
      add(llvm::cast<dist::WaitOp>(*start.getHandle().user_begin()).getResults());
    else
      add(user->getResults());
  }
};
} // namespace

/// A gather of parameters belongs to the first part that uses it, one of new parameters to the
/// step.
static StringRef getPhaseOfGather(dist::CollectiveOpInterface gather) {
  GatherUses uses;
  uses.add(gather.getOutputs());
  if (uses.forward || !(uses.stored || uses.backward))
    return "forward";
  return uses.stored ? "step" : "backward";
}

static StringRef getPhaseInBlock(uls::BlockOp block, Operation *op) {
  if (uls::ResultOp middle = block.getResultOp()) {
    Operation *ancestor = block.getEntry().findAncestorOpInBlock(*op);
    return ancestor->isBeforeInBlock(middle) ? "forward" : "backward";
  }
  if (isRepeatedPart(block.getName()) || op->hasAttr(kRepeatedAttr))
    return "recompute";
  return isBackwardPart(block.getName()) ? "backward" : "forward";
}

StringRef ulsc::report::getPhase(dist::CollectiveOpInterface collective) {
  if (auto block = collective->getParentOfType<uls::BlockOp>())
    return getPhaseInBlock(block, collective);
  if (!collective->getParentOfType<uls::StepOp>())
    return "forward";
  // Numbers about the whole step: counts, the loss, norms, flags.
  if (collective.isScalar())
    return "step";
  if (llvm::isa<dist::AllGatherOp>(*collective))
    return getPhaseOfGather(collective);
  // What another stage sends is for a forward part, or a gradient.
  if (llvm::isa<dist::ReceiveOp>(*collective)) {
    GatherUses uses;
    uses.add(collective.getOutputs());
    return uses.forward ? "forward" : "backward";
  }
  llvm::DenseSet<Value> seen;
  bool isOfGradients =
      llvm::any_of(collective.getInputs(), [&](Value input) { return isGradient(input, seen); });
  return isOfGradients ? "backward" : "forward";
}
