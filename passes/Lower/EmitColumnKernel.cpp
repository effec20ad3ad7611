//===- EmitColumnKernel.cpp - Loops of kernels that are split by columns -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/EmitKernel.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// Columns whose sums a thread forms at a time: rows are read in runs of this many elements, and
/// the sums stay in the first-level cache.
static constexpr int64_t tileColumns = 512;

/// Calls `body` with the first column and the number of columns of each tile of [begin, end).
static void forTiles(CodeBuilder &code, Value begin, Value end,
                     llvm::function_ref<void(Value, Value)> body) {
  code.loop(begin, end, code.i64(tileColumns), {}, [&](Value first, ValueRange) {
    body(first, code.minimum(code.i64(tileColumns), code.sub(end, first)));
    return SmallVector<Value>();
  });
}

/// Walks the rows in order and calls `body` with the dims of a row's space, columns unset.
static void forRows(CodeBuilder &code, KernelPlan &plan, KernelValues &values,
                    llvm::function_ref<void(SmallVector<Value>)> body) {
  int64_t rows = 1;
  for (const LoopDim &dim : plan.rows)
    rows *= dim.size;
  code.loop(code.i64(0), code.i64(rows), code.i64(1), {}, [&](Value row, ValueRange) {
    values.startRow();
    SmallVector<Value> dims(plan.groups.front().sizes.size());
    decompose(code, row, plan.rows, dims);
    body(dims);
    return SmallVector<Value>();
  });
}

/// Walks `count` columns from `first` on in a vectorisable loop; `body` gets the column's offset in
/// the tile. `drop` leading dimensions are left out of the space.
static void forColumns(CodeBuilder &code, KernelPlan &plan, KernelValues &values,
                       SmallVector<Value> dims, unsigned drop, Value first, Value count,
                       llvm::function_ref<void(Value)> body) {
  code.independentLoop(code.i64(0), count, {}, [&](Value offset, ValueRange) {
    values.setRowPoint(code.b.getInsertionBlock()->getParentOp());
    SmallVector<Value> point(dims);
    point.resize(plan.groups.front().sizes.size());
    decompose(code, code.add(first, offset), plan.groups.front().columns, point);
    values.setSpace(ArrayRef(point).drop_front(drop), plan.kernel.getRowDims() - drop);
    body(offset);
    return SmallVector<Value>();
  });
  values.setRowPoint(nullptr);
}

namespace {
/// A sum in the making: one value per column of the tile.
struct Sum {
  linalg::GenericOp op;
  OpResult result;
  Value buffer;
  Type type;
};
} // namespace

static void storeFinal(CodeBuilder &code, KernelPlan &plan, KernelValues &values) {
  auto yields = plan.kernel.getBody().front().getTerminator()->getOperands();
  SmallVector<Value> computed;
  for (Value yielded : yields)
    computed.push_back(values.valueAt(yielded, values.identity()));
  for (auto [i, value] : llvm::enumerate(computed))
    values.storeResult(i, value, values.identity());
}

void ulsc::lower::emitColumnKernel(CodeBuilder &code, KernelPlan &plan, KernelValues &values,
                                   Value begin, Value end) {
  unsigned rowDims = plan.kernel.getRowDims();
  SmallVector<Sum> sums;
  for (linalg::GenericOp root : plan.groups.front().roots)
    for (OpResult result : root->getResults()) {
      Type type =
          CodeBuilder::registerType(cast<RankedTensorType>(result.getType()).getElementType());
      sums.push_back({root, result, code.stack(tileColumns * exec::getElementBytes(type)), type});
    }
  forTiles(code, begin, end, [&](Value first, Value count) {
    values.startRow();
    forColumns(code, plan, values, {}, rowDims, first, count, [&](Value offset) {
      for (Sum &sum : sums) {
        Value init = sum.op.getOutputs()[sum.result.getResultNumber()];
        code.store(values.valueAt(init, values.identity()), sum.buffer, offset, sum.type);
      }
    });
    forRows(code, plan, values, [&](SmallVector<Value> dims) {
      forColumns(code, plan, values, dims, 0, first, count, [&](Value offset) {
        SmallVector<Value> current, next;
        for (Sum &sum : sums)
          current.push_back(code.load(sum.buffer, offset, sum.type));
        size_t position = 0;
        for (linalg::GenericOp root : plan.groups.front().roots) {
          size_t results = root->getNumResults();
          next.append(
              values.bodyAt(root, values.identity(), ArrayRef(current).slice(position, results)));
          position += results;
        }
        for (auto [sum, value] : llvm::zip(sums, next))
          code.store(value, sum.buffer, offset, sum.type);
      });
    });
    values.startRow();
    // The ops after the sums index them by column, so the tile's buffer is seen from column zero.
    Value negative = code.sub(code.i64(0), first);
    for (Sum &sum : sums) {
      Value biased = LLVM::GEPOp::create(code.b, code.loc, code.ptrType(), sum.type, sum.buffer,
                                         ArrayRef<LLVM::GEPArg>{negative});
      values.kept[sum.result] = {biased, 0};
    }
    forColumns(code, plan, values, {}, rowDims, first, count,
               [&](Value) { storeFinal(code, plan, values); });
    values.kept.clear();
  });
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

/// Puts the tile's columns of rows of the initial table into the result, unless they are the same
/// memory.
static void emitTable(CodeBuilder &code, KernelPlan &plan, KernelValues &values,
                      exec::ScatterAddOp scatter, Value target, Value first, Value count,
                      int64_t columns, TableRows rows) {
  auto type = cast<RankedTensorType>(scatter.getInit().getType());
  auto fill = [&](llvm::function_ref<Value(Value)> valueAt) {
    code.loop(rows.index ? rows.index : code.i64(0), code.i64(type.getDimSize(0)),
              code.i64(rows.count), {}, [&](Value row, ValueRange) {
                Value base = code.add(code.mul(row, code.i64(columns)), first);
                code.independentLoop(code.i64(0), count, {}, [&](Value offset, ValueRange) {
                  Value index = code.add(base, offset);
                  code.store(valueAt(index), target, index, type.getElementType());
                  return SmallVector<Value>();
                });
                return SmallVector<Value>();
              });
  };
  if (auto constant = scatter.getInit().getDefiningOp<linalg::FillOp>()) {
    Value value = values.scalarOf(constant.getInputs()[0]);
    return fill([&](Value) { return value; });
  }
  Value source = values.pointerOf(cast<BlockArgument>(scatter.getInit()).getArgNumber());
  Value differs = LLVM::ICmpOp::create(code.b, code.loc, LLVM::ICmpPredicate::ne, source, target);
  code.ifThen(differs, [&] {
    fill([&](Value index) { return code.load(source, index, type.getElementType()); });
  });
}

void ulsc::lower::emitScatterKernel(CodeBuilder &code, KernelPlan &plan, KernelValues &values,
                                    Value begin, Value end, TableRows rows) {
  auto scatter = *plan.kernel.getBody().front().getOps<exec::ScatterAddOp>().begin();
  auto type = cast<RankedTensorType>(scatter.getInit().getType());
  unsigned rowDims = plan.kernel.getRowDims();
  int64_t columns = plan.extent;
  size_t result = llvm::find(plan.kernel.getBody().front().getTerminator()->getOperands(),
                             scatter.getResult()) -
                  plan.kernel.getBody().front().getTerminator()->getOperands().begin();
  size_t tensors = llvm::count_if(plan.kernel.getArgumentTypes(),
                                  [](Type t) { return isa<RankedTensorType>(t); });
  Value target = values.pointerOf(tensors + result);
  forTiles(code, begin, end, [&](Value first, Value count) {
    emitTable(code, plan, values, scatter, target, first, count, columns, rows);
    forRows(code, plan, values, [&](SmallVector<Value> dims) {
      values.setSpace(dims, rowDims);
      MLIRContext *context = code.b.getContext();
      AffineMap rowMap =
          AffineMap::getMultiDimIdentityMap(dims.size(), context).getMajorSubMap(rowDims);
      Value index = values.valueAt(scatter.getIndices(), rowMap);
      if (!index.getType().isInteger(64))
        index = arith::ExtSIOp::create(code.b, code.loc, code.i64Type(), index);
      // One unsigned comparison rejects negative indices, too.
      Value isInside = code.cmpi(arith::CmpIPredicate::ult, index, code.i64(type.getDimSize(0)));
      if (rows.index) {
        Value place = code.remainder(index, rows.count);
        isInside = arith::AndIOp::create(code.b, code.loc, isInside,
                                         code.cmpi(arith::CmpIPredicate::eq, place, rows.index));
      }
      code.ifThen(isInside, [&] {
        values.startRow();
        Value base = code.address(target, code.add(code.mul(index, code.i64(columns)), first),
                                  type.getElementType());
        forColumns(code, plan, values, dims, 0, first, count, [&](Value offset) {
          Value added = values.valueAt(scatter.getValues(), values.identity());
          Value old = code.load(base, offset, type.getElementType());
          code.store(code.addf(old, added), base, offset, type.getElementType());
        });
      });
    });
  });
}
