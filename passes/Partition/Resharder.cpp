//===- Resharder.cpp - Turns layouts into other layouts
//-------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Partition/Resharder.h"

#include "dialects/Uls/Uls.h"

#include "dialects/Dist/CompleteReduction.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::shard;

/// "contraction of mlp, sharded by …" for reductions, "lm_head: needs whole what rule seq→tp
/// (strategy sp) shards" for movements.
StringAttr Resharder::describe(const ReshardStep &step, const ReshardCause &cause) const {
  bool isReduction = step.kind == ReshardStep::AllReduce || step.kind == ReshardStep::ReduceScatter;
  DictionaryAttr reasons = isReduction ? cause.sums : cause.origins;
  llvm::SmallSetVector<StringRef, 2> texts;
  for (uint8_t axis : step.axes)
    if (reasons)
      if (auto text = reasons.getAs<StringAttr>(mesh.getAxisName(axis)))
        texts.insert(text.getValue());
  auto make = [&](const Twine &text) { return StringAttr::get(mesh.attr.getContext(), text); };
  if (!isReduction && !cause.text.empty())
    return make(cause.text);
  if (isReduction)
    return make(texts.empty() ? cause.user + ": a sum over ranks" : llvm::join(texts, "; "));
  // The annotation; by which ops it came is in the value's origins.
  llvm::SmallSetVector<StringRef, 2> annotations;
  for (StringRef text : texts)
    annotations.insert(text.split(", by ").first);
  std::string how = step.kind == ReshardStep::AllGather ? "needs whole" : "needs in another layout";
  return make(cause.user + ": " + how + " what " +
              (annotations.empty() ? "is sharded" : llvm::join(annotations, " and ") + " shards"));
}

/// The elements of a rank's block in one dimension, padded so that they split evenly over `axes`.
Value Resharder::flatten(OpBuilder &builder, Value value, ArrayRef<uint8_t> axes) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  int64_t elements = type.getNumElements(), ranks = mesh.getSize(axes);
  int64_t padded = llvm::alignTo(elements, ranks);
  auto makeType = [&](int64_t size) { return RankedTensorType::get(size, type.getElementType()); };
  if (type.getRank() != 1)
    value = uls::ReshapeOp::create(builder, value.getLoc(), makeType(elements), value);
  if (padded != elements)
    value = uls::PadOp::create(builder, value.getLoc(), makeType(padded), value, /*dim=*/0,
                               /*low=*/0);
  return value;
}

/// The reverse.
Value Resharder::unflatten(OpBuilder &builder, Value value, RankedTensorType type) {
  auto flat = RankedTensorType::get(type.getNumElements(), type.getElementType());
  if (value.getType() != flat)
    value = uls::SliceOp::create(builder, value.getLoc(), flat, value, /*dim=*/0, /*offset=*/0);
  if (type != flat)
    value = uls::ReshapeOp::create(builder, value.getLoc(), type, value);
  return value;
}

Value Resharder::emitFlat(OpBuilder &builder, Location loc, Value value, const ReshardStep &step,
                          RankedTensorType type, ArrayAttr axes, StringAttr cause) {
  StringRef meshName = mesh.name.getValue();
  auto local = llvm::cast<RankedTensorType>(mesh.getLocalType(step.after, type));
  if (step.kind == ReshardStep::AllGather) {
    auto chunk = llvm::cast<RankedTensorType>(value.getType());
    auto whole = RankedTensorType::get(chunk.getDimSize(0) * mesh.getSize(step.axes),
                                       chunk.getElementType());
    Value gathered = dist::AllGatherOp::create(builder, loc, SmallVector<Type>{whole}, value,
                                               meshName, axes, ArrayRef<int64_t>{0}, cause)
                         .getOutputs()[0];
    return unflatten(builder, gathered, local);
  }
  Value flat = flatten(builder, value, step.axes);
  if (step.kind == ReshardStep::ReduceScatter)
    return dist::ReduceScatterOp::create(builder, loc, SmallVector<Type>{local}, step.reduction,
                                         flat, meshName, axes, ArrayRef<int64_t>{0}, cause)
        .getOutputs()[0];
  return dist::LocalSliceOp::create(builder, loc, local, flat, 0, meshName, axes);
}

Value Resharder::emit(OpBuilder &builder, Value value, const ReshardStep &step,
                      const Layout &before, RankedTensorType type, const ReshardCause &cause) {
  Location loc = cause.place ? Location(cause.place) : value.getLoc();
  SmallVector<Type> results{mesh.getLocalType(step.after, type)};
  SmallVector<Attribute> names;
  for (StringAttr name : mesh.getNames(step.axes))
    names.push_back(name);
  ArrayAttr axes = builder.getArrayAttr(names);
  StringRef meshName = mesh.name.getValue();
  StringAttr text = describe(step, cause);
  if (step.isFlat)
    return emitFlat(builder, loc, value, step, type, axes, text);
  switch (step.kind) {
  case ReshardStep::AllReduce: {
    auto reduce = dist::AllReduceOp::create(builder, loc, results, step.reduction, value, meshName,
                                            axes, text);
    if (type.getRank() == 0 && !step.after.sum && !step.after.max)
      reduce->setAttr(dist::kCompleteAttrName, builder.getUnitAttr());
    return reduce.getOutputs()[0];
  }
  case ReshardStep::ReduceScatter:
    return dist::ReduceScatterOp::create(builder, loc, results, step.reduction, value, meshName,
                                         axes, ArrayRef<int64_t>{step.dim}, text)
        .getOutputs()[0];
  case ReshardStep::AllGather:
    return dist::AllGatherOp::create(builder, loc, results, value, meshName, axes,
                                     ArrayRef<int64_t>{step.dim}, text)
        .getOutputs()[0];
  case ReshardStep::AllToAll:
    return dist::AllToAllOp::create(builder, loc, results, value, meshName, axes,
                                    ArrayRef<int64_t>{step.splitDim}, ArrayRef<int64_t>{step.dim},
                                    text)
        .getOutputs()[0];
  case ReshardStep::Permute:
    return dist::PermuteOp::create(builder, loc, results, value, meshName, axes,
                                   getPermutation(before, step.after, step.axes, mesh), text)
        .getOutputs()[0];
  case ReshardStep::LocalSlice:
    return dist::LocalSliceOp::create(builder, loc, results[0], value, step.dim, meshName, axes);
  }
  llvm_unreachable("unknown step");
}

const ReshardPlan &Resharder::getPlan(const Layout &from, const Layout &to, RankedTensorType type) {
  std::deque<KnownPlan> &alike = plans[type];
  for (const KnownPlan &known : alike)
    if (known.from == from && known.to == to)
      return known.plan;
  return alike.emplace_back(KnownPlan{from, to, planReshard(from, to, type, mesh, cost)}).plan;
}

LocalValue Resharder::reshard(OpBuilder &builder, LocalValue from, const Layout &to,
                              RankedTensorType type, const ReshardCause &cause) {
  // Priorities are the wanted ones, whatever layout with others is there.
  if (from.layout == to)
    return {from.value, to};
  for (const LocalValue &candidate : known[from.value])
    if (candidate.layout == to)
      return {candidate.value, to};
  OpBuilder::InsertionGuard guard(builder);
  if (from.value.getParentBlock() != builder.getInsertionBlock())
    builder.setInsertionPointAfterValue(from.value);
  const ReshardPlan &plan = getPlan(from.layout, to, type);
  Value value = from.value;
  Layout before = from.layout;
  for (const ReshardStep &step : plan.steps) {
    value = emit(builder, value, step, before, type, cause);
    before = step.after;
  }
  LocalValue result{value, to};
  known[from.value].push_back(result);
  return result;
}
