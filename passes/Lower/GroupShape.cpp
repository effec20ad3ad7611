//===- GroupShape.cpp - Whether generics fit in one kernel, and how it is split ---------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/GroupShape.h"

#include "dialects/Exec/ExecOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

static bool isReduction(utils::IteratorType type) { return type == utils::IteratorType::reduction; }

bool lower::isColumnReduction(linalg::GenericOp op) {
  auto iterators = op.getIteratorTypesArray();
  return !iterators.empty() && isReduction(iterators.front()) && !isReduction(iterators.back());
}

/// How many leading dimensions are parallel.
static int64_t getParallelPrefix(linalg::GenericOp op) {
  auto iterators = op.getIteratorTypesArray();
  return llvm::find_if(iterators, isReduction) - iterators.begin();
}

/// How many leading results of `map` are its dimensions in order.
static int64_t getIdentityPrefix(AffineMap map) {
  int64_t count = 0;
  while (count < map.getNumResults() &&
         map.getResult(count) == getAffineDimExpr(count, map.getContext()))
    ++count;
  return count;
}

/// Whether an element of `op` costs more than a read.
static bool isExpensive(linalg::GenericOp op) {
  return llvm::any_of(*op.getBody(), [](Operation &inner) {
    return isa<math::MathDialect>(inner.getDialect()) || isa<exec::RandomOp, arith::DivFOp>(inner);
  });
}

namespace {

/// Generics that may become one kernel.
class Analysis {
public:
  explicit Analysis(ArrayRef<Operation *> list) {
    for (Operation *op : list) {
      ops.push_back(cast<linalg::GenericOp>(op));
      members.insert(op);
    }
  }

  std::optional<KernelGroup> run() {
    // Gathers read from memory, so not from a value of the kernel.
    for (linalg::GenericOp op : ops)
      for (auto extract : op.getBody()->getOps<tensor::ExtractOp>())
        if (Operation *producer = extract.getTensor().getDefiningOp();
            producer && members.contains(producer))
          return std::nullopt;
    KernelGroup group;
    group.ops.assign(ops.begin(), ops.end());
    group.isColumns = llvm::any_of(ops, isColumnReduction);
    auto rowDims = group.isColumns ? analyzeColumns() : analyzeRows();
    if (!rowDims)
      return std::nullopt;
    group.rowDims = *rowDims;
    return group;
  }

private:
  bool isMember(Value value) {
    return value.getDefiningOp() && members.contains(value.getDefiningOp());
  }

  /// Calls `visit` with each operand that another op of the group makes.
  bool allFlows(function_ref<bool(linalg::GenericOp, OpOperand &)> visit) {
    for (linalg::GenericOp op : ops)
      for (OpOperand *operand : op.getDpsInputOperands())
        if (isMember(operand->get()) && !visit(op, *operand))
          return false;
    return true;
  }

  std::optional<int64_t> analyzeRows() {
    int64_t rowDims = std::numeric_limits<int64_t>::max();
    for (linalg::GenericOp op : ops)
      rowDims = std::min(rowDims, getParallelPrefix(op));
    allFlows([&](linalg::GenericOp op, OpOperand &operand) {
      rowDims = std::min(rowDims, getIdentityPrefix(op.getMatchingIndexingMap(&operand)));
      return true;
    });
    SmallVector<int64_t> sizes = ops.front().getStaticLoopRanges();
    for (linalg::GenericOp op : ops) {
      SmallVector<int64_t> others = op.getStaticLoopRanges();
      int64_t same = 0;
      while (same < rowDims && others[same] == sizes[same])
        ++same;
      rowDims = std::min(rowDims, same);
    }
    if (ops.size() == 1)
      return rowDims;
    if (rowDims == 0 &&
        llvm::any_of(ops, [](linalg::GenericOp op) { return op.getNumLoops() > 0; }))
      return std::nullopt;
    if (losesThreads(product(ArrayRef(sizes).take_front(rowDims))) || repeatsExpensive(rowDims))
      return std::nullopt;
    return rowDims;
  }

  /// Whether ops with many rows would be split into few.
  bool losesThreads(int64_t rows) {
    constexpr int64_t enough = 64;
    return rows < enough &&
           llvm::any_of(
               ops,
               [&](linalg::GenericOp op) {
                 int64_t own =
                     product(ArrayRef(op.getStaticLoopRanges()).take_front(getParallelPrefix(op)));
                 return getParallelPrefix(op) > 0 && own > 4 * rows &&
                        op.getNumReductionLoops() > 0;
               });
  }

  /// Whether an op with costly elements would be computed again for each element of a larger space.
  /// What is one value per row is computed once per row.
  bool repeatsExpensive(int64_t rowDims) {
    return !allFlows([&](linalg::GenericOp op, OpOperand &operand) {
      auto producer = operand.get().getDefiningOp<linalg::GenericOp>();
      int64_t loops = producer.getNumLoops();
      return loops <= rowDims || producer.getNumReductionLoops() > 0 || !isExpensive(producer) ||
             op.getMatchingIndexingMap(&operand).isPermutation();
    });
  }

  /// Kind columns: reductions over the same rows, elementwise ops of the whole space that only they
  /// read, and elementwise ops on their results.
  std::optional<int64_t> analyzeColumns() {
    linalg::GenericOp first = *llvm::find_if(ops, isColumnReduction);
    auto iterators = first.getIteratorTypesArray();
    SmallVector<int64_t> sizes = first.getStaticLoopRanges();
    int64_t rowDims = llvm::count_if(iterators, isReduction);
    if (llvm::any_of(ArrayRef(iterators).drop_front(rowDims), isReduction) ||
        llvm::any_of(ArrayRef(iterators).take_front(rowDims),
                     [](auto type) { return !isReduction(type); }))
      return std::nullopt;
    DenseSet<Operation *> later;
    for (linalg::GenericOp op : ops) {
      bool isLater = llvm::any_of(op.getDpsInputs(), [&](Value input) {
        Operation *producer = input.getDefiningOp();
        return isMember(input) &&
               (later.contains(producer) || isColumnReduction(cast<linalg::GenericOp>(producer)));
      });
      if (isLater ? !fitsLater(op, ArrayRef(sizes).drop_front(rowDims))
                  : !fitsSpace(op, sizes, iterators))
        return std::nullopt;
      if (isLater)
        later.insert(op);
    }
    return rowDims;
  }

  /// An op on the reductions' results.
  bool fitsLater(linalg::GenericOp op, ArrayRef<int64_t> columns) {
    if (op.getNumReductionLoops() > 0 || ArrayRef(op.getStaticLoopRanges()) != columns)
      return false;
    return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
      return !isMember(operand->get()) || op.getMatchingIndexingMap(operand).isIdentity();
    });
  }

  /// A reduction of the group's space, or an elementwise op of it that only the group reads.
  bool fitsSpace(linalg::GenericOp op, ArrayRef<int64_t> sizes,
                 ArrayRef<utils::IteratorType> iterators) {
    if (ArrayRef(op.getStaticLoopRanges()) != sizes)
      return false;
    for (OpOperand *operand : op.getDpsInputOperands())
      if (isMember(operand->get()) && !op.getMatchingIndexingMap(operand).isIdentity())
        return false;
    if (op.getNumReductionLoops() > 0)
      return ArrayRef(op.getIteratorTypesArray()) == iterators;
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return members.contains(user) && cast<linalg::GenericOp>(user).getNumLoops() == sizes.size();
    });
  }

  SmallVector<linalg::GenericOp> ops;
  DenseSet<Operation *> members;
};

} // namespace

std::optional<KernelGroup> lower::analyzeGroup(ArrayRef<Operation *> ops) {
  return Analysis(ops).run();
}
