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

static constexpr int64_t kWarps = kBlockThreads / kWarpSize;

namespace {

/// A block's 32 columns: each warp sums every eighth row, the first one joins the sums in the order
/// of the warps.
class ColumnEmitter {
public:
  ColumnEmitter(GridBuilder &grid, KernelPlan &plan, KernelValues &values,
                SmallVector<Combiner> combiners)
      : grid(grid), code(grid.code), plan(plan), values(values), combiners(std::move(combiners)) {}

  void emit() {
    lane = grid.lane();
    warp = grid.warp();
    column = code.add(code.mul(grid.block(), code.i64(kWarpSize)), lane);
    Value isColumn = code.cmpi(arith::CmpIPredicate::slt, column, code.i64(plan.extent));
    SmallVector<Value> places;
    for (const Combiner &combiner : combiners)
      places.push_back(grid.shared(kBlockThreads * exec::getElementBytes(combiner.type())));
    Value place = grid.thread();
    code.ifThen(isColumn, [&] {
      SmallVector<Value> partials = sumRows();
      for (auto [combiner, pointer, partial] : llvm::zip_equal(combiners, places, partials))
        code.store(partial, pointer, place, combiner.type());
    });
    grid.syncBlock();
    Value isFirst = code.cmpi(arith::CmpIPredicate::eq, warp, code.i64(0));
    code.ifThen(arith::AndIOp::create(code.b, code.loc, isColumn, isFirst),
                [&] { finish(places); });
  }

private:
  SmallVector<Value> sumRows() {
    SmallVector<Value> partials;
    for (const Combiner &combiner : combiners)
      partials.push_back(combiner.neutral(code));
    LoopGroup &group = plan.groups.front();
    return llvm::to_vector_of<Value>(
        code.loop(warp, code.i64(countElements(plan.rows)), code.i64(kWarps), partials,
                  [&](Value row, ValueRange carried) {
                    SmallVector<Value> dims(group.sizes.size()), next;
                    decompose(code, row, plan.rows, dims);
                    decompose(code, column, group.columns, dims);
                    values.setSpace(dims, 0);
                    for (linalg::GenericOp root : group.roots)
                      next.append(values.bodyAt(root, values.identity(),
                                                carried.slice(next.size(), root->getNumResults())));
                    return next;
                  })
            .getResults());
  }

  void finish(ArrayRef<Value> places) {
    LoopGroup &group = plan.groups.front();
    SmallVector<Value> dims(group.sizes.size());
    decompose(code, column, group.columns, dims);
    values.setSpace(ArrayRef(dims).drop_front(plan.kernel.getRowDims()), 0);
    size_t position = 0;
    for (linalg::GenericOp root : group.roots)
      for (OpResult result : root->getResults()) {
        const Combiner &combiner = combiners[position];
        Value total =
            values.valueAt(root.getOutputs()[result.getResultNumber()], values.identity());
        for (int64_t i = 0; i < kWarps; ++i) {
          Value index = code.add(lane, code.i64(i * kWarpSize));
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
  Value lane, warp, column;
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
  ColumnEmitter(grid, plan, values, std::move(combiners)).emit();
  return Geometry{int64_t(llvm::divideCeil(plan.extent, kWarpSize)), kBlockThreads};
}
