//===- EmitGridAttention.cpp - What blocks of threads do for attention ------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// The softmax of a row is formed key block by key block, with a running maximum and sum (Dao et
// al., "FlashAttention", 2022). The gradient recomputes probabilities from the row's log-sum-exp;
// that of queries and that of keys are kernels of their own, so that every element has one writer
// and one order of summation.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/GridAttention.h"
#include "passes/Lower/EmitKernel.h"
#include "passes/Lower/EmitMath.h"

#include <limits>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

static constexpr float infinity = std::numeric_limits<float>::infinity();

static Value isLowest(CodeBuilder &code, Value x) {
  return code.cmpf(arith::CmpFPredicate::OEQ, x, code.f32(-infinity));
}

/// What a row subtracts: nothing where it sees no key, and so gets zeros.
static Value makeFinite(CodeBuilder &code, Value largest) {
  return code.select(isLowest(code, largest), code.f32(0.0f), largest);
}

/// Walks blocks of queries or keys.
static void forBlocks(CodeBuilder &code, int64_t count, llvm::function_ref<void(Value)> body) {
  code.loop(code.i64(0), code.i64(count), code.i64(1), {}, [&](Value block, ValueRange) {
    body(block);
    return SmallVector<Value>();
  });
}

/// The sum over the columns of x[i, d] * y[i, d], by one warp, in all its lanes.
template <typename Product>
static Value sumColumns(GridAttention &task, Product product) {
  CodeBuilder &code = task.code;
  Value partial =
      code.loop(task.grid.lane(), code.i64(task.shape.d), code.i64(kWarpSize), {code.f32(0.0f)},
                [&](Value column, ValueRange carried) {
                  return SmallVector<Value>{code.addf(carried[0], product(column))};
                })
          .getResult(0);
  return task.grid.combineWarp(Combiner::sum(code.f32Type()), partial);
}

//===---------------------------------------------------------------------------------------===//
// Forward
//===---------------------------------------------------------------------------------------===//

namespace {
/// What a row has so far: its maximum, its sum, the factor of what came before, and its output.
struct Running {
  Tile largest, sum, factor, out;
};
} // namespace

/// Scores become dropped, unnormalised probabilities.
static void emitSoftmaxRow(GridAttention &task, const Tile &scores, Running &running, Value row) {
  CodeBuilder &code = task.code;
  GridBuilder &grid = task.grid;
  Value lane = grid.lane();
  Value isOwn = code.cmpi(arith::CmpIPredicate::slt, lane, code.i64(task.keys));
  Value score = code.either(
      isOwn, TypeRange(code.f32Type()),
      [&] { return SmallVector<Value>{task.load(scores, row, lane)}; },
      [&] { return SmallVector<Value>{code.f32(-infinity)}; })[0];
  Value before = task.loadRow(running.largest, row), sum = task.loadRow(running.sum, row);
  Value largest = grid.combineWarp(Combiner::maximum(code.f32Type()), score);
  largest = arith::MaximumFOp::create(code.b, code.loc, largest, before);
  Value shift = makeFinite(code, largest);
  Value p = emitExp(code, code.subf(score, shift));
  Value total = grid.combineWarp(Combiner::sum(code.f32Type()), p);
  Value factor = emitExp(code, code.subf(before, shift));
  code.ifThen(isOwn, [&] {
    Value kept = task.factorOf(row, lane);
    task.store(kept ? code.mulf(p, kept) : p, scores, row, lane);
  });
  // All lanes have read the row's numbers.
  grid.syncWarp();
  code.ifThen(code.cmpi(arith::CmpIPredicate::eq, lane, code.i64(0)), [&] {
    task.storeRow(largest, running.largest, row);
    task.storeRow(code.addf(code.mulf(sum, factor), total), running.sum, row);
    task.storeRow(factor, running.factor, row);
  });
}

static void emitKeyBlock(GridAttention &task, const Tile &q, const Tile &keys, const Tile &scores,
                         Running &running) {
  CodeBuilder &code = task.code;
  task.grid.syncBlock(); // the last block's values have been read
  task.loadKeys(task.k, keys);
  task.grid.syncBlock();
  task.forElements(task.queries, task.keys, [&](Value row, Value key) {
    Value score = code.mulf(task.dot(q, row, keys, key), code.f32(task.shape.scale));
    task.store(code.select(task.sees(row, key), score, code.f32(-infinity)), scores, row, key);
  });
  task.grid.syncBlock();
  task.forRows(task.queries, [&](Value row) { emitSoftmaxRow(task, scores, running, row); });
  task.loadKeys(task.v, keys);
  task.grid.syncBlock();
  task.forElements(task.queries, task.shape.d, [&](Value row, Value column) {
    Value start = code.mulf(task.load(running.out, row, column), task.loadRow(running.factor, row));
    Value sum =
        code.loop(code.i64(0), code.i64(task.keys), code.i64(1), {start},
                  [&](Value key, ValueRange carried) {
                    return SmallVector<Value>{code.fma(task.load(scores, row, key),
                                                       task.load(keys, key, column), carried[0])};
                  })
            .getResult(0);
    task.store(sum, running.out, row, column);
  });
}

Geometry lower::emitAttention(GridAttention &task) {
  CodeBuilder &code = task.code;
  const AttentionShape &shape = task.shape;
  SmallVector<LoopDim> dims = {
      {0, 0, shape.b}, {1, 1, shape.k}, {2, 2, shape.g}, {3, 3, task.queryBlocks()}};
  SmallVector<Value> at(4);
  decompose(code, task.grid.block(), dims, at);
  task.batch = at[0], task.head = at[1], task.group = at[2];
  task.setRows(code.mul(at[3], code.i64(task.queries)));
  Tile q = task.makeTile(task.queries, shape.d), keys = task.makeTile(task.keys, shape.d);
  Tile scores = task.makeTile(task.queries, task.keys);
  Running running{task.makeColumn(task.queries), task.makeColumn(task.queries),
                  task.makeColumn(task.queries), task.makeTile(task.queries, shape.d)};
  task.loadQueries(task.q, q);
  task.forElements(task.queries, shape.d, [&](Value row, Value column) {
    task.store(code.f32(0.0f), running.out, row, column);
  });
  task.forElements(task.queries, 1, [&](Value row, Value) {
    task.storeRow(code.f32(-infinity), running.largest, row);
    task.storeRow(code.f32(0.0f), running.sum, row);
  });
  forBlocks(code, task.keyBlocks(), [&](Value block) {
    task.setKeys(code.mul(block, code.i64(task.keys)));
    task.ifVisible([&] { emitKeyBlock(task, q, keys, scores, running); });
  });
  task.grid.syncBlock();
  Value out = task.extra[0], lse = task.extra[1];
  task.forElements(task.queries, shape.d, [&](Value row, Value column) {
    Value sum = task.loadRow(running.sum, row);
    Value isEmpty = code.cmpf(arith::CmpFPredicate::OEQ, sum, code.f32(0.0f));
    Value scaled = code.divf(task.load(running.out, row, column), sum);
    task.store(code.select(isEmpty, code.f32(0.0f), scaled), running.out, row, column);
  });
  // Each thread stores the elements that it has scaled.
  task.storeQueries(running.out, out);
  task.forElements(task.queries, 1, [&](Value row, Value) {
    code.ifThen(task.isRow(row), [&] {
      Value largest = makeFinite(code, task.loadRow(running.largest, row));
      Value log = emitLog(code, task.loadRow(running.sum, row));
      code.store(code.addf(largest, log), lse, task.statisticIndex(row), code.f32Type());
    });
  });
  return {shape.b * shape.k * shape.g * task.queryBlocks(), kBlockThreads};
}

//===---------------------------------------------------------------------------------------===//
// Gradients
//===---------------------------------------------------------------------------------------===//

namespace {
/// Of a block of queries: its rows of q and dO, and of each row the log-sum-exp and the sum of dO *
/// O.
struct QueryTiles {
  Tile q, dout, lse, delta;

  explicit QueryTiles(GridAttention &task)
      : q(task.makeTile(task.queries, task.shape.d)),
        dout(task.makeTile(task.queries, task.shape.d)), lse(task.makeColumn(task.queries)),
        delta(task.makeColumn(task.queries)) {}

  /// Complete behind the next barrier.
  void load(GridAttention &task) {
    CodeBuilder &code = task.code;
    Value out = task.extra[0], statistics = task.extra[1], gradient = task.extra[2];
    task.loadQueries(task.q, q);
    task.loadQueries(gradient, dout);
    task.forRows(task.queries, [&](Value row) {
      code.ifThen(task.isRow(row), [&] {
        Value index = task.statisticIndex(row);
        Value base = code.mul(index, code.i64(task.shape.d));
        Value sum = sumColumns(task, [&](Value column) {
          Value at = code.add(base, column);
          return code.mulf(code.load(out, at, task.shape.element),
                           code.load(gradient, at, task.shape.element));
        });
        Value isFirst = code.cmpi(arith::CmpIPredicate::eq, task.grid.lane(), code.i64(0));
        code.ifThen(isFirst, [&] {
          Value statistic = code.load(statistics, index, code.f32Type());
          task.storeRow(makeFinite(code, statistic), lse, row);
          task.storeRow(sum, delta, row);
        });
      });
    });
  }

  /// The probability of `key` in `row`, dropped, and the gradient of its score; zero where it is
  /// not seen.
  std::pair<Value, Value> at(GridAttention &task, const Tile &k, const Tile &v, Value row,
                             Value key) {
    CodeBuilder &code = task.code;
    SmallVector<Value> found = code.either(
        task.sees(row, key), TypeRange({code.f32Type(), code.f32Type()}),
        [&] {
          Value score = code.mulf(task.dot(q, row, k, key), code.f32(task.shape.scale));
          Value p = emitExp(code, code.subf(score, task.loadRow(lse, row)));
          Value dp = task.dot(dout, row, v, key), dropped = p;
          if (Value factor = task.factorOf(row, key)) {
            dp = code.mulf(dp, factor);
            dropped = code.mulf(p, factor);
          }
          Value ds = code.mulf(p, code.subf(dp, task.loadRow(delta, row)));
          return SmallVector<Value>{dropped, ds};
        },
        [&] { return SmallVector<Value>{code.f32(0.0f), code.f32(0.0f)}; });
    return {found[0], found[1]};
  }
};
} // namespace

/// target[i, d] += scale * sum over j of weights(j, i) * source[j, d].
static void accumulate(GridAttention &task, const Tile &target, const Tile &source, int64_t count,
                       float scale, llvm::function_ref<Value(Value, Value)> weightOf) {
  CodeBuilder &code = task.code;
  task.forElements(target.rows, target.columns, [&](Value row, Value column) {
    Value sum = code.loop(code.i64(0), code.i64(count), code.i64(1), {code.f32(0.0f)},
                          [&](Value j, ValueRange carried) {
                            return SmallVector<Value>{code.fma(
                                weightOf(j, row), task.load(source, j, column), carried[0])};
                          })
                    .getResult(0);
    Value before = task.load(target, row, column);
    task.store(code.fma(sum, code.f32(scale), before), target, row, column);
  });
}

static void clear(GridAttention &task, const Tile &tile) {
  task.forElements(tile.rows, tile.columns, [&](Value row, Value column) {
    task.store(task.code.f32(0.0f), tile, row, column);
  });
}

Geometry lower::emitQueryGradient(GridAttention &task) {
  CodeBuilder &code = task.code;
  const AttentionShape &shape = task.shape;
  SmallVector<LoopDim> dims = {
      {0, 0, shape.b}, {1, 1, shape.k}, {2, 2, shape.g}, {3, 3, task.queryBlocks()}};
  SmallVector<Value> at(4);
  decompose(code, task.grid.block(), dims, at);
  task.batch = at[0], task.head = at[1], task.group = at[2];
  task.setRows(code.mul(at[3], code.i64(task.queries)));
  QueryTiles tiles(task);
  Tile k = task.makeTile(task.keys, shape.d), v = task.makeTile(task.keys, shape.d);
  Tile ds = task.makeTile(task.queries, task.keys), dq = task.makeTile(task.queries, shape.d);
  tiles.load(task);
  clear(task, dq);
  forBlocks(code, task.keyBlocks(), [&](Value block) {
    task.setKeys(code.mul(block, code.i64(task.keys)));
    task.ifVisible([&] {
      task.grid.syncBlock(); // the last block's keys and scores have been read
      task.loadKeys(task.k, k);
      task.loadKeys(task.v, v);
      task.grid.syncBlock();
      task.forElements(task.queries, task.keys, [&](Value row, Value key) {
        task.store(tiles.at(task, k, v, row, key).second, ds, row, key);
      });
      task.grid.syncBlock();
      accumulate(task, dq, k, task.keys, shape.scale,
                 [&](Value key, Value row) { return task.load(ds, row, key); });
    });
  });
  // Each thread stores the elements that it has summed.
  task.storeQueries(dq, task.extra[3]);
  return {shape.b * shape.k * shape.g * task.queryBlocks(), kBlockThreads};
}

Geometry lower::emitKeyGradient(GridAttention &task) {
  CodeBuilder &code = task.code;
  const AttentionShape &shape = task.shape;
  SmallVector<LoopDim> dims = {{0, 0, shape.b}, {1, 1, shape.k}, {2, 2, task.keyBlocks()}};
  SmallVector<Value> at(3);
  decompose(code, task.grid.block(), dims, at);
  task.batch = at[0], task.head = at[1];
  task.setKeys(code.mul(at[2], code.i64(task.keys)));
  QueryTiles tiles(task);
  Tile k = task.makeTile(task.keys, shape.d), v = task.makeTile(task.keys, shape.d);
  Tile dk = task.makeTile(task.keys, shape.d), dv = task.makeTile(task.keys, shape.d);
  Tile p = task.makeTile(task.queries, task.keys), ds = task.makeTile(task.queries, task.keys);
  task.loadKeys(task.k, k);
  task.loadKeys(task.v, v);
  clear(task, dk);
  clear(task, dv);
  forBlocks(code, shape.g * task.queryBlocks(), [&](Value block) {
    task.group = code.divide(block, task.queryBlocks());
    task.setRows(code.mul(code.remainder(block, task.queryBlocks()), code.i64(task.queries)));
    task.ifVisible([&] {
      task.grid.syncBlock(); // the last block's rows have been read
      tiles.load(task);
      task.grid.syncBlock();
      task.forElements(task.queries, task.keys, [&](Value row, Value key) {
        auto [dropped, gradient] = tiles.at(task, k, v, row, key);
        task.store(dropped, p, row, key);
        task.store(gradient, ds, row, key);
      });
      task.grid.syncBlock();
      accumulate(task, dv, tiles.dout, task.queries, 1.0f,
                 [&](Value row, Value key) { return task.load(p, row, key); });
      accumulate(task, dk, tiles.q, task.queries, shape.scale,
                 [&](Value row, Value key) { return task.load(ds, row, key); });
    });
  });
  task.storeKeys(dk, task.extra[3]);
  task.storeKeys(dv, task.extra[4]);
  return {shape.b * shape.k * task.keyBlocks(), kBlockThreads};
}
