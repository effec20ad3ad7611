//===- EmitWideColumnKernel.cpp - Reductions over rows on a grid ------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/EmitGridKernel.h"
#include "passes/Lower/EmitKernel.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// Blocks that keep the multiprocessors of a large GPU busy.
static constexpr int64_t kEnoughBlocks = 256;
/// Threads of a block where there are fewer: each may have 128 registers.
static constexpr int64_t kMostThreads = 512;
/// Partial sums that one thread joins; of more, threads join pairs first.
static constexpr int64_t kMostPartials = 8;

namespace {

/// How a block's threads are arranged: `columns` neighbours, and the rows in `groups` turns.
struct ColumnSplit {
  int64_t columns = kWarpSize, threads = kBlockThreads;

  int64_t groups() const { return threads / columns; }
  int64_t countBlocks(int64_t extent) const { return llvm::divideCeil(extent, columns); }

  /// With few columns blocks are narrower, down to a sector of 32 bytes of the narrowest tensor,
  /// and have more threads as long as each has rows to sum.
  static ColumnSplit choose(KernelPlan &plan) {
    ColumnSplit split;
    int64_t least = 2 * getVectorWidth(plan.kernel), rows = countElements(plan.rows);
    while (split.columns > least && split.countBlocks(plan.extent) < kEnoughBlocks)
      split.columns /= 2;
    if (split.countBlocks(plan.extent) < kEnoughBlocks)
      while (split.threads < kMostThreads && rows >= 8 * split.groups())
        split.threads *= 2;
    return split;
  }
};

/// A block's columns: each group of threads sums every so manieth row, the first one joins the sums
/// in the order of the groups.
class ColumnEmitter {
public:
  ColumnEmitter(GridBuilder &grid, KernelPlan &plan, KernelValues &values,
                SmallVector<Combiner> combiners, ColumnSplit split)
      : grid(grid), code(grid.code), plan(plan), values(values), combiners(std::move(combiners)),
        split(split) {}

  void emit() {
    Value thread = grid.thread();
    lane = code.remainder(thread, split.columns);
    group = code.divide(thread, split.columns);
    column = code.add(code.mul(grid.block(), code.i64(split.columns)), lane);
    Value isColumn = code.cmpi(arith::CmpIPredicate::slt, column, code.i64(plan.extent));
    SmallVector<Value> places;
    for (const Combiner &combiner : combiners)
      places.push_back(grid.shared(split.threads * exec::getElementBytes(combiner.type())));
    code.ifThen(isColumn, [&] {
      SmallVector<Value> partials = sumRows();
      for (auto [combiner, pointer, partial] : llvm::zip_equal(combiners, places, partials))
        code.store(partial, pointer, thread, combiner.type());
    });
    grid.syncBlock();
    int64_t partials = split.groups();
    for (; partials > kMostPartials; partials /= 2)
      joinPairs(places, thread, isColumn, partials / 2);
    Value isFirst = code.cmpi(arith::CmpIPredicate::eq, group, code.i64(0));
    code.ifThen(arith::AndIOp::create(code.b, code.loc, isColumn, isFirst),
                [&] { finish(places, partials); });
  }

private:
  /// Each of the first `count` groups takes the sums of the one that is `count` behind it.
  void joinPairs(ArrayRef<Value> places, Value thread, Value isColumn, int64_t count) {
    Value isTaker = code.cmpi(arith::CmpIPredicate::slt, group, code.i64(count));
    code.ifThen(arith::AndIOp::create(code.b, code.loc, isColumn, isTaker), [&] {
      Value other = code.add(thread, code.i64(count * split.columns));
      for (auto [combiner, pointer] : llvm::zip_equal(combiners, places)) {
        Value own = code.load(pointer, thread, combiner.type());
        Value joined = combiner.combine(code, own, code.load(pointer, other, combiner.type()));
        code.store(joined, pointer, thread, combiner.type());
      }
    });
    grid.syncBlock();
  }

  SmallVector<Value> sumRows() {
    SmallVector<Value> partials;
    for (const Combiner &combiner : combiners)
      partials.push_back(combiner.neutral(code));
    LoopGroup &loops = plan.groups.front();
    return llvm::to_vector_of<Value>(
        code.loop(group, code.i64(countElements(plan.rows)), code.i64(split.groups()), partials,
                  [&](Value row, ValueRange carried) {
                    SmallVector<Value> dims(loops.sizes.size()), next;
                    decompose(code, row, plan.rows, dims);
                    decompose(code, column, loops.columns, dims);
                    values.setSpace(dims, 0);
                    for (linalg::GenericOp root : loops.roots)
                      next.append(values.bodyAt(root, values.identity(),
                                                carried.slice(next.size(), root->getNumResults())));
                    return next;
                  })
            .getResults());
  }

  void finish(ArrayRef<Value> places, int64_t partials) {
    LoopGroup &loops = plan.groups.front();
    SmallVector<Value> dims(loops.sizes.size());
    decompose(code, column, loops.columns, dims);
    values.setSpace(ArrayRef(dims).drop_front(plan.kernel.getRowDims()), 0);
    size_t position = 0;
    for (linalg::GenericOp root : loops.roots)
      for (OpResult result : root->getResults()) {
        const Combiner &combiner = combiners[position];
        Value total =
            values.valueAt(root.getOutputs()[result.getResultNumber()], values.identity());
        for (int64_t i = 0; i < partials; ++i) {
          Value index = code.add(lane, code.i64(i * split.columns));
          total =
              combiner.combine(code, total, code.load(places[position], index, combiner.type()));
        }
        values.reduced[result] = total;
        ++position;
      }
    SmallVector<Value> computed;
    Operation *yield = plan.kernel.getBody().front().getTerminator();
    for (Value yielded : yield->getOperands())
      computed.push_back(values.valueAt(yielded, values.identity()));
    for (auto [i, value] : llvm::enumerate(computed))
      values.storeResult(i, value, values.identity());
  }

  GridBuilder &grid;
  CodeBuilder &code;
  KernelPlan &plan;
  KernelValues &values;
  SmallVector<Combiner> combiners;
  ColumnSplit split;
  Value lane, group, column;
};

} // namespace

std::optional<Geometry> lower::emitWideColumnKernel(GridBuilder &grid, KernelPlan &plan,
                                                    KernelValues &values) {
  if (plan.kernel.getKind() != exec::KernelKind::Columns)
    return std::nullopt;
  SmallVector<Combiner> combiners;
  for (linalg::GenericOp root : plan.groups.front().roots) {
    std::optional<SmallVector<Combiner>> found = findCombiners(root);
    if (!found)
      return std::nullopt;
    combiners.append(*found);
  }
  ColumnSplit split = ColumnSplit::choose(plan);
  ColumnEmitter(grid, plan, values, std::move(combiners), split).emit();
  return Geometry{split.countBlocks(plan.extent), split.threads};
}
