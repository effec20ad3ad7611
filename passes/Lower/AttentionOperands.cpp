//===- AttentionOperands.cpp - What attentions of all targets share ---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/AttentionOperands.h"

#include "dialects/Exec/ControlBlock.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// Query rows that a task takes at a time: enough for the matrix products, few enough for the
/// cache.
static constexpr int64_t maxBlock = 64;

template <typename Op>
AttentionShape::AttentionShape(Op op) {
  auto q = cast<MemRefType>(op.getQ().getType()), keys = cast<MemRefType>(op.getK().getType());
  b = q.getDimSize(0), s = q.getDimSize(1), k = q.getDimSize(2), g = q.getDimSize(3),
  d = q.getDimSize(4);
  t = keys.getDimSize(1);
  block = std::min(s, maxBlock);
  element = q.getElementType();
  scale = op.getScale().convertToFloat();
  isCausal = op.getCausal();
  hasSegments = bool(op.getQSegments());
  if (op.getDropoutRate()) {
    dropoutRate = op.getDropoutRate()->convertToFloat();
    dropoutKey = *op.getDropoutKey();
    dropoutSizes.assign(op.getDropoutSizes()->begin(), op.getDropoutSizes()->end());
  }
}
template AttentionShape::AttentionShape(exec::AttentionOp);
template AttentionShape::AttentionShape(exec::AttentionGradOp);

void AttentionOperands::bind(ArrayRef<Value> pointers, ArrayRef<Value> numbers,
                             Value controlBlock) {
  size_t position = 0;
  for (Value *pointer : {&q, &k, &v, &qPositions, &kvPositions})
    *pointer = pointers[position++];
  if (shape.hasSegments)
    qSegments = pointers[position++], kvSegments = pointers[position++];
  extra.assign(pointers.begin() + position, pointers.end());
  if (!shape.dropoutRate)
    return;
  scalars.assign(numbers.begin(), numbers.end());
  Value rate = emitDropoutRate(code, control(controlBlock, "dropout_rate"), *shape.dropoutRate);
  threshold = emitDropThreshold(code, rate);
  factor = code.divf(code.f32(1.0f), code.subf(code.f32(1.0f), rate));
  stream = emitRandomStream(code, control(controlBlock, "seed"), shape.dropoutKey, scalars[0],
                            control(controlBlock, "step"));
}

Value AttentionOperands::control(Value block, StringRef field) {
  const exec::ControlField *found = exec::lookupControlField(field);
  return code.load(code.addressBytes(block, found->offset), code.i64(0),
                   found->isInteger ? code.i64Type() : code.f32Type());
}

/// Where the head's first key lies in a buffer of k's layout.
Value AttentionOperands::keyBase(Value pointer) {
  Value index = code.add(code.mul(batch, code.i64(shape.t * shape.k * shape.d)),
                         code.mul(head, code.i64(shape.d)));
  return code.address(pointer, index, shape.element);
}

/// The row's index into [B,S].
Value AttentionOperands::queryIndex(Value row) {
  return code.add(code.mul(batch, code.i64(shape.s)), code.add(firstRow, row));
}

Value AttentionOperands::statisticIndex(Value row) {
  Value index = code.add(code.mul(queryIndex(row), code.i64(shape.k)), head);
  return code.add(code.mul(index, code.i64(shape.g)), group);
}

Value AttentionOperands::positionOf(Value row) {
  return code.load(qPositions, queryIndex(row), code.i32Type());
}

Value AttentionOperands::segmentOf(Value row) {
  return shape.hasSegments ? code.load(qSegments, queryIndex(row), code.i32Type()) : Value();
}

Value AttentionOperands::isVisible(Value rowPosition, Value rowSegment, Value key) {
  Value index = code.add(code.mul(batch, code.i64(shape.t)), key), visible;
  if (shape.isCausal)
    visible = code.cmpi(arith::CmpIPredicate::sle, code.load(kvPositions, index, code.i32Type()),
                        rowPosition);
  if (shape.hasSegments) {
    Value isSame = code.cmpi(arith::CmpIPredicate::eq, code.load(kvSegments, index, code.i32Type()),
                             rowSegment);
    visible = visible ? Value(arith::AndIOp::create(code.b, code.loc, visible, isSame)) : isSame;
  }
  return visible;
}

Value AttentionOperands::dropoutFactor(Value row, Value key) {
  if (!shape.dropoutRate)
    return {};
  Value index = code.add(scalars[1], batch);
  auto append = [&](int64_t size, Value offset, Value local) {
    index = code.add(code.mul(index, code.i64(size)), code.add(offset, local));
  };
  append(shape.dropoutSizes[0], scalars[2], code.add(code.mul(head, code.i64(shape.g)), group));
  append(shape.dropoutSizes[1], scalars[3], code.add(firstRow, row));
  append(shape.dropoutSizes[2], scalars[4], key);
  Value word = emitRandomWord(code, *stream, index);
  Value isKept = code.cmpi(arith::CmpIPredicate::uge, word, threshold);
  return code.select(isKept, factor, code.f32(0.0f));
}
