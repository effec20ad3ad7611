//===- MergeScalarReductions.cpp - Lets scalars share a collective
//---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Partition/Passes.h"

#include "dialects/Dist/CompleteReduction.h"
#include "dialects/Uls/Uls.h"

#include "llvm/ADT/STLExtras.h"

namespace ulsc {
#define GEN_PASS_DEF_MERGESCALARREDUCTIONSPASS
#include "passes/Partition/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using dist::AllReduceOp;

static bool isComplete(AllReduceOp op) { return op->hasAttr(dist::kCompleteAttrName); }

/// Whether two all-reduces can be one: over the same axes, or, where their results are the same on
/// all ranks, over those of both.
static bool agree(AllReduceOp a, AllReduceOp b) {
  return a.getReduction() == b.getReduction() && a.getMeshAttr() == b.getMeshAttr() &&
         a.getInputs()[0].getType() == b.getInputs()[0].getType() &&
         (a.getAxes() == b.getAxes() || (isComplete(a) && isComplete(b)));
}

/// The axes of both, in the mesh's order.
static ArrayAttr uniteAxes(AllReduceOp a, AllReduceOp b, dist::MeshAttr mesh) {
  if (a.getAxes() == b.getAxes())
    return a.getAxes();
  SmallVector<Attribute> axes;
  for (dist::MeshAxisAttr axis : mesh.getAxes()) {
    auto name = StringAttr::get(a.getContext(), axis.getName());
    if (llvm::is_contained(a.getAxes(), name) || llvm::is_contained(b.getAxes(), name))
      axes.push_back(name);
  }
  return ArrayAttr::get(a.getContext(), axes);
}

/// Appends `op`'s operands as a sum over `axes` takes them. Groups of ranks that differ along the
/// axes it lacks have the same sum: the first of them contributes, the others give zeros, which
/// changes no bit of the result.
static void appendOperands(OpBuilder &builder, AllReduceOp op, ArrayAttr axes,
                           SmallVectorImpl<Value> &operands) {
  SmallVector<Attribute> others;
  for (Attribute axis : axes)
    if (!llvm::is_contained(op.getAxes(), axis))
      others.push_back(axis);
  if (others.empty() || op.getReduction() == dist::Reduction::Max)
    return llvm::append_range(operands, op.getInputs());
  Location loc = op.getLoc();
  auto type = RankedTensorType::get({}, builder.getI64Type());
  Value position =
      dist::AxisIndexOp::create(builder, loc, type, op.getMesh(), builder.getArrayAttr(others));
  auto zero = DenseElementsAttr::get(type, builder.getI64IntegerAttr(0).getValue());
  Value first = uls::ConstantOp::create(builder, loc, type, zero);
  for (Value input : op.getInputs())
    operands.push_back(uls::MaskOp::create(builder, loc, input.getType(), uls::Comparison::Le,
                                           position, first, input));
}

/// Scalars need a square sum or a mask each; who needs more is no number about the step.
static constexpr size_t kMostHoisted = 64;

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
  auto isOfEarlier = [&](Value value) { return value.getDefiningOp() == earlier; };
  if (llvm::any_of(later.getInputs(), isOfEarlier))
    return false;
  llvm::for_each(later.getInputs(), push);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    // Reading a field of the control block is no effect that others see; everything else must be
    // pure.
    if (op->getNumRegions() != 0 || needed.size() > kMostHoisted ||
        !(llvm::isa<uls::ControlOp>(op) || isPure(op)))
      return false;
    llvm::for_each(op->getOperands(), push);
    if (llvm::any_of(op->getOperands(), isOfEarlier))
      return false;
  }
  llvm::sort(needed, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : needed)
    op->moveBefore(earlier);
  return true;
}

/// Puts `later`'s operands into `earlier`'s collective.
static AllReduceOp merge(AllReduceOp earlier, AllReduceOp later, dist::MeshAttr mesh) {
  OpBuilder builder(earlier);
  ArrayAttr axes = uniteAxes(earlier, later, mesh);
  SmallVector<Value> inputs;
  appendOperands(builder, earlier, axes, inputs);
  appendOperands(builder, later, axes, inputs);
  StringAttr cause = earlier.getCauseAttr();
  if (cause && later.getCauseAttr() && cause != later.getCauseAttr())
    cause = builder.getStringAttr(cause.getValue() + "; " + later.getCauseAttr().getValue());
  auto merged = AllReduceOp::create(builder, earlier.getLoc(), ValueRange(inputs).getTypes(),
                                    earlier.getReduction(), inputs, earlier.getMesh(), axes, cause);
  if (isComplete(earlier) && isComplete(later))
    merged->setAttr(dist::kCompleteAttrName, builder.getUnitAttr());
  unsigned count = earlier.getNumResults();
  earlier->replaceAllUsesWith(merged.getResults().take_front(count));
  later->replaceAllUsesWith(merged.getResults().drop_front(count));
  earlier.erase();
  later.erase();
  return merged;
}

/// Merges what can be of one block, from its end: each joins the nearest that it can, so that a
/// scalar which may travel anywhere (a stop flag) does not widen an earlier reduction.
static void mergeAll(ArrayRef<AllReduceOp> reductions, SymbolTable &symbols) {
  SmallVector<AllReduceOp> candidates(reductions);
  for (size_t i = candidates.size(); i-- > 0;)
    for (size_t j = i + 1; j < candidates.size(); ++j)
      if (candidates[j] && agree(candidates[i], candidates[j]) &&
          hoistOperands(candidates[j], candidates[i])) {
        auto mesh = symbols.lookup<dist::MeshOp>(candidates[i].getMesh());
        candidates[i] = merge(candidates[i], candidates[j], mesh.getMesh());
        candidates[j] = nullptr;
      }
}

namespace {
struct MergeScalarReductions : ulsc::impl::MergeScalarReductionsPassBase<MergeScalarReductions> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    getOperation().walk([&](Block *block) {
      SmallVector<AllReduceOp> candidates;
      for (auto op : block->getOps<AllReduceOp>())
        if (cast<dist::CollectiveOpInterface>(op.getOperation()).isScalar())
          candidates.push_back(op);
      mergeAll(candidates, symbols);
    });
    getOperation().walk([](AllReduceOp op) { op->removeAttr(dist::kCompleteAttrName); });
  }
};
} // namespace
