//===- MergeScalarReductions.cpp - Lets scalars share a collective
//---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Partition/Passes.h"

#include "dialects/Uls/Uls.h"

#include "llvm/ADT/STLExtras.h"

namespace ulsc {
#define GEN_PASS_DEF_MERGESCALARREDUCTIONSPASS
#include "passes/Partition/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using dist::AllReduceOp;

/// Whether every operand of an all-reduce is a scalar.
static bool isScalar(AllReduceOp op) {
  return llvm::all_of(op.getInputs().getTypes(),
                      [](Type type) { return llvm::cast<RankedTensorType>(type).getRank() == 0; });
}

static bool agree(AllReduceOp a, AllReduceOp b) {
  return a.getReduction() == b.getReduction() && a.getAxes() == b.getAxes() &&
         a.getMeshAttr() == b.getMeshAttr() &&
         a.getInputs()[0].getType() == b.getInputs()[0].getType();
}

/// Moves the few ops behind `earlier` that `later`'s operands need before it; fails, moving
/// nothing, if they depend on `earlier` or have effects.
static bool hoistOperands(AllReduceOp later, AllReduceOp earlier) {
  SmallVector<Operation *> needed, work;
  auto push = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == earlier->getBlock() && earlier->isBeforeInBlock(op) &&
        !llvm::is_contained(needed, op)) {
      needed.push_back(op);
      work.push_back(op);
    }
  };
  llvm::for_each(later.getInputs(), push);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    // Reading a field of the control block is no effect that others see; everything else must be
    // pure.
    if (op->getNumRegions() != 0 || needed.size() > 8 ||
        !(llvm::isa<uls::ControlOp>(op) || isPure(op)))
      return false;
    llvm::for_each(op->getOperands(), push);
    if (llvm::any_of(op->getOperands(),
                     [&](Value value) { return value.getDefiningOp() == earlier; }))
      return false;
  }
  llvm::sort(needed, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : needed)
    op->moveBefore(earlier);
  return true;
}

/// Puts `later`'s operands into `earlier`'s collective.
static AllReduceOp merge(AllReduceOp earlier, AllReduceOp later) {
  SmallVector<Value> inputs(earlier.getInputs());
  llvm::append_range(inputs, later.getInputs());
  OpBuilder builder(earlier);
  StringAttr cause = earlier.getCauseAttr();
  if (cause && later.getCauseAttr() && cause != later.getCauseAttr())
    cause = builder.getStringAttr(cause.getValue() + "; " + later.getCauseAttr().getValue());
  auto merged = AllReduceOp::create(builder, earlier.getLoc(), ValueRange(inputs).getTypes(),
                                    earlier.getReduction(), inputs, earlier.getMesh(),
                                    earlier.getAxes(), cause);
  unsigned count = earlier.getNumResults();
  earlier->replaceAllUsesWith(merged.getResults().take_front(count));
  later->replaceAllUsesWith(merged.getResults().drop_front(count));
  earlier.erase();
  later.erase();
  return merged;
}

namespace {
struct MergeScalarReductions : ulsc::impl::MergeScalarReductionsPassBase<MergeScalarReductions> {
  void runOnOperation() override {
    getOperation().walk([](Block *block) {
      SmallVector<AllReduceOp> candidates;
      for (auto op : block->getOps<AllReduceOp>())
        if (isScalar(op))
          candidates.push_back(op);
      for (size_t i = 0; i < candidates.size(); ++i)
        for (size_t j = i + 1; candidates[i] && j < candidates.size(); ++j)
          if (candidates[j] && agree(candidates[i], candidates[j]) &&
              hoistOperands(candidates[j], candidates[i])) {
            candidates[i] = merge(candidates[i], candidates[j]);
            candidates[j] = nullptr;
          }
    });
  }
};
} // namespace
