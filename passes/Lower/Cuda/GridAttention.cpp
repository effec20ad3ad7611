//===- GridAttention.cpp - Attention by blocks of threads, through tiles ----------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/GridAttention.h"

#include <limits>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// Shared memory that every architecture gives a block without asking.
static constexpr int64_t kMostSharedBytes = 47 * 1024;

int64_t GridAttention::chooseRows(const AttentionShape &shape, int64_t tiles) {
  int64_t rows = kWarpSize;
  while (rows > 1 && 4 * rows * (tiles * (shape.d + 1) + 2 * (rows + 1) + 16) > kMostSharedBytes)
    rows /= 2;
  return rows;
}

//===---------------------------------------------------------------------------------------===//
// Tiles
//===---------------------------------------------------------------------------------------===//

Tile GridAttention::makeTile(int64_t rows, int64_t columns) {
  Tile tile{Value(), rows, columns};
  tile.pointer = grid.shared(4 * rows * tile.stride());
  return tile;
}

Value GridAttention::load(const Tile &tile, Value row, Value column) {
  return code.load(tile.pointer, code.add(code.mul(row, code.i64(tile.stride())), column),
                   code.f32Type());
}

void GridAttention::store(Value value, const Tile &tile, Value row, Value column) {
  code.store(value, tile.pointer, code.add(code.mul(row, code.i64(tile.stride())), column),
             code.f32Type());
}

Value GridAttention::loadRow(const Tile &tile, Value row) { return load(tile, row, code.i64(0)); }

void GridAttention::storeRow(Value value, const Tile &tile, Value row) {
  store(value, tile, row, code.i64(0));
}

void GridAttention::forElements(int64_t rows, int64_t columns,
                                llvm::function_ref<void(Value, Value)> body) {
  code.loop(grid.thread(), code.i64(rows * columns), code.i64(kBlockThreads), {},
            [&](Value element, ValueRange) {
              body(code.divide(element, columns), code.remainder(element, columns));
              return SmallVector<Value>();
            });
}

void GridAttention::forRows(int64_t rows, llvm::function_ref<void(Value)> body) {
  code.loop(grid.warp(), code.i64(rows), code.i64(kBlockThreads / kWarpSize), {},
            [&](Value row, ValueRange) {
              body(row);
              return SmallVector<Value>();
            });
}

Value GridAttention::dot(const Tile &x, Value i, const Tile &y, Value j) {
  return code
      .loop(code.i64(0), code.i64(x.columns), code.i64(1), {code.f32(0.0f)},
            [&](Value d, ValueRange carried) {
              return SmallVector<Value>{code.fma(load(x, i, d), load(y, j, d), carried[0])};
            })
      .getResult(0);
}

//===---------------------------------------------------------------------------------------===//
// Blocks of queries and keys
//===---------------------------------------------------------------------------------------===//

void GridAttention::setRows(Value first) { firstRow = first; }
void GridAttention::setKeys(Value first) { firstKey = first; }

Value GridAttention::isRow(Value row) {
  return code.cmpi(arith::CmpIPredicate::slt, code.add(firstRow, row), code.i64(shape.s));
}

Value GridAttention::isKey(Value key) {
  return code.cmpi(arith::CmpIPredicate::slt, code.add(firstKey, key), code.i64(shape.t));
}

/// Loads where `isInside`, else zero.
static Value loadInside(CodeBuilder &code, Value isInside, Value pointer, Value index,
                        Type element) {
  return code.either(
      isInside, TypeRange(code.f32Type()),
      [&] { return SmallVector<Value>{code.load(pointer, index, element)}; },
      [&] { return SmallVector<Value>{code.f32(0.0f)}; })[0];
}

void GridAttention::loadQueries(Value pointer, const Tile &tile) {
  forElements(tile.rows, tile.columns, [&](Value row, Value column) {
    Value index = code.add(code.mul(statisticIndex(row), code.i64(shape.d)), column);
    store(loadInside(code, isRow(row), pointer, index, shape.element), tile, row, column);
  });
}

void GridAttention::loadKeys(Value pointer, const Tile &tile) {
  Value base = keyBase(pointer);
  forElements(tile.rows, tile.columns, [&](Value key, Value column) {
    Value index = code.add(code.mul(code.add(firstKey, key), code.i64(shape.k * shape.d)), column);
    store(loadInside(code, isKey(key), base, index, shape.element), tile, key, column);
  });
}

void GridAttention::storeQueries(const Tile &tile, Value pointer) {
  forElements(tile.rows, tile.columns, [&](Value row, Value column) {
    code.ifThen(isRow(row), [&] {
      Value index = code.add(code.mul(statisticIndex(row), code.i64(shape.d)), column);
      code.store(load(tile, row, column), pointer, index, shape.element);
    });
  });
}

void GridAttention::storeKeys(const Tile &tile, Value pointer) {
  Value base = keyBase(pointer);
  forElements(tile.rows, tile.columns, [&](Value key, Value column) {
    code.ifThen(isKey(key), [&] {
      Value index =
          code.add(code.mul(code.add(firstKey, key), code.i64(shape.k * shape.d)), column);
      code.store(load(tile, key, column), base, index, shape.element);
    });
  });
}

//===---------------------------------------------------------------------------------------===//
// Visibility
//===---------------------------------------------------------------------------------------===//

/// Every thread finds the same, from the same few numbers.
void GridAttention::ifVisible(llvm::function_ref<void()> body) {
  if (!shape.isCausal)
    return body();
  auto extreme = [&](int64_t count, Value first, int64_t size, Value start,
                     llvm::function_ref<Value(Value, Value)> join) {
    Value left = code.sub(code.i64(size), first);
    return code
        .loop(code.i64(0), code.minimum(code.i64(count), left), code.i64(1), {start},
              [&](Value index, ValueRange carried) {
                return SmallVector<Value>{join(index, carried[0])};
              })
        .getResult(0);
  };
  Value latest = extreme(
      queries, firstRow, shape.s, code.i32(0x80000000), [&](Value row, Value carried) -> Value {
        return arith::MaxSIOp::create(code.b, code.loc, carried, positionOf(row));
      });
  Value base = code.add(code.mul(batch, code.i64(shape.t)), firstKey);
  Value earliest = extreme(
      keys, firstKey, shape.t, code.i32(0x7fffffff), [&](Value key, Value carried) -> Value {
        Value position = code.load(kvPositions, code.add(base, key), code.i32Type());
        return arith::MinSIOp::create(code.b, code.loc, carried, position);
      });
  code.ifThen(code.cmpi(arith::CmpIPredicate::sle, earliest, latest), body);
}

Value GridAttention::sees(Value row, Value key) {
  Value isInside = arith::AndIOp::create(code.b, code.loc, isRow(row), isKey(key));
  if (!shape.isCausal && !shape.hasSegments)
    return isInside;
  return code.either(
      isInside, TypeRange(code.b.getI1Type()),
      [&] {
        return SmallVector<Value>{
            isVisible(positionOf(row), segmentOf(row), code.add(firstKey, key))};
      },
      [&] {
        return SmallVector<Value>{
            arith::ConstantOp::create(code.b, code.loc, code.b.getBoolAttr(false))};
      })[0];
}

Value GridAttention::factorOf(Value row, Value key) {
  return dropoutFactor(row, code.add(firstKey, key));
}
