//===- ConvertGradientReductions.cpp - In which dtype gradients travel ------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Partition/Passes.h"

#include "dialects/Dist/Dist.h"
#include "dialects/Uls/Uls.h"

#include "llvm/ADT/SetVector.h"

namespace ulsc {
#define GEN_PASS_DEF_CONVERTGRADIENTREDUCTIONSPASS
#include "passes/Partition/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

namespace {
struct ConvertGradientReductions
    : ulsc::impl::ConvertGradientReductionsPassBase<ConvertGradientReductions> {
  using ConvertGradientReductionsPassBase::ConvertGradientReductionsPassBase;

  void runOnOperation() override;
};
} // namespace

/// What `value`, a result of `op`, is the same gradient as, before `op`; nothing where that is no
/// question of layout or sums.
static SmallVector<Value> getOrigins(Operation *op, OpResult value) {
  unsigned index = value.getResultNumber();
  if (auto loop = dyn_cast<uls::MicrobatchesOp>(op))
    return {loop.getBody().front().getTerminator()->getOperand(index)};
  if (auto accumulate = dyn_cast<uls::AccumulateOp>(op))
    return {accumulate.getAccumulator(), accumulate.getValue()};
  if (isa<dist::CollectiveOpInterface>(op))
    return {op->getOperand(index)};
  if (isa<uls::ReshapeOp, uls::PadOp, uls::SliceOp, uls::ConvertOp, dist::LocalSliceOp>(op))
    return {op->getOperand(0)};
  return {};
}

/// All sums over ranks between the backward parts and the updates.
static llvm::SetVector<Operation *> findReductions(uls::StepOp step) {
  SmallVector<Value> work;
  step.walk([&](uls::UpdateOp update) { llvm::append_range(work, update.getGradients()); });
  llvm::DenseSet<Value> seen(work.begin(), work.end());
  llvm::SetVector<Operation *> reductions;
  while (!work.empty()) {
    auto value = dyn_cast<OpResult>(work.pop_back_val());
    if (!value)
      continue;
    Operation *op = value.getOwner();
    auto reduction = op->getAttrOfType<dist::ReductionAttr>("reduction");
    if (isa<dist::AllReduceOp, dist::ReduceScatterOp>(op) && reduction &&
        reduction.getValue() == dist::Reduction::Sum)
      reductions.insert(op);
    for (Value origin : getOrigins(op, value))
      if (seen.insert(origin).second)
        work.push_back(origin);
  }
  return reductions;
}

static Value convert(OpBuilder &builder, Location loc, Value value, Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  return uls::ConvertOp::create(builder, loc, type.clone(element), value);
}

static void convertReduction(Operation *op, Type element) {
  OpBuilder builder(op);
  SmallVector<Type> kept;
  for (Value operand : op->getOperands())
    kept.push_back(getElementTypeOrSelf(operand.getType()));
  for (OpOperand &operand : op->getOpOperands())
    operand.set(convert(builder, op->getLoc(), operand.get(), element));
  builder.setInsertionPointAfter(op);
  for (auto [result, old] : llvm::zip_equal(op->getResults(), kept)) {
    result.setType(cast<RankedTensorType>(result.getType()).clone(element));
    Value back = convert(builder, op->getLoc(), result, old);
    if (back != result)
      result.replaceAllUsesExcept(back, back.getDefiningOp());
  }
}

void ConvertGradientReductions::runOnOperation() {
  if (dtype.empty())
    return;
  Builder builder(&getContext());
  if (dtype != "f32" && dtype != "bf16") {
    getOperation().emitError() << "reduce-dtype is \"" << dtype << "\", expected f32 or bf16";
    return signalPassFailure();
  }
  Type element = dtype == "bf16" ? Type(builder.getBF16Type()) : Type(builder.getF32Type());
  for (auto step : getOperation().getOps<uls::StepOp>())
    for (Operation *op : findReductions(step))
      convertReduction(op, element);
}
