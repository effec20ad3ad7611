//===- DeriveEvaluation.cpp - Makes a forward-only program
//---------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Train/ForwardActivity.h"
#include "passes/Train/Passes.h"
#include "passes/Train/StepBuilder.h"

#include "llvm/ADT/STLExtras.h"

namespace ulsc {
#define GEN_PASS_DEF_DERIVEEVALUATIONPASS
#include "passes/Train/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {
struct DeriveEvaluationPass : ulsc::impl::DeriveEvaluationPassBase<DeriveEvaluationPass> {
  void runOnOperation() override;
  void dropTraining();
  void mergeVariants(ForwardOp forward);
};
} // namespace

/// Cuts a joint block off after its forward part.
static void makePlain(BlockOp block) {
  if (!block.isJoint())
    return;
  ResultOp marker = block.getResultOp();
  OpBuilder builder(marker);
  auto yield = YieldOp::create(builder, block.getEntry().back().getLoc(), marker.getValues());
  marker.erase();
  while (&block.getEntry().back() != yield.getOperation())
    block.getEntry().back().erase();
  int64_t arguments = block.getNumPrimalArguments(), results = block.getNumPrimalResults();
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  block.getAllArgAttrs(argumentAttrs);
  block.getAllResultAttrs(resultAttrs);
  block.getEntry().eraseArguments(arguments, block.getEntry().getNumArguments() - arguments);
  block.setFunctionType(builder.getFunctionType(block.getArgumentTypes().take_front(arguments),
                                                block.getResultTypes().take_front(results)));
  block.setAllArgAttrs(ArrayRef(argumentAttrs).take_front(arguments));
  block.setAllResultAttrs(ArrayRef(resultAttrs).take_front(results));
  block.removePrimalArgumentsAttr();
  block.removePrimalResultsAttr();
  block.removeGradientsAttr();
  block.removeCotangentsAttr();
}

/// Dropout is of training only.
static void removeDropout(BlockOp block) {
  for (Operation &op : llvm::make_early_inc_range(block.getEntry())) {
    if (auto dropout = llvm::dyn_cast<DropoutOp>(op)) {
      dropout.getOutput().replaceAllUsesWith(dropout.getInput());
      dropout.erase();
    } else if (auto attention = llvm::dyn_cast<AttentionOp>(op)) {
      attention.removeDropoutKeyAttr();
      attention.removeDropoutRateAttr();
      attention.getCallContextMutable().clear();
    }
  }
}

void DeriveEvaluationPass::dropTraining() {
  for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
    if (llvm::isa<StepOp, UpdateRuleOp, StateOp>(op))
      op.erase();
  for (auto block : getOperation().getOps<BlockOp>()) {
    makePlain(block);
    removeDropout(block);
  }
}

/// Blocks that differed only in their gradients are one again.
void DeriveEvaluationPass::mergeVariants(ForwardOp forward) {
  llvm::StringMap<StringAttr> originals;
  SmallVector<BlockOp> distinct;
  for (auto block : llvm::make_early_inc_range(getOperation().getOps<BlockOp>())) {
    auto *same = llvm::find_if(distinct, [&](BlockOp other) {
      return other.getFunctionType() == block.getFunctionType() &&
             other.getArgAttrs() == block.getArgAttrs() &&
             OperationEquivalence::isRegionEquivalentTo(&other.getBody(), &block.getBody(),
                                                        OperationEquivalence::IgnoreLocations);
    });
    if (same == distinct.end()) {
      distinct.push_back(block);
      continue;
    }
    originals[block.getSymName()] = same->getSymNameAttr();
    block.erase();
  }
  for (auto call : forward.getEntry().getOps<CallOp>())
    if (StringAttr original = originals.lookup(call.getCallee()))
      call.setCallee(original);
}

void DeriveEvaluationPass::runOnOperation() {
  ForwardOp forward = getForward(getOperation());
  if (!forward)
    return signalPassFailure();
  StepBuilder step(forward);
  if (failed(step.check()))
    return signalPassFailure();
  dropTraining();
  mergeVariants(forward);

  step.open();
  MicrobatchesOp loop = step.openLoop(step.zero);
  for (Operation &op : forward.getEntry().without_terminator())
    if (!llvm::isa<MaterializeOp>(op))
      step.cloneForward(op);
  step.closeLoop(step.addLoss(loop.getBody().getArgument(1)));
  step.countTargets();
  step.reportLoss(loop.getResult(0));
  step.close();
}
