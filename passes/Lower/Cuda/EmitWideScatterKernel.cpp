//===- EmitWideScatterKernel.cpp - Sums of rows at indices on a grid --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/EmitGridKernel.h"
#include "passes/Lower/EmitKernel.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// Blocks that keep the multiprocessors of a large GPU busy.
static constexpr int64_t kEnoughBlocks = 512;
/// A block reads all indices: with fewer rows to add than these, or fewer rows of the table to
/// begin, a further one would do little else.
static constexpr int64_t kLeastRows = 16, kLeastTableRows = 256;

/// How many blocks share each column's table.
static int64_t chooseParts(KernelPlan &plan, int64_t tableRows, int64_t columnBlocks) {
  int64_t work = std::max(llvm::divideCeil(countElements(plan.rows), kLeastRows),
                          llvm::divideCeil(tableRows, kLeastTableRows));
  int64_t parts = std::min({work, tableRows, std::max<int64_t>(kEnoughBlocks / columnBlocks, 1)});
  return llvm::bit_floor(static_cast<uint64_t>(std::max<int64_t>(parts, 1)));
}

std::optional<Geometry> lower::emitWideScatterKernel(GridBuilder &grid, KernelPlan &plan,
                                                     KernelValues &values) {
  if (plan.kernel.getKind() != exec::KernelKind::Scatter)
    return std::nullopt;
  CodeBuilder &code = grid.code;
  auto scatter = *plan.kernel.getBody().front().getOps<exec::ScatterAddOp>().begin();
  int64_t tableRows = cast<RankedTensorType>(scatter.getInit().getType()).getDimSize(0);
  int64_t columnBlocks = llvm::divideCeil(plan.extent, kBlockThreads);
  TableRows rows{Value(), chooseParts(plan, tableRows, columnBlocks)};
  Value block = grid.block(), columnBlock = block;
  if (rows.count > 1) {
    columnBlock = code.divide(block, rows.count);
    rows.index = code.remainder(block, rows.count);
  }
  Value column = code.add(code.mul(columnBlock, code.i64(kBlockThreads)), grid.thread());
  code.ifThen(code.cmpi(arith::CmpIPredicate::slt, column, code.i64(plan.extent)), [&] {
    emitScatterKernel(code, plan, values, column, code.add(column, code.i64(1)), rows);
  });
  return Geometry{columnBlocks * rows.count, kBlockThreads};
}
