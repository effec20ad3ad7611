//===- UlsModelVerifiers.cpp - Invariants of the named model ops
//---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ulsc::uls;

static RankedTensorType typeOf(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}
static ArrayRef<int64_t> shapeOf(Value value) { return typeOf(value).getShape(); }

/// `value` must have this shape; `what` names it in the message.
static LogicalResult expectShape(Operation *op, Value value, ArrayRef<int64_t> shape,
                                 StringRef what) {
  if (shapeOf(value) != shape) {
    InFlightDiagnostic diag = op->emitOpError()
                              << what << " is " << value.getType() << ", expected shape [";
    llvm::interleaveComma(shape, diag);
    return diag << "]";
  }
  return success();
}

static LogicalResult expectInteger(Operation *op, Value value, StringRef what) {
  if (!typeOf(value).getElementType().isInteger())
    return op->emitOpError() << what << " is " << value.getType() << ", expected integers";
  return success();
}

static LogicalResult expectRank(Operation *op, Value value, int64_t rank, StringRef what) {
  if (typeOf(value).getRank() != rank)
    return op->emitOpError() << what << " is " << value.getType() << ", expected rank " << rank;
  return success();
}

static SmallVector<int64_t> appended(ArrayRef<int64_t> shape, int64_t size) {
  SmallVector<int64_t> result(shape);
  result.push_back(size);
  return result;
}

LogicalResult EmbeddingOp::verify() {
  if (failed(expectInteger(*this, getIndices(), "indices")) ||
      failed(expectRank(*this, getTable(), 2, "table")))
    return failure();
  return expectShape(*this, getOutput(), appended(shapeOf(getIndices()), shapeOf(getTable())[1]),
                     "result");
}

LogicalResult EmbeddingGradOp::verify() {
  if (failed(expectInteger(*this, getIndices(), "indices")) ||
      failed(expectRank(*this, getOutput(), 2, "result")))
    return failure();
  return expectShape(*this, getCotangent(),
                     appended(shapeOf(getIndices()), shapeOf(getOutput())[1]), "cotangent");
}

/// Rows of the last dimension: the weight has its size, statistics the others.
static LogicalResult verifyNorm(Operation *op, Value input, ValueRange weights,
                                ValueRange statistics) {
  if (shapeOf(input).empty())
    return op->emitOpError("needs at least one dimension");
  for (Value weight : weights)
    if (failed(expectShape(op, weight, {shapeOf(input).back()}, "weight")))
      return failure();
  for (Value value : statistics)
    if (failed(expectShape(op, value, shapeOf(input).drop_back(), "row statistic")))
      return failure();
  return success();
}

static LogicalResult verifyEpsilon(Operation *op, double epsilon) {
  if (!(epsilon >= 0.0))
    return op->emitOpError() << "epsilon " << epsilon << " is negative";
  return success();
}

LogicalResult RmsNormOp::verify() {
  if (failed(verifyEpsilon(*this, getEpsilon().convertToDouble())))
    return failure();
  return verifyNorm(*this, getInput(), {getWeight()}, {getRstd()});
}
LogicalResult RmsNormGradOp::verify() {
  return verifyNorm(*this, getInput(), {getWeight(), getWeightGrad()}, {getRstd()});
}
LogicalResult LayerNormOp::verify() {
  if (failed(verifyEpsilon(*this, getEpsilon().convertToDouble())))
    return failure();
  return verifyNorm(*this, getInput(), {getWeight(), getBias()}, {getMean(), getRstd()});
}
LogicalResult LayerNormGradOp::verify() {
  return verifyNorm(*this, getInput(), {getWeight(), getWeightGrad(), getBiasGrad()},
                    {getMean(), getRstd()});
}

LogicalResult SoftmaxOp::verify() { return verifyNorm(*this, getInput(), {}, {}); }
LogicalResult SoftmaxGradOp::verify() { return verifyNorm(*this, getResult(), {}, {}); }

LogicalResult RopeOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getInput());
  if (shape.size() < 3)
    return emitOpError() << "input is " << getInput().getType() << ", expected rank 3 or more";
  if (failed(expectInteger(*this, getPositions(), "positions")) ||
      failed(expectShape(*this, getPositions(), shape.take_front(2), "positions")))
    return failure();
  if (int64_t(2 * getFrequencies().size()) != shape.back())
    return emitOpError() << "has " << getFrequencies().size()
                         << " frequencies for a last dimension of " << shape.back()
                         << "; expected half as many";
  return success();
}

template <typename Op>
static LogicalResult verifyAttention(Op op) {
  if (failed(expectRank(op, op.getQuery(), 5, "query")) ||
      failed(expectRank(op, op.getKey(), 4, "key")))
    return failure();
  ArrayRef<int64_t> query = shapeOf(op.getQuery()), key = shapeOf(op.getKey());
  if (query[0] != key[0] || query[2] != key[2] || query[4] != key[3])
    return op.emitOpError() << "query " << op.getQuery().getType() << " and key "
                            << op.getKey().getType() << " disagree on batch, heads or head size";
  for (Value positions : {op.getQueryPositions(), op.getKeyPositions()})
    if (failed(expectInteger(op, positions, "positions")))
      return failure();
  if (failed(expectShape(op, op.getQueryPositions(), query.take_front(2), "query positions")) ||
      failed(expectShape(op, op.getKeyPositions(), key.take_front(2), "key positions")) ||
      failed(expectShape(op, op.getLse(), query.drop_back(), "log-sum-exp")))
    return failure();
  if (bool(op.getQuerySegments()) != bool(op.getKeySegments()))
    return op.emitOpError("has segments of one side only");
  if (op.getQuerySegments() &&
      (failed(expectShape(op, op.getQuerySegments(), query.take_front(2), "query segments")) ||
       failed(expectShape(op, op.getKeySegments(), key.take_front(2), "key segments"))))
    return failure();
  if (op.getDropoutKey() && (!op.getCallContext() || !op.getDropoutRate()))
    return op.emitOpError("drops probabilities but lacks a context or a rate");
  return success();
}

LogicalResult AttentionOp::verify() { return verifyAttention(*this); }
LogicalResult AttentionGradOp::verify() { return verifyAttention(*this); }

/// Logits [rows…, vocabulary], targets and statistics [rows…].
static LogicalResult verifyLoss(Operation *op, Value logits, Value targets, ValueRange statistics,
                                int64_t vocabulary, bool isBlock) {
  if (failed(verifyNorm(op, logits, {}, statistics)))
    return failure();
  if (targets && (failed(expectInteger(op, targets, "targets")) ||
                  failed(expectShape(op, targets, shapeOf(logits).drop_back(), "targets"))))
    return failure();
  if (vocabulary < 1 || (!isBlock && vocabulary > shapeOf(logits).back()))
    return op->emitOpError() << "vocabulary " << vocabulary << " is outside 1 to "
                             << shapeOf(logits).back();
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  return verifyLoss(*this, getLogits(), getTargets(), {getLoss()}, getVocabulary(), false);
}
LogicalResult CrossEntropyGradOp::verify() {
  return verifyLoss(*this, getLogits(), getTargets(), {getLse()}, getVocabulary(),
                    getShard().has_value());
}
LogicalResult LogitsMaxOp::verify() {
  return verifyLoss(*this, getLogits(), {}, {getMax()}, getVocabulary(), getShard().has_value());
}
LogicalResult LogitsSumsOp::verify() {
  return verifyLoss(*this, getLogits(), getTargets(), {getMax()}, getVocabulary(),
                    getShard().has_value());
}
LogicalResult LogitsLossOp::verify() {
  return expectShape(*this, getTargets(), shapeOf(getMax()), "targets");
}
