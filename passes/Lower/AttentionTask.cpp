//===- AttentionTask.cpp - What attention and its gradient share in generated code -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/AttentionTask.h"
#include "dialects/Exec/ControlBlock.h"
#include "passes/Lower/RuntimeCalls.h"

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

/// Floats taken together are kept on cache lines.
static int64_t roundUp(int64_t elements) { return (elements + 15) / 16 * 16; }

int64_t AttentionShape::scratchBytes(bool isGradient) const {
  int64_t scores = roundUp(block * t), keys = roundUp(t * d), queries = roundUp(block * d);
  int64_t floats = isGradient ? 2 * scores + roundUp(block) : scores + 2 * roundUp(block);
  if (!isWide())
    floats += isGradient ? 4 * keys + 3 * queries : 2 * keys + 2 * queries;
  return 4 * roundUp(floats);
}

AttentionTask::AttentionTask(CodeBuilder &code, const AttentionShape &shape,
                             LLVM::LLVMFuncOp function)
    : code(code), shape(shape), function(function) {}

void AttentionTask::loadArguments(unsigned buffers) {
  int64_t position = 0;
  auto next = [&] { return code.loadPointer(function.getArgument(1), position++); };
  for (Value *pointer : {&q, &k, &v, &qPositions, &kvPositions})
    *pointer = next();
  if (shape.hasSegments)
    qSegments = next(), kvSegments = next();
  for (unsigned i = 0; i < buffers; ++i)
    extra.push_back(next());
  scratch = extra.back();
  if (!shape.dropoutRate)
    return;
  for (int i = 0; i < 5; ++i)
    scalars.push_back(LLVM::PtrToIntOp::create(code.b, code.loc, code.i64Type(), next()));
  Value rate = emitDropoutRate(code, control("dropout_rate"), *shape.dropoutRate);
  threshold = emitDropThreshold(code, rate);
  factor = code.divf(code.f32(1.0f), code.subf(code.f32(1.0f), rate));
  stream = emitRandomStream(code, control("seed"), shape.dropoutKey, scalars[0], control("step"));
}

Value AttentionTask::control(StringRef field) {
  const exec::ControlField *found = exec::lookupControlField(field);
  Value address = code.addressBytes(code.loadPointer(function.getArgument(0), 1), found->offset);
  return code.load(address, code.i64(0), found->isInteger ? code.i64Type() : code.f32Type());
}

Value AttentionTask::takeScratch(int64_t elements) {
  Value result = code.addressBytes(scratch, taken * 4);
  taken += roundUp(elements);
  return result;
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Where the head's first key lies in a buffer of k's layout.
Value AttentionTask::keyBase(Value pointer) {
  Value index = code.add(code.mul(batch, code.i64(shape.t * shape.k * shape.d)),
                         code.mul(head, code.i64(shape.d)));
  return code.address(pointer, index, shape.element);
}

/// Calls `body` for each element of a matrix of `rows` x D with its two indices.
static void forMatrix(CodeBuilder &code, Value rows, int64_t columns, Value strideX, Value strideY,
                      llvm::function_ref<void(Value, Value)> body) {
  code.loop(code.i64(0), rows, code.i64(1), {}, [&](Value row, ValueRange) {
    Value x = code.mul(row, strideX), y = code.mul(row, strideY);
    code.independentLoop(code.i64(0), code.i64(columns), {}, [&](Value column, ValueRange) {
      body(code.add(x, column), code.add(y, column));
      return SmallVector<Value>();
    });
    return SmallVector<Value>();
  });
}

void AttentionTask::widenKeys(Value pointer, Value to) {
  Value from = keyBase(pointer);
  forMatrix(code, code.i64(shape.t), shape.d, code.i64(shape.k * shape.d), code.i64(shape.d),
            [&](Value x, Value y) {
              code.store(code.load(from, x, shape.element), to, y, code.f32Type());
            });
}

void AttentionTask::narrowKeys(Value from, Value pointer) {
  Value to = keyBase(pointer);
  forMatrix(code, code.i64(shape.t), shape.d, code.i64(shape.d), code.i64(shape.k * shape.d),
            [&](Value x, Value y) {
              code.store(code.load(from, x, code.f32Type()), to, y, shape.element);
            });
}

void AttentionTask::zeroKeys(Value pointer, Value stride) {
  forMatrix(code, code.i64(shape.t), shape.d, stride, stride,
            [&](Value x, Value) { code.store(code.f32(0.0f), pointer, x, code.f32Type()); });
}

void AttentionTask::setHead(Value batchIndex, Value headIndex) {
  batch = batchIndex, head = headIndex;
  if (shape.isWide()) {
    kMatrix = keyBase(k), vMatrix = keyBase(v), kStride = code.i64(shape.k * shape.d);
    return;
  }
  if (!wideK)
    wideK = takeScratch(shape.t * shape.d), wideV = takeScratch(shape.t * shape.d);
  kMatrix = wideK, vMatrix = wideV, kStride = code.i64(shape.d);
  widenKeys(k, kMatrix);
  widenKeys(v, vMatrix);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The row's index into [B,S].
Value AttentionTask::queryIndex(Value row) {
  return code.add(code.mul(batch, code.i64(shape.s)), code.add(firstRow, row));
}

Value AttentionTask::statisticIndex(Value row) {
  Value index = code.add(code.mul(queryIndex(row), code.i64(shape.k)), head);
  return code.add(code.mul(index, code.i64(shape.g)), group);
}

void AttentionTask::setBlock(Value groupIndex, Value blockIndex) {
  group = groupIndex;
  firstRow = code.mul(blockIndex, code.i64(shape.block));
  rows = code.minimum(code.i64(shape.block), code.sub(code.i64(shape.s), firstRow));
  if (!shape.isWide() && !wideQ)
    wideQ = takeScratch(shape.block * shape.d);
  std::tie(qMatrix, qStride) = widenRows(q, wideQ);
  setCount();
}

std::pair<Value, Value> AttentionTask::widenRows(Value pointer, Value to) {
  Value from = code.address(pointer, code.mul(statisticIndex(code.i64(0)), code.i64(shape.d)),
                            shape.element);
  int64_t stride = shape.k * shape.g * shape.d;
  if (shape.isWide())
    return {from, code.i64(stride)};
  forMatrix(code, rows, shape.d, code.i64(stride), code.i64(shape.d), [&](Value x, Value y) {
    code.store(code.load(from, x, shape.element), to, y, code.f32Type());
  });
  return {to, code.i64(shape.d)};
}

void AttentionTask::narrowRows(Value from, Value stride, Value pointer, Value factors) {
  Value to = code.address(pointer, code.mul(statisticIndex(code.i64(0)), code.i64(shape.d)),
                          shape.element);
  code.loop(code.i64(0), rows, code.i64(1), {}, [&](Value row, ValueRange) {
    Value scale = factors ? code.load(factors, row, code.f32Type()) : Value();
    Value x = code.mul(row, stride), y = code.mul(row, code.i64(shape.k * shape.g * shape.d));
    code.independentLoop(code.i64(0), code.i64(shape.d), {}, [&](Value column, ValueRange) {
      Value value = code.load(from, code.add(x, column), code.f32Type());
      code.store(scale ? code.mulf(value, scale) : value, to, code.add(y, column), shape.element);
      return SmallVector<Value>();
    });
    return SmallVector<Value>();
  });
}

/// Keys past the last that any row of the block may see by its position are left out.
void AttentionTask::setCount() {
  count = code.i64(shape.t);
  if (!shape.isCausal)
    return;
  auto latest = code.loop(code.i64(0), rows, code.i64(1), {positionOf(code.i64(0))},
                          [&](Value row, ValueRange carried) {
                            return SmallVector<Value>{arith::MaxSIOp::create(
                                code.b, code.loc, carried[0], positionOf(row))};
                          });
  Value base = code.mul(batch, code.i64(shape.t));
  auto end = code.loop(
      code.i64(0), code.i64(shape.t), code.i64(1), {code.i64(1)},
      [&](Value key, ValueRange carried) {
        Value position = code.load(kvPositions, code.add(base, key), code.i32Type());
        Value isBefore = code.cmpi(arith::CmpIPredicate::sle, position, latest.getResult(0));
        Value next = code.select(isBefore, code.add(key, code.i64(1)), code.i64(1));
        return SmallVector<Value>{arith::MaxSIOp::create(code.b, code.loc, carried[0], next)};
      });
  count = end.getResult(0);
}

Value AttentionTask::positionOf(Value row) {
  return code.load(qPositions, queryIndex(row), code.i32Type());
}

Value AttentionTask::segmentOf(Value row) {
  return shape.hasSegments ? code.load(qSegments, queryIndex(row), code.i32Type()) : Value();
}

Value AttentionTask::isVisible(Value rowPosition, Value rowSegment, Value key) {
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

Value AttentionTask::dropoutFactor(Value row, Value key) {
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

void AttentionTask::emitScores(Value scores) {
  gemm(false, true, rows, count, code.i64(shape.d), shape.scale, qMatrix, qStride, kMatrix, kStride,
       0.0f, scores, code.i64(shape.t));
}

void AttentionTask::gemm(bool transposeA, bool transposeB, Value m, Value n, Value k, float alpha,
                         Value a, Value lda, Value b, Value ldb, float beta, Value c, Value ldc) {
  RuntimeCalls runtime(function->getParentOfType<ModuleOp>());
  runtime.call(code, "ulsc_gemm_tile",
               {code.i64(transposeA), code.i64(transposeB), m, n, k, code.f32(alpha), a, lda, b,
                ldb, code.f32(beta), c, ldc});
}
