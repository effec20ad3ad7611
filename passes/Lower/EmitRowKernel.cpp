//===- EmitRowKernel.cpp - Loops of kernels that are split by rows -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/EmitKernel.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

void ulsc::lower::decompose(CodeBuilder &code, Value index, ArrayRef<LoopDim> loops,
                            MutableArrayRef<Value> dims) {
  for (size_t i = loops.size(); i-- > 0;) {
    dims[loops[i].last] = i == 0 ? index : code.remainder(index, loops[i].size);
    if (i > 0)
      index = code.divide(index, loops[i].size);
  }
}

namespace {

/// Emits one column loop nest.
class GroupEmitter {
public:
  GroupEmitter(CodeBuilder &code, LoopGroup &group, KernelValues &values, SmallVector<Value> dims,
               unsigned rowDims, exec::KernelOp kernel)
      : code(code), group(group), values(values), dims(std::move(dims)), rowDims(rowDims),
        kernel(kernel) {}

  void emit(Value begin, Value end) {
    flatBegin = begin;
    flatEnd = end;
    for (linalg::GenericOp op : group.kept)
      buffers[op.getResult(0)] = allocate(op.getResult(0));
    for (linalg::GenericOp root : group.roots) {
      if (isElementwise(root))
        continue;
      reductions.push_back(root);
      for (Value result : root.getResults())
        if (hasParallelColumns())
          buffers[result] = allocate(result);
    }
    emitNest(0, {});
    values.setRowPoint(nullptr);
    for (auto [value, pointer] : buffers)
      values.kept[value] = {pointer, rowDims};
  }

private:
  bool isReduced(const LoopDim &dim) {
    return group.iterators[dim.last] == utils::IteratorType::reduction;
  }
  bool hasParallelColumns() {
    return llvm::any_of(group.columns, [&](const LoopDim &dim) { return !isReduced(dim); });
  }
  Value allocate(Value tensor) {
    auto type = cast<RankedTensorType>(tensor.getType());
    int64_t elements = 1;
    for (int64_t size : type.getShape().drop_front(rowDims))
      elements *= size;
    return code.stack(elements *
                      exec::getElementBytes(CodeBuilder::registerType(type.getElementType())));
  }

  /// The loops from `depth` on, with the accumulators carried in; returns them.
  SmallVector<Value> emitNest(size_t depth, ValueRange carried) {
    values.setSpace(dims, rowDims);
    if (depth == group.columns.size())
      return emitPoint(carried);
    const LoopDim dim = group.columns[depth];
    bool startsReduction = isReduced(dim) && (depth == 0 || !isReduced(group.columns[depth - 1]));
    SmallVector<Value> initial(carried);
    if (startsReduction)
      initial = initialValues();
    Value begin = flatBegin ? flatBegin : code.i64(0), end = flatEnd ? flatEnd : code.i64(dim.size);
    auto body = [&](Value index, ValueRange current) {
      if (depth == 0)
        values.setRowPoint(code.b.getInsertionBlock()->getParentOp());
      dims[dim.last] = index;
      return emitNest(depth + 1, current);
    };
    bool isInnermost = depth + 1 == group.columns.size();
    scf::ForOp loop = isInnermost ? code.independentLoop(begin, end, initial, body)
                                  : code.loop(begin, end, code.i64(1), initial, body);
    dims[dim.last] = {};
    SmallVector<Value> results = llvm::to_vector_of<Value>(loop.getResults());
    if (startsReduction)
      finishReductions(results, depth == 0);
    return startsReduction ? SmallVector<Value>() : results;
  }

  SmallVector<Value> initialValues() {
    SmallVector<Value> initial;
    for (linalg::GenericOp root : reductions)
      for (OpOperand &init : root.getDpsInitsMutable())
        initial.push_back(values.valueAt(init.get(), root.getMatchingIndexingMap(&init)));
    return initial;
  }

  void finishReductions(ArrayRef<Value> results, bool isRowLevel) {
    values.setSpace(dims, rowDims);
    Operation *loopPoint = nullptr;
    if (isRowLevel)
      values.setRowPoint(loopPoint);
    size_t position = 0;
    for (linalg::GenericOp root : reductions)
      for (OpResult result : root->getResults()) {
        Value value = results[position++];
        AffineMap at =
            root.getMatchingIndexingMap(root.getDpsInitOperand(result.getResultNumber()));
        if (isRowLevel)
          values.reduced[result] = value;
        else
          storeToBuffer(result, value, at);
        storeYields(result, value, at);
      }
  }

  void storeToBuffer(Value tensor, Value value, AffineMap at) {
    auto type = cast<RankedTensorType>(tensor.getType());
    Value index = values.linearIndex(at.getResults().drop_front(rowDims),
                                     type.getShape().drop_front(rowDims));
    code.store(value, buffers[tensor], index, CodeBuilder::registerType(type.getElementType()));
  }

  void storeYields(Value tensor, Value value, AffineMap at) {
    for (auto [i, yielded] :
         llvm::enumerate(kernel.getBody().front().getTerminator()->getOperands()))
      if (yielded == tensor)
        values.storeResult(i, value, at);
  }

  /// All values of one point, then all stores, so that results may lie where inputs lie.
  SmallVector<Value> emitPoint(ValueRange carried) {
    values.startLoop();
    SmallVector<Value> next;
    SmallVector<std::tuple<Value, Value, AffineMap>> computed, keeps;
    size_t position = 0;
    for (linalg::GenericOp root : group.roots) {
      if (!isElementwise(root)) {
        size_t count = root.getNumDpsInits();
        next.append(values.bodyAt(root, values.identity(), carried.slice(position, count)));
        position += count;
        continue;
      }
      for (OpResult result : root->getResults()) {
        AffineMap at =
            root.getMatchingIndexingMap(root.getDpsInitOperand(result.getResultNumber()));
        computed.emplace_back(result, values.valueAt(result, at), at);
      }
    }
    for (linalg::GenericOp op : group.kept) {
      AffineMap at = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
      keeps.emplace_back(op.getResult(0), values.valueAt(op.getResult(0), at), at);
    }
    for (auto &[tensor, value, at] : computed)
      storeYields(tensor, value, at);
    for (auto &[tensor, value, at] : keeps)
      storeToBuffer(tensor, value, at);
    return next;
  }

  CodeBuilder &code;
  LoopGroup &group;
  KernelValues &values;
  SmallVector<Value> dims;
  unsigned rowDims;
  exec::KernelOp kernel;
  Value flatBegin, flatEnd;
  SmallVector<linalg::GenericOp> reductions;
  llvm::MapVector<Value, Value> buffers;
};

} // namespace

/// How many leading dimensions of the space of `group` are rows.
static unsigned countRowDims(LoopGroup &group) {
  unsigned first = group.sizes.size();
  for (const LoopDim &dim : group.columns)
    first = std::min(first, dim.first);
  return first;
}

void ulsc::lower::emitRowKernel(CodeBuilder &code, KernelPlan &plan, KernelValues &values,
                                Value begin, Value end) {
  if (plan.flat) {
    LoopGroup &group = plan.groups.front();
    SmallVector<Value> dims(group.sizes.size());
    GroupEmitter(code, group, values, dims, /*rowDims=*/0, plan.kernel).emit(begin, end);
    return;
  }
  code.loop(begin, end, code.i64(1), {}, [&](Value row, ValueRange) {
    values.startRow();
    unsigned last = plan.rows.empty() ? 0 : plan.rows.back().last + 1;
    SmallVector<Value> rowDims(last);
    decompose(code, row, plan.rows, rowDims);
    for (LoopGroup &group : plan.groups) {
      SmallVector<Value> dims(rowDims);
      dims.resize(group.sizes.size());
      GroupEmitter(code, group, values, dims, countRowDims(group), plan.kernel).emit({}, {});
    }
    return SmallVector<Value>();
  });
}
