//===- EmitTransposeKernel.cpp - Kernels that only permute dimensions -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

// Two dimensions matter: the one along which the input is contiguous ("a") and the one along which
// the output is
// ("q"). Squares of 8 x 8 elements are loaded as vectors along a, transposed in registers and
// stored along q; a task is eight squares wide in a, so that it reads several lines of each page of
// the input, and runs over all of q, writing two squares side by side, so that it fills whole lines
// of the output before it leaves them.

#include "passes/Lower/EmitKernel.h"
#include "passes/Lower/TransposeShape.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

static constexpr int64_t lanes = 8;
static constexpr int64_t stripe = 64;
static constexpr int64_t lineLanes = 16;

static int64_t countStripes(const TransposeShape &shape) {
  return llvm::divideCeil(shape.sizes[shape.a], stripe);
}

int64_t ulsc::lower::getTransposeExtent(exec::KernelOp kernel) {
  TransposeShape shape(kernel);
  return countStripes(shape) * shape.otherCount;
}

/// Transposes 8 vectors of 8 lanes in three rounds of pairwise interleaving.
static SmallVector<Value> transposeSquare(CodeBuilder &code, SmallVector<Value> rows) {
  SmallVector<int32_t> low, high;
  for (int32_t i = 0; i < lanes / 2; ++i) {
    low.append({i, i + static_cast<int32_t>(lanes)});
    high.append({i + static_cast<int32_t>(lanes / 2), i + static_cast<int32_t>(lanes + lanes / 2)});
  }
  for (int round = 0; round < 3; ++round) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < lanes / 2; ++i) {
      Value x = rows[i], y = rows[i + lanes / 2];
      next.push_back(LLVM::ShuffleVectorOp::create(code.b, code.loc, x, y, low));
      next.push_back(LLVM::ShuffleVectorOp::create(code.b, code.loc, x, y, high));
    }
    rows = next;
  }
  return rows;
}

static void emitSquare(CodeBuilder &code, const TransposeShape &shape, Type memory, Value in,
                       Value out) {
  auto vector = VectorType::get({lanes}, memory);
  unsigned alignment = exec::getElementBytes(memory);
  SmallVector<Value> rows;
  for (int64_t i = 0; i < lanes; ++i) {
    Value from = code.address(in, code.i64(i * shape.inStrides[shape.q]), memory);
    rows.push_back(LLVM::LoadOp::create(code.b, code.loc, vector, from, alignment));
  }
  rows = transposeSquare(code, rows);
  for (int64_t i = 0; i < lanes; ++i) {
    Value to = code.address(out, code.i64(i * shape.outStrides[shape.a]), memory);
    LLVM::StoreOp::create(code.b, code.loc, rows[i], to, alignment);
  }
}

void ulsc::lower::emitTransposeKernel(CodeBuilder &code, exec::KernelOp kernel,
                                      KernelValues &values, Value begin, Value end) {
  TransposeShape shape(kernel);
  Type memory = code.b.getIntegerType(8 * exec::getElementBytes(shape.element));
  Value in = values.pointerOf(0), out = values.pointerOf(1);
  auto scalars = [&](Value inBase, Value outBase, Value a0, Value a1, Value q0, Value q1) {
    code.loop(a0, a1, code.i64(1), {}, [&](Value a, ValueRange) {
      code.independentLoop(q0, q1, {}, [&](Value q, ValueRange) {
        Value from = code.add(a, code.mul(q, code.i64(shape.inStrides[shape.q])));
        Value to = code.add(q, code.mul(a, code.i64(shape.outStrides[shape.a])));
        code.store(code.load(inBase, from, memory), outBase, to, memory);
        return SmallVector<Value>();
      });
      return SmallVector<Value>();
    });
  };
  code.loop(begin, end, code.i64(1), {}, [&](Value task, ValueRange) {
    Value a0 = code.mul(code.remainder(task, countStripes(shape)), code.i64(stripe));
    Value a1 = code.minimum(code.add(a0, code.i64(stripe)), code.i64(shape.sizes[shape.a]));
    SmallVector<Value> dims(shape.sizes.size());
    decompose(code, code.divide(task, countStripes(shape)), shape.others, dims);
    Value inIndex = code.i64(0), outIndex = code.i64(0);
    for (const LoopDim &dim : shape.others) {
      inIndex = code.add(inIndex, code.mul(dims[dim.last], code.i64(shape.inStrides[dim.last])));
      outIndex = code.add(outIndex, code.mul(dims[dim.last], code.i64(shape.outStrides[dim.last])));
    }
    Value inBase = code.address(in, inIndex, memory), outBase = code.address(out, outIndex, memory);
    Value aFull = code.add(a0, code.mul(code.divide(code.sub(a1, a0), lanes), code.i64(lanes)));
    int64_t qFull = shape.sizes[shape.q] / lanes * lanes;
    auto squares = [&](Value q, Value a) {
      Value from = code.add(a, code.mul(q, code.i64(shape.inStrides[shape.q])));
      Value to = code.add(q, code.mul(a, code.i64(shape.outStrides[shape.a])));
      emitSquare(code, shape, memory, code.address(inBase, from, memory),
                 code.address(outBase, to, memory));
    };
    code.loop(code.i64(0), code.i64(qFull), code.i64(lineLanes), {}, [&](Value q0, ValueRange) {
      Value q1 = code.minimum(code.add(q0, code.i64(lineLanes)), code.i64(qFull));
      code.loop(a0, aFull, code.i64(lanes), {}, [&](Value a, ValueRange) {
        code.loop(q0, q1, code.i64(lanes), {}, [&](Value q, ValueRange) {
          squares(q, a);
          return SmallVector<Value>();
        });
        return SmallVector<Value>();
      });
      return SmallVector<Value>();
    });
    scalars(inBase, outBase, aFull, a1, code.i64(0), code.i64(qFull));
    scalars(inBase, outBase, a0, a1, code.i64(qFull), code.i64(shape.sizes[shape.q]));
    return SmallVector<Value>();
  });
}
