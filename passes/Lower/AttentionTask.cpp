//===- AttentionTask.cpp - What attention and its gradient share in generated code -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/AttentionTask.h"
#include "passes/Lower/RuntimeCalls.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

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
    : AttentionOperands(code, shape), function(function) {}

void AttentionTask::loadArguments(unsigned buffers) {
  int64_t position = 0;
  auto next = [&] { return code.loadPointer(function.getArgument(1), position++); };
  SmallVector<Value> pointers, scalars;
  for (unsigned i = 0; i < countShared(shape) + buffers; ++i)
    pointers.push_back(next());
  for (unsigned i = 0; i < countScalars(shape); ++i)
    scalars.push_back(LLVM::PtrToIntOp::create(code.b, code.loc, code.i64Type(), next()));
  bind(pointers, scalars, code.loadPointer(function.getArgument(0), 1));
  scratch = extra.back();
}

Value AttentionTask::takeScratch(int64_t elements) {
  Value result = code.addressBytes(scratch, taken * 4);
  taken += roundUp(elements);
  return result;
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

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
