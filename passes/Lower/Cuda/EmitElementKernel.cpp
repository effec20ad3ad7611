//===- EmitElementKernel.cpp - Elementwise kernels on a grid ----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/EmitGridKernel.h"
#include "passes/Lower/EmitKernel.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

int64_t lower::getVectorWidth(exec::KernelOp kernel) {
  int64_t narrowest = 16;
  auto visit = [&](TypeRange types) {
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        narrowest = std::min(narrowest, exec::getElementBytes(tensor.getElementType()));
  };
  visit(kernel.getArgumentTypes());
  visit(kernel.getResultTypes());
  return std::min<int64_t>(8, 16 / narrowest);
}

int64_t lower::countElements(ArrayRef<LoopDim> loops) {
  int64_t count = 1;
  for (const LoopDim &loop : loops)
    count *= loop.size;
  return count;
}

//===---------------------------------------------------------------------------------------===//
// Points
//===---------------------------------------------------------------------------------------===//

void lower::storeYields(KernelPlan &plan, KernelValues &values, Value tensor, Value value,
                        AffineMap at) {
  Operation *yield = plan.kernel.getBody().front().getTerminator();
  for (auto [i, yielded] : llvm::enumerate(yield->getOperands()))
    if (yielded == tensor)
      values.storeResult(i, value, at);
}

SmallVector<Value> PointEmitter::emit(Value index, int64_t count, ValueRange carried) {
  decompose(code, index, loops, dims);
  Value inner = loops.empty() ? Value() : dims[loops.back().last];
  SmallVector<Value> accumulators(carried);
  struct Computed {
    int64_t offset;
    OpResult result;
    Value value;
  };
  SmallVector<Computed> computed;
  auto moveTo = [&](int64_t offset) {
    if (inner)
      dims[loops.back().last] = offset ? code.add(inner, code.i64(offset)) : inner;
    values.setSpace(dims, rowDims);
  };
  for (int64_t offset = 0; offset < count; ++offset) {
    moveTo(offset);
    SmallVector<Value> next;
    for (linalg::GenericOp root : group.roots) {
      if (!isElementwise(root)) {
        next.append(
            values.bodyAt(root, values.identity(),
                          ArrayRef(accumulators).slice(next.size(), root.getNumDpsInits())));
        continue;
      }
      for (OpResult result : root->getResults()) {
        AffineMap at =
            root.getMatchingIndexingMap(root.getDpsInitOperand(result.getResultNumber()));
        computed.push_back({offset, result, values.valueAt(result, at)});
      }
    }
    accumulators = next;
  }
  for (const Computed &each : computed) {
    moveTo(each.offset);
    auto root = cast<linalg::GenericOp>(each.result.getOwner());
    AffineMap at =
        root.getMatchingIndexingMap(root.getDpsInitOperand(each.result.getResultNumber()));
    storeYields(plan, values, each.result, each.value, at);
  }
  return accumulators;
}

//===---------------------------------------------------------------------------------------===//
// Kernels
//===---------------------------------------------------------------------------------------===//

bool lower::isElementKernel(const KernelPlan &plan) {
  exec::KernelOp kernel = plan.kernel;
  return kernel.getKind() == exec::KernelKind::Rows && plan.groups.size() == 1 &&
         llvm::all_of(plan.groups.front().roots, isElementwise) &&
         llvm::none_of(plan.stages, [](auto entry) { return entry.second > 0; });
}

/// The loops over all elements, outermost first.
static SmallVector<LoopDim> getElementLoops(const KernelPlan &plan) {
  SmallVector<LoopDim> loops(plan.rows);
  loops.append(plan.groups.front().columns);
  return loops;
}

void lower::emitElements(GridBuilder &grid, KernelPlan &plan, KernelValues &values, int64_t width,
                         Value block, Value end) {
  CodeBuilder &code = grid.code;
  LoopGroup &group = plan.groups.front();
  SmallVector<LoopDim> loops = getElementLoops(plan);
  PointEmitter points(code, plan, values, group, loops, SmallVector<Value>(group.sizes.size()), 0);
  Value index = code.add(code.mul(block, code.i64(kBlockThreads)), grid.thread());
  Value first = code.mul(index, code.i64(width));
  auto emitScalars = [&] {
    Value last = code.minimum(code.add(first, code.i64(width)), end);
    code.loop(first, last, code.i64(1), {}, [&](Value element, ValueRange) {
      points.emit(element, 1, {});
      return SmallVector<Value>();
    });
  };
  if (width == 1) {
    code.ifThen(code.cmpi(arith::CmpIPredicate::slt, first, end),
                [&] { points.emit(first, 1, {}); });
    return;
  }
  Value isWhole = code.cmpi(arith::CmpIPredicate::sle, code.add(first, code.i64(width)), end);
  Value isVector =
      arith::AndIOp::create(code.b, code.loc, isWhole, grid.areAligned(values.getPointers()));
  code.ifThenElse(
      isVector,
      [&] {
        grid.assumeAligned(values.getPointers());
        points.emit(first, width, {});
      },
      emitScalars);
}

std::optional<Geometry> lower::emitElementKernel(GridBuilder &grid, KernelPlan &plan,
                                                 KernelValues &values) {
  if (!isElementKernel(plan))
    return std::nullopt;
  SmallVector<LoopDim> loops = getElementLoops(plan);
  int64_t total = countElements(loops), width = getVectorWidth(plan.kernel);
  // Neighbours are in one run where runs are whole vectors, or where all is one run.
  if (total < width || (loops.size() > 1 && loops.back().size % width != 0))
    width = 1;
  emitElements(grid, plan, values, width, grid.block(), grid.code.i64(total));
  return Geometry{int64_t(llvm::divideCeil(total, kBlockThreads * width)), kBlockThreads};
}

Geometry lower::emitSerialKernel(GridBuilder &grid, KernelPlan &plan, KernelValues &values) {
  CodeBuilder &code = grid.code;
  Value unit = code.add(code.mul(grid.block(), code.i64(kBlockThreads)), grid.thread());
  code.ifThen(code.cmpi(arith::CmpIPredicate::slt, unit, code.i64(plan.extent)), [&] {
    Value end = code.add(unit, code.i64(1));
    if (plan.kernel.getKind() == exec::KernelKind::Rows)
      emitRowKernel(code, plan, values, unit, end);
    else
      emitColumnKernel(code, plan, values, unit, end);
  });
  return {int64_t(llvm::divideCeil(plan.extent, kBlockThreads)), kBlockThreads};
}
