//===- EmitTileTranspose.cpp - Permutations through tiles in shared memory --------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/EmitGridKernel.h"
#include "passes/Lower/EmitKernel.h"
#include "passes/Lower/TransposeShape.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// A tile's side. Its lines in shared memory are one element longer, so that neighbours of a column
/// lie in different banks.
static constexpr int64_t kTile = 32;
static constexpr int64_t kLines = kBlockThreads / kTile;

Geometry lower::emitTileTranspose(GridBuilder &grid, exec::KernelOp kernel, KernelValues &values) {
  CodeBuilder &code = grid.code;
  TransposeShape shape(kernel);
  int64_t elementBytes = exec::getElementBytes(shape.element);
  Type memory = code.b.getIntegerType(8 * elementBytes);
  int64_t sizeA = shape.sizes[shape.a], sizeQ = shape.sizes[shape.q];
  int64_t tilesA = llvm::divideCeil(sizeA, kTile), tilesQ = llvm::divideCeil(sizeQ, kTile);
  Value tile = grid.shared(kTile * (kTile + 1) * elementBytes);
  Value block = grid.block();
  Value a0 = code.mul(code.remainder(block, tilesA), code.i64(kTile));
  Value rest = code.divide(block, tilesA);
  Value q0 = code.mul(code.remainder(rest, tilesQ), code.i64(kTile));
  SmallVector<Value> dims(shape.sizes.size());
  decompose(code, code.divide(rest, tilesQ), shape.others, dims);
  Value in = code.i64(0), out = code.i64(0);
  for (const LoopDim &dim : shape.others) {
    in = code.add(in, code.mul(dims[dim.last], code.i64(shape.inStrides[dim.last])));
    out = code.add(out, code.mul(dims[dim.last], code.i64(shape.outStrides[dim.last])));
  }
  Value x = code.remainder(grid.thread(), kTile), y = code.divide(grid.thread(), kTile);
  // Of the tile: the fast index of `across` is x, that of `down` goes over the lines.
  auto forLines = [&](Value across0, int64_t acrossSize, Value down0, int64_t downSize,
                      llvm::function_ref<void(Value, Value, Value)> body) {
    Value across = code.add(across0, x);
    for (int64_t line = 0; line < kTile; line += kLines) {
      Value within = code.add(y, code.i64(line)), down = code.add(down0, within);
      Value isInside = arith::AndIOp::create(
          code.b, code.loc, code.cmpi(arith::CmpIPredicate::slt, across, code.i64(acrossSize)),
          code.cmpi(arith::CmpIPredicate::slt, down, code.i64(downSize)));
      code.ifThen(isInside, [&] { body(across, down, within); });
    }
  };
  Value source = values.pointerOf(0), target = values.pointerOf(1);
  forLines(a0, sizeA, q0, sizeQ, [&](Value a, Value q, Value within) {
    Value from = code.add(in, code.add(a, code.mul(q, code.i64(shape.inStrides[shape.q]))));
    Value place = code.add(code.mul(within, code.i64(kTile + 1)), x);
    code.store(code.load(source, from, memory), tile, place, memory);
  });
  grid.syncBlock();
  forLines(q0, sizeQ, a0, sizeA, [&](Value q, Value a, Value within) {
    Value to = code.add(out, code.add(q, code.mul(a, code.i64(shape.outStrides[shape.a]))));
    Value place = code.add(code.mul(x, code.i64(kTile + 1)), within);
    code.store(code.load(tile, place, memory), target, to, memory);
  });
  return {tilesA * tilesQ * shape.otherCount, kBlockThreads};
}
