//===- KernelGroups.cpp - Which generics become one kernel ------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/KernelGroups.h"

#include "dialects/Dist/Dist.h"
#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/GroupShape.h"
#include "ulsc/Recompute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <queue>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

//===---------------------------------------------------------------------------------------===//
// Cheap producers
//===---------------------------------------------------------------------------------------===//

/// Whether computing `op` again costs less than storing its result and reading it: a broadcast,
/// indices, a control field.
static bool isCheap(linalg::GenericOp op) {
  if (op.getNumReductionLoops() > 0 || op.getNumResults() != 1)
    return false;
  int64_t read = 0;
  for (Value input : op.getDpsInputs())
    read += cast<RankedTensorType>(input.getType()).getNumElements();
  if (read * 2 > cast<RankedTensorType>(op.getResult(0).getType()).getNumElements() && read > 0)
    return false;
  return llvm::none_of(*op.getBody(), [](Operation &inner) {
    return isa<math::MathDialect>(inner.getDialect()) ||
           isa<tensor::ExtractOp, exec::RandomOp, arith::DivFOp>(inner);
  });
}

void lower::duplicateCheapProducers(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || !isCheap(generic))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(generic.getResult(0).getUses())) {
      if (generic->hasOneUse() || !isa<linalg::GenericOp>(use.getOwner()) ||
          use.getOwner()->getBlock() != &block)
        continue;
      OpBuilder builder(use.getOwner());
      use.set(builder.clone(*generic)->getResult(0));
    }
  }
}

//===---------------------------------------------------------------------------------------===//
// Grouping
//===---------------------------------------------------------------------------------------===//

/// The ops of the same block that `op`, nested ops included, reads from.
static SmallVector<Operation *> getProducers(Operation *op) {
  SmallVector<Operation *> producers;
  op->walk([&](Operation *nested) {
    for (Value value : nested->getOperands())
      if (Operation *producer = value.getDefiningOp())
        if (producer->getBlock() == op->getBlock())
          producers.push_back(producer);
  });
  return producers;
}

/// Ops that kernels are not formed across: what a collective overlaps with stays where the schedule
/// put it.
static bool isBoundary(Operation &op) {
  return isa<dist::DistDialect>(op.getDialect()) || isa<uls::MicrobatchesOp>(op);
}

/// Whether the order of `op` among its like matters.
static bool hasOrder(Operation *op) { return isa<exec::PutOp, uls::ReportOp>(op); }

namespace {

/// One stretch of a block between boundaries, its generics partitioned into groups.
class Segment {
public:
  explicit Segment(ArrayRef<Operation *> ops) : ops(ops.begin(), ops.end()) {
    std::optional<size_t> lastCall;
    for (auto [i, op] : llvm::enumerate(ops)) {
      positions[op] = i;
      groupOf.push_back(i);
      members.push_back({static_cast<int64_t>(i)});
      producers.emplace_back();
      for (Operation *producer : getProducers(op))
        if (auto it = positions.find(producer); it != positions.end())
          producers.back().insert(it->second);
      if (!isa<uls::CallOp>(op))
        continue;
      // Earlier, what a repeated call gives would take the memory that repeating it saves.
      if (lastCall && op->hasAttr(kRepeatedAttr))
        producers.back().insert(*lastCall);
      lastCall = i;
    }
  }

  void group() {
    for (size_t i = 0; i < ops.size(); ++i) {
      if (!isa<linalg::GenericOp>(ops[i]))
        continue;
      // The latest producer first: it is the one most likely to share all rows.
      SmallVector<int64_t> candidates(producers[i].begin(), producers[i].end());
      llvm::sort(candidates, std::greater<int64_t>());
      for (int64_t producer : candidates)
        tryMerge(i, producer);
      if (isColumnReduction(cast<linalg::GenericOp>(ops[i])))
        mergeWithReadersOfTheSame(i);
    }
  }

  /// Puts the ops in an order that keeps groups together, before `end`; adds the groups.
  void emit(Block *block, Block::iterator end, SmallVectorImpl<KernelGroup> &groups) {
    for (int64_t id : getOrder()) {
      SmallVector<Operation *> list;
      for (int64_t member : members[id]) {
        ops[member]->moveBefore(block, end);
        list.push_back(ops[member]);
      }
      if (isa<linalg::GenericOp>(list.front()))
        groups.push_back(*analyzeGroup(list));
    }
  }

private:
  void tryMerge(int64_t op, int64_t other) {
    int64_t a = groupOf[op], b = groupOf[other];
    if (a == b || !isa<linalg::GenericOp>(ops[other]))
      return;
    SmallVector<int64_t> merged(members[a]);
    llvm::append_range(merged, members[b]);
    llvm::sort(merged);
    SmallVector<Operation *> list;
    for (int64_t member : merged)
      list.push_back(ops[member]);
    if (!analyzeGroup(list) || reachesThroughOthers(a, b) || reachesThroughOthers(b, a))
      return;
    for (int64_t member : merged)
      groupOf[member] = a;
    members[a] = std::move(merged);
    members[b].clear();
  }

  /// Reductions over the same rows that read the same tensor read it once.
  void mergeWithReadersOfTheSame(int64_t op) {
    for (Value input : cast<linalg::GenericOp>(ops[op]).getDpsInputs())
      for (Operation *user : input.getUsers())
        if (auto it = positions.find(user);
            it != positions.end() && it->second < static_cast<size_t>(op))
          if (auto generic = dyn_cast<linalg::GenericOp>(user);
              generic && isColumnReduction(generic))
            tryMerge(op, it->second);
  }

  /// Whether group `from` reads, by way of ops of neither group, from group `to`.
  bool reachesThroughOthers(int64_t from, int64_t to) {
    DenseSet<int64_t> seen;
    SmallVector<int64_t> work = {from};
    while (!work.empty()) {
      int64_t id = work.pop_back_val();
      for (int64_t member : members[id])
        for (int64_t producer : producers[member]) {
          int64_t next = groupOf[producer];
          if (next == to && id != from)
            return true;
          if (next != to && next != from && seen.insert(next).second)
            work.push_back(next);
        }
    }
    return false;
  }

  /// Groups in an order of dependence, by the position of their last op.
  SmallVector<int64_t> getOrder() {
    SmallVector<int64_t> missing(ops.size(), 0);
    SmallVector<SmallVector<int64_t>> users(ops.size());
    auto addEdge = [&](int64_t from, int64_t to) {
      if (from != to) {
        users[from].push_back(to);
        ++missing[to];
      }
    };
    int64_t lastOrdered = -1;
    for (size_t i = 0; i < ops.size(); ++i) {
      for (int64_t producer : producers[i])
        addEdge(groupOf[producer], groupOf[i]);
      if (!hasOrder(ops[i]))
        continue;
      if (lastOrdered >= 0)
        addEdge(groupOf[lastOrdered], groupOf[i]);
      lastOrdered = i;
    }
    auto isLater = [&](int64_t a, int64_t b) { return members[a].back() > members[b].back(); };
    std::priority_queue<int64_t, std::vector<int64_t>, decltype(isLater)> ready(isLater);
    for (size_t id = 0; id < ops.size(); ++id)
      if (!members[id].empty() && missing[id] == 0)
        ready.push(id);
    SmallVector<int64_t> order;
    while (!ready.empty()) {
      int64_t id = ready.top();
      ready.pop();
      order.push_back(id);
      for (int64_t user : users[id])
        if (--missing[user] == 0)
          ready.push(user);
    }
    return order;
  }

  SmallVector<Operation *> ops;
  DenseMap<Operation *, size_t> positions;
  SmallVector<int64_t> groupOf;              ///< of each op, named by one of its ops
  SmallVector<SmallVector<int64_t>> members; ///< of each group, ascending
  SmallVector<llvm::SmallSetVector<int64_t, 4>> producers;
};

} // namespace

SmallVector<KernelGroup> lower::formGroups(Block &block) {
  SmallVector<KernelGroup> groups;
  SmallVector<Operation *> ops;
  auto close = [&](Block::iterator end) {
    Segment segment(ops);
    segment.group();
    segment.emit(&block, end, groups);
    ops.clear();
  };
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (isBoundary(op))
      close(Block::iterator(op));
    else
      ops.push_back(&op);
  }
  close(Block::iterator(block.getTerminator()));
  return groups;
}
