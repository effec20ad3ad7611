//===- EmitWideRowKernel.cpp - Rows that a warp or a block computes together ------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// The threads of a row stride over its columns, a vector at a time. Reductions over all columns end
// with a combination of all threads' values. Reductions that leave columns give each of these to a
// thread and keep the results in shared memory, where later loops find them.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/EmitGridKernel.h"
#include "passes/Lower/EmitKernel.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// Rows up to this many columns are a warp's.
static constexpr int64_t kMostWarpColumns = 1024;
/// Shared memory that every architecture gives a block without asking.
static constexpr int64_t kMostSharedBytes = 40 * 1024;

static bool isReduced(const LoopGroup &group, const LoopDim &loop) {
  return group.iterators[loop.last] == utils::IteratorType::reduction;
}

static bool hasReductions(LoopGroup &group) { return !llvm::all_of(group.roots, isElementwise); }

/// Reductions that leave some of the columns.
static bool isSplit(LoopGroup &group) {
  return hasReductions(group) &&
         llvm::any_of(group.columns, [&](const LoopDim &loop) { return !isReduced(group, loop); });
}

static unsigned countRowDims(const LoopGroup &group) {
  unsigned first = group.sizes.size();
  for (const LoopDim &loop : group.columns)
    first = std::min(first, loop.first);
  return first;
}

/// Of a reduction's result: elements without the rows.
static int64_t countColumns(Value tensor, unsigned rowDims) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t count = 1;
  for (int64_t size : type.getShape().drop_front(rowDims))
    count *= size;
  return count;
}

static int64_t countSharedBytes(KernelPlan &plan) {
  int64_t bytes = 0;
  for (LoopGroup &group : plan.groups)
    if (isSplit(group))
      for (linalg::GenericOp root : group.roots)
        if (!isElementwise(root))
          for (Value result : root->getResults())
            bytes += countColumns(result, countRowDims(group)) * 8 + 16;
  return bytes;
}

namespace {

class RowEmitter {
public:
  RowEmitter(GridBuilder &grid, KernelPlan &plan, KernelValues &values, int64_t threads)
      : grid(grid), code(grid.code), plan(plan), values(values), threads(threads),
        isBlock(threads > kWarpSize) {}

  void emit(Value row, Value isAligned) {
    aligned = isAligned;
    lane = isBlock ? grid.thread() : grid.lane();
    values.startRow();
    unsigned last = plan.rows.empty() ? 0 : plan.rows.back().last + 1;
    SmallVector<Value> rowDims(last);
    decompose(code, row, plan.rows, rowDims);
    for (LoopGroup &group : plan.groups) {
      SmallVector<Value> dims(rowDims);
      dims.resize(group.sizes.size());
      if (isSplit(group))
        emitSplit(group, dims);
      else
        emitStrided(group, dims);
    }
  }

private:
  //===-------------------------------------------------------------------------------------===//
  // All columns, or reductions over all of them
  //===-------------------------------------------------------------------------------------===//

  void emitStrided(LoopGroup &group, SmallVector<Value> dims) {
    int64_t columns = countElements(group.columns), width = getVectorWidth(plan.kernel);
    if (columns == 1 || group.columns.back().size % width != 0)
      width = 1;
    SmallVector<Combiner> combiners;
    for (linalg::GenericOp root : group.roots)
      if (!isElementwise(root))
        combiners.append(*findCombiners(root));
    SmallVector<Value> partials;
    for (const Combiner &combiner : combiners)
      partials.push_back(combiner.neutral(code));
    PointEmitter points(code, plan, values, group, group.columns, dims, countRowDims(group));
    auto stride = [&](int64_t step) {
      return llvm::to_vector_of<Value>(code.loop(code.mul(lane, code.i64(step)), code.i64(columns),
                                                 code.i64(threads * step), partials,
                                                 [&](Value column, ValueRange carried) {
                                                   return points.emit(column, step, carried);
                                                 })
                                           .getResults());
    };
    if (width == 1)
      partials = stride(1);
    else
      partials = code.either(
          aligned, TypeRange(ValueRange(partials)),
          [&] {
            grid.assumeAligned(values.getPointers());
            return stride(width);
          },
          [&] { return stride(1); });
    if (!combiners.empty())
      finish(group, combine(combiners, partials), combiners, dims);
  }

  SmallVector<Value> combine(ArrayRef<Combiner> combiners, ArrayRef<Value> partials) {
    if (isBlock)
      return grid.combineBlock(combiners, partials, threads);
    SmallVector<Value> results;
    for (auto [combiner, partial] : llvm::zip_equal(combiners, partials))
      results.push_back(grid.combineWarp(combiner, partial));
    return results;
  }

  /// Joins the initial values, and stores what the kernel yields.
  void finish(LoopGroup &group, ArrayRef<Value> totals, ArrayRef<Combiner> combiners,
              ArrayRef<Value> dims) {
    values.setSpace(dims, countRowDims(group));
    size_t position = 0;
    for (linalg::GenericOp root : group.roots) {
      if (isElementwise(root))
        continue;
      for (OpResult result : root->getResults()) {
        OpOperand *init = root.getDpsInitOperand(result.getResultNumber());
        AffineMap at = root.getMatchingIndexingMap(init);
        Value total =
            combiners[position].combine(code, values.valueAt(init->get(), at), totals[position]);
        values.reduced[result] = total;
        ++position;
        code.ifThen(code.cmpi(arith::CmpIPredicate::eq, lane, code.i64(0)),
                    [&] { storeYields(plan, values, result, total, at); });
      }
    }
  }

  //===-------------------------------------------------------------------------------------===//
  // Reductions that leave columns
  //===-------------------------------------------------------------------------------------===//

  void emitSplit(LoopGroup &group, SmallVector<Value> dims) {
    unsigned rowDims = countRowDims(group);
    SmallVector<LoopDim> left, reduced;
    for (const LoopDim &loop : group.columns)
      (isReduced(group, loop) ? reduced : left).push_back(loop);
    llvm::MapVector<Value, Value> buffers;
    for (linalg::GenericOp root : group.roots)
      if (!isElementwise(root))
        for (Value result : root->getResults())
          buffers[result] = allocate(result, rowDims);
    code.loop(lane, code.i64(countElements(left)), code.i64(threads), {},
              [&](Value column, ValueRange) {
                SmallVector<Value> at(dims);
                decompose(code, column, left, at);
                reduceColumn(group, reduced, at, rowDims, buffers);
                return SmallVector<Value>();
              });
    if (isBlock)
      grid.syncBlock();
    else
      grid.syncWarp();
    for (auto [value, pointer] : buffers)
      values.kept[value] = {pointer, rowDims};
  }

  /// A row's part of a shared variable.
  Value allocate(Value tensor, unsigned rowDims) {
    Type type =
        CodeBuilder::registerType(cast<RankedTensorType>(tensor.getType()).getElementType());
    int64_t bytes = llvm::alignTo(countColumns(tensor, rowDims) * exec::getElementBytes(type), 16);
    Value base = grid.shared(isBlock ? bytes : bytes * (kBlockThreads / kWarpSize));
    return isBlock ? base
                   : code.address(base, code.mul(grid.warp(), code.i64(bytes)), code.b.getI8Type());
  }

  void reduceColumn(LoopGroup &group, ArrayRef<LoopDim> reduced, SmallVector<Value> dims,
                    unsigned rowDims, llvm::MapVector<Value, Value> &buffers) {
    SmallVector<linalg::GenericOp> reductions;
    for (linalg::GenericOp root : group.roots)
      if (!isElementwise(root))
        reductions.push_back(root);
    values.setSpace(dims, rowDims);
    SmallVector<Value> initial;
    for (linalg::GenericOp root : reductions)
      for (OpOperand &init : root.getDpsInitsMutable())
        initial.push_back(values.valueAt(init.get(), root.getMatchingIndexingMap(&init)));
    PointEmitter points(code, plan, values, group, reduced, dims, rowDims);
    SmallVector<Value> results = llvm::to_vector_of<Value>(
        code.loop(
                code.i64(0), code.i64(countElements(reduced)), code.i64(1), initial,
                [&](Value element, ValueRange carried) { return points.emit(element, 1, carried); })
            .getResults());
    values.setSpace(dims, rowDims);
    size_t position = 0;
    for (linalg::GenericOp root : reductions)
      for (OpResult result : root->getResults()) {
        auto type = cast<RankedTensorType>(result.getType());
        AffineMap at =
            root.getMatchingIndexingMap(root.getDpsInitOperand(result.getResultNumber()));
        Value index = values.linearIndex(at.getResults().drop_front(rowDims),
                                         type.getShape().drop_front(rowDims));
        code.store(results[position], buffers[result], index,
                   CodeBuilder::registerType(type.getElementType()));
        storeYields(plan, values, result, results[position], at);
        ++position;
      }
  }

  GridBuilder &grid;
  CodeBuilder &code;
  KernelPlan &plan;
  KernelValues &values;
  int64_t threads;
  bool isBlock;
  Value lane, aligned;
};

} // namespace

std::optional<Geometry> lower::emitWideRowKernel(GridBuilder &grid, KernelPlan &plan,
                                                 KernelValues &values) {
  if (plan.kernel.getKind() != exec::KernelKind::Rows)
    return std::nullopt;
  int64_t columns = 1;
  for (LoopGroup &group : plan.groups) {
    columns = std::max(columns, countElements(group.columns));
    for (linalg::GenericOp root : group.roots)
      if (!isElementwise(root) && !isSplit(group) && !findCombiners(root))
        return std::nullopt;
  }
  // A row of one or a few elements has no work for a warp.
  if (columns < kWarpSize / 4)
    return std::nullopt;
  CodeBuilder &code = grid.code;
  int64_t threads = columns > kMostWarpColumns ? kBlockThreads : kWarpSize;
  int64_t rowsOfBlock = kBlockThreads / threads;
  if (countSharedBytes(plan) * rowsOfBlock > kMostSharedBytes)
    return std::nullopt;
  RowEmitter rows(grid, plan, values, threads);
  Value isAligned = grid.areAligned(values.getPointers());
  if (rowsOfBlock == 1) {
    rows.emit(grid.block(), isAligned);
  } else {
    Value row = code.add(code.mul(grid.block(), code.i64(rowsOfBlock)), grid.warp());
    code.ifThen(code.cmpi(arith::CmpIPredicate::slt, row, code.i64(plan.extent)),
                [&] { rows.emit(row, isAligned); });
  }
  return Geometry{int64_t(llvm::divideCeil(plan.extent, rowsOfBlock)), kBlockThreads};
}
