//===- UlsPartition.cpp - Local forms of ops that place themselves
//--------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

#include "dialects/Dist/CompleteReduction.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;
using dist::PartitionedValue;
using dist::PartitionState;
using dist::ShardingAttr;

/// The op itself on local operands, with local result types.
template <typename Op>
static Op cloneLocal(Op op, PartitionState &state, ValueRange operands) {
  auto local = llvm::cast<Op>(state.builder.clone(*op));
  local->setOperands(operands);
  for (auto [i, result] : llvm::enumerate(local->getResults()))
    if (auto type = llvm::dyn_cast<RankedTensorType>(state.resultTypes[i]))
      result.setType(state.resultShardings[i].getLocalType(state.mesh, type));
  return local;
}

/// Where a block of a value of global type `type` lies, or null when every rank has all of it.
static dist::ShardAttr placeOf(ShardingAttr sharding, Type type) {
  if (sharding.getShardingAxes().empty())
    return {};
  return dist::ShardAttr::get(type.getContext(), llvm::cast<RankedTensorType>(type).getShape(),
                              sharding.withoutPartials());
}

/// `sharding` with a pending sum over `axes`.
static ShardingAttr withSum(ShardingAttr sharding, ArrayRef<StringAttr> axes) {
  SmallVector<dist::PartialAttr> partials;
  if (!axes.empty())
    partials.push_back(dist::PartialAttr::get(sharding.getContext(), dist::Reduction::Sum, axes));
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), sharding.getDims(), {},
                           partials, sharding.getFlat());
}

static ArrayAttr axesAttr(Builder &builder, ArrayRef<StringAttr> axes) {
  return builder.getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end()));
}

static ValueRange allReduce(PartitionState &state, Location loc, dist::Reduction reduction,
                            ValueRange values, ArrayRef<StringAttr> axes, const Twine &cause) {
  return dist::AllReduceOp::create(state.builder, loc, values.getTypes(), reduction, values,
                                   state.meshName.getValue(), axesAttr(state.builder, axes),
                                   state.builder.getStringAttr(cause))
      .getOutputs();
}

//===---------------------------------------------------------------------------------------===//
// Values that depend on positions
//===---------------------------------------------------------------------------------------===//

LogicalResult DropoutOp::partition(PartitionState &state, ValueRange operands,
                                   SmallVectorImpl<PartitionedValue> &results) {
  DropoutOp local = cloneLocal(*this, state, operands);
  if (auto place = placeOf(state.resultShardings[0], state.resultTypes[0]))
    local.setShardAttr(place);
  results.push_back({local.getOutput(), state.resultShardings[0]});
  return success();
}

LogicalResult IotaOp::partition(PartitionState &state, ValueRange operands,
                                SmallVectorImpl<PartitionedValue> &results) {
  IotaOp local = cloneLocal(*this, state, operands);
  if (!state.resultShardings[0].getAxes(getDim()).empty())
    local.setShardAttr(placeOf(state.resultShardings[0], state.resultTypes[0]));
  results.push_back({local.getOutput(), state.resultShardings[0]});
  return success();
}

/// Attention and its adjoint: only dropped probabilities depend on where the queries lie.
template <typename Op>
static Op partitionAttention(Op op, PartitionState &state, ValueRange operands) {
  Op local = cloneLocal(op, state, operands);
  if (op.getDropoutKey())
    if (auto place = placeOf(state.operandShardings[0], state.operandTypes[0]))
      local.setShardAttr(place);
  return local;
}

LogicalResult AttentionOp::partition(PartitionState &state, ValueRange operands,
                                     SmallVectorImpl<PartitionedValue> &results) {
  AttentionOp local = partitionAttention(*this, state, operands);
  results.push_back({local.getOutput(), state.resultShardings[0]});
  results.push_back({local.getLse(), state.resultShardings[1]});
  return success();
}

LogicalResult AttentionGradOp::partition(PartitionState &state, ValueRange operands,
                                         SmallVectorImpl<PartitionedValue> &results) {
  AttentionGradOp local = partitionAttention(*this, state, operands);
  // Queries of other ranks contribute to the gradients of keys and values.
  SmallVector<StringAttr> summed;
  for (int64_t dim : {1, 3})
    llvm::append_range(summed, state.operandShardings[0].getAxes(dim));
  results.push_back({local.getQueryGrad(), state.resultShardings[0]});
  results.push_back({local.getKeyGrad(), withSum(state.resultShardings[1], summed)});
  results.push_back({local.getValueGrad(), withSum(state.resultShardings[2], summed)});
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Vocabulary-parallel lookup and loss
//===---------------------------------------------------------------------------------------===//

LogicalResult EmbeddingOp::partition(PartitionState &state, ValueRange operands,
                                     SmallVectorImpl<PartitionedValue> &results) {
  EmbeddingOp local = cloneLocal(*this, state, operands);
  ArrayRef<StringAttr> vocabulary = state.operandShardings[1].getAxes(0);
  if (!vocabulary.empty())
    local.setShardAttr(placeOf(state.operandShardings[1], state.operandTypes[1]));
  results.push_back({local.getOutput(), withSum(state.resultShardings[0], vocabulary)});
  return success();
}

LogicalResult EmbeddingGradOp::partition(PartitionState &state, ValueRange operands,
                                         SmallVectorImpl<PartitionedValue> &results) {
  EmbeddingGradOp local = cloneLocal(*this, state, operands);
  if (!state.resultShardings[0].getAxes(0).empty())
    local.setShardAttr(placeOf(state.resultShardings[0], state.resultTypes[0]));
  results.push_back({local.getOutput(), withSum(state.resultShardings[0],
                                                state.operandShardings[0].getShardingAxes())});
  return success();
}

/// "model.lm_head: row statistics of the loss, vocabulary sharded by rule vocab→tp".
static std::string describeStatistics(Operation *op, PartitionState &state,
                                      ArrayRef<StringAttr> axes) {
  SmallVector<StringRef> origins;
  for (StringAttr axis : axes) {
    auto origin =
        state.operandOrigins[0] ? state.operandOrigins[0].getAs<StringAttr>(axis) : StringAttr();
    // The annotation; how it came here is in the value's origins.
    origins.push_back(origin ? origin.getValue().split(", by ").first : axis.getValue());
  }
  return dist::describeLocation(op->getLoc()) +
         ": row statistics of the loss, vocabulary sharded by " + llvm::join(origins, ", ");
}

LogicalResult CrossEntropyOp::partition(PartitionState &state, ValueRange operands,
                                        SmallVectorImpl<PartitionedValue> &results) {
  ShardingAttr rows = state.resultShardings[0];
  ArrayRef<StringAttr> axes = state.operandShardings[0].getDims().back().getAxes();
  if (axes.empty()) {
    CrossEntropyOp local = cloneLocal(*this, state, operands);
    results.push_back({local.getLoss(), rows});
    results.push_back({local.getLse(), rows});
    return success();
  }
  OpBuilder &builder = state.builder;
  Value logits = operands[0], targets = operands[1];
  dist::ShardAttr place = placeOf(state.operandShardings[0], state.operandTypes[0]);
  Type type = rows.getLocalType(state.mesh, llvm::cast<RankedTensorType>(state.resultTypes[0]));
  std::string cause = describeStatistics(*this, state, axes);
  Value max =
      LogitsMaxOp::create(builder, getLoc(), type, logits, getVocabularyAttr(), place).getMax();
  max = allReduce(state, getLoc(), dist::Reduction::Max, {max}, axes, cause)[0];
  auto sums = LogitsSumsOp::create(builder, getLoc(), type, type, logits, targets, max,
                                   getVocabularyAttr(), place);
  // The sum of exponentials and the target's logit travel together.
  ValueRange reduced =
      allReduce(state, getLoc(), dist::Reduction::Sum, sums.getResults(), axes, cause);
  auto loss =
      LogitsLossOp::create(builder, getLoc(), type, type, max, reduced[0], reduced[1], targets);
  results.push_back({loss.getLoss(), rows});
  results.push_back({loss.getLse(), rows});
  return success();
}

LogicalResult CrossEntropyGradOp::partition(PartitionState &state, ValueRange operands,
                                            SmallVectorImpl<PartitionedValue> &results) {
  CrossEntropyGradOp local = cloneLocal(*this, state, operands);
  if (!state.operandShardings[0].getDims().back().getAxes().empty())
    local.setShardAttr(placeOf(state.operandShardings[0], state.operandTypes[0]));
  results.push_back({local.getOutput(), state.resultShardings[0]});
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Reductions over everything
//===---------------------------------------------------------------------------------------===//

LogicalResult SumRanksOp::partition(PartitionState &state, ValueRange operands,
                                    SmallVectorImpl<PartitionedValue> &results) {
  SmallVector<StringAttr> axes;
  if (std::optional<ArrayAttr> named = getAxes())
    llvm::append_range(axes, named->getAsRange<StringAttr>());
  else
    for (dist::MeshAxisAttr axis : state.mesh.getAxes())
      axes.push_back(StringAttr::get(getContext(), axis.getName()));
  results.push_back({operands[0], withSum(state.resultShardings[0], axes)});
  return success();
}

/// Gradients that are sharded over the same axes are summed together, so that each counts once and
/// every set of axes costs one scalar.
/// Squares of chunks are summed as those of blocks are; the padding of a chunk is zero.
bool GlobalNormOp::takesFlatOperands() { return true; }

LogicalResult GlobalNormOp::partition(PartitionState &state, ValueRange operands,
                                      SmallVectorImpl<PartitionedValue> &results) {
  OpBuilder &builder = state.builder;
  llvm::MapVector<ArrayAttr, SmallVector<Value>> groups;
  for (auto [operand, sharding] : llvm::zip_equal(operands, state.operandShardings)) {
    SmallVector<StringAttr> axes = sharding.getShardingAxes();
    llvm::sort(axes, [&](StringAttr a, StringAttr b) {
      return *state.mesh.getAxisPosition(a) < *state.mesh.getAxisPosition(b);
    });
    groups[axesAttr(builder, axes)].push_back(operand);
  }
  Type type = state.resultTypes[0];
  Value total;
  for (auto &[attr, gradients] : groups) {
    Value sum = SquareSumOp::create(builder, getLoc(), type, gradients);
    SmallVector<StringAttr> axes(attr.getAsRange<StringAttr>());
    if (!axes.empty()) {
      auto names = llvm::map_range(axes, [](StringAttr axis) { return axis.getValue(); });
      sum = allReduce(state, getLoc(), dist::Reduction::Sum, {sum}, axes,
                      "norm of the gradients that are sharded over " + llvm::join(names, ", "))[0];
      sum.getDefiningOp()->setAttr(dist::kCompleteAttrName, builder.getUnitAttr());
    }
    total = total ? AddOp::create(builder, getLoc(), total, sum).getResult() : sum;
  }
  if (!total)
    total = ConstantOp::create(
        builder, getLoc(), type,
        DenseElementsAttr::get(
            llvm::cast<ShapedType>(type),
            builder.getFloatAttr(llvm::cast<ShapedType>(type).getElementType(), 0.0)));
  Value norm = SqrtOp::create(builder, getLoc(), type, total);
  results.push_back({norm, state.resultShardings[0]});
  return success();
}
