//===- SavedValues.cpp - Minimum cut between forward and backward
//---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/SavedValues.h"

#include "ulsc/Cost/OpCost.h"
#include "ulsc/MinCut.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

/// Capacities are in units of 1/kBytePrice byte, so that computing again costs a fraction of
/// keeping.
static constexpr int64_t kBytePrice = 256;
/// Computing a cheap value again reads and writes about its size once: priced as 1/16 of keeping it
/// for the time between forward and backward. Keeps equal cuts from recomputing more than they
/// must.
static constexpr int64_t kRecomputePrice = kBytePrice / 16;

/// With a policy's price, capacities are in nanoseconds times bytes in a MiB.
static constexpr double kNsPerUs = 1000, kMiB = 1024 * 1024;

static int64_t sizeInBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return 0;
  return type.getNumElements() * int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
}

namespace {
/// Each value is two nodes joined by the cost of keeping it. Each op is a node before its results'
/// first ones; an edge from the source to it is the cost of computing it in the backward part, paid
/// once for all results. What lies on the sink's side is computed there.
class SavingNetwork {
public:
  SavingNetwork(BlockOp joint, const RecomputePolicy &policy)
      : joint(joint), policy(policy), cluster(cost::Cluster::getDefault()) {
    source = network.addNode();
    sink = network.addNode();
  }

  FailureOr<SavedValues> solve() {
    for (auto [i, argument] :
         llvm::enumerate(joint.getEntry().getArguments().take_front(joint.getNumPrimalArguments())))
      addArgument(argument, i);
    for (Operation &op : forwardOps())
      addOp(op);
    for (Operation *op = joint.getResultOp()->getNextNode(); op; op = op->getNextNode())
      op->walk([&](Operation *nested) {
        for (Value operand : nested->getOperands())
          if (nodes.count(operand))
            network.addEdge(nodes[operand].out, sink, MinCut::kInfinite);
      });
    if (network.solve(source, sink) >= MinCut::kInfinite)
      return failure();
    return collect();
  }

private:
  struct Nodes {
    unsigned in, out;
  };

  llvm::iterator_range<Block::iterator> forwardOps() {
    return {joint.getEntry().begin(), joint.getResultOp()->getIterator()};
  }

  /// Whether a value is kept, where the policy says so. Views are left to the cut.
  std::optional<bool> getDecision(Operation &op, unsigned number) {
    if (!policy.keep || policy.keep->block != joint.getSymName() ||
        getRecomputeKind(&op) == RearrangesOnly)
      return std::nullopt;
    return llvm::is_contained(policy.keep->values, number);
  }

  int64_t priceOfKeeping(Value value) {
    if (!policy.price)
      return sizeInBytes(value) * kBytePrice;
    // Where bytes are free, a view is still run again rather than kept beside what it shows.
    return sizeInBytes(value) * *policy.price + 2;
  }

  int64_t priceOfRunning(Operation &op) {
    // Of two cuts that cost the same, the one that runs less again.
    if (policy.price)
      return 1 + int64_t(cost::predictUs(&op, cluster) * kNsPerUs * kMiB);
    int64_t price = 1;
    for (Value result : op.getResults())
      price += sizeInBytes(result) * kRecomputePrice;
    return price;
  }

  void addValue(Value value, int64_t keepPrice) {
    nodes[value] = {network.addNode(), network.addNode()};
    network.addEdge(nodes[value].in, nodes[value].out, keepPrice);
  }

  void addArgument(BlockArgument argument, unsigned index) {
    // Parameters are there anyway, and so is the context.
    bool isFree =
        joint.getArgAttr(index, "uls.parameter") || !isa<RankedTensorType>(argument.getType());
    addValue(argument, isFree ? 0 : priceOfKeeping(argument));
    network.addEdge(source, nodes[argument].in, MinCut::kInfinite);
  }

  void addOp(Operation &op) {
    unsigned again = network.addNode();
    for (Value result : op.getResults()) {
      std::optional<bool> isKept = getDecision(op, numResults++);
      addValue(result, isKept && !*isKept ? MinCut::kInfinite : priceOfKeeping(result));
      network.addEdge(again, nodes[result].in, MinCut::kInfinite);
      if (isKept && *isKept)
        network.addEdge(source, nodes[result].in, MinCut::kInfinite);
    }
    bool isAllowed = getRecomputeKind(&op) & policy.kinds;
    network.addEdge(source, again, isAllowed ? priceOfRunning(op) : MinCut::kInfinite);
    for (Value operand : op.getOperands())
      if (nodes.count(operand))
        network.addEdge(nodes[operand].out, again, MinCut::kInfinite);
  }

  /// Walks up from the uses in the backward part to the cut.
  SavedValues collect() {
    SavedValues saved;
    llvm::DenseSet<Value> kept;
    llvm::DenseSet<Operation *> again;
    SmallVector<Value> pending;
    for (Operation *op = joint.getResultOp()->getNextNode(); op; op = op->getNextNode())
      op->walk([&](Operation *nested) { llvm::append_range(pending, nested->getOperands()); });
    llvm::DenseSet<Value> seen;
    while (!pending.empty()) {
      Value value = pending.pop_back_val();
      auto it = nodes.find(value);
      if (it == nodes.end() || !seen.insert(value).second)
        continue;
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        saved.arguments.insert(value);
        if (!joint.getArgAttr(argument.getArgNumber(), "uls.parameter"))
          saved.bytes += sizeInBytes(value);
        continue;
      }
      if (network.isSourceSide(it->second.in)) {
        kept.insert(value);
        continue;
      }
      again.insert(value.getDefiningOp());
      llvm::append_range(pending, value.getDefiningOp()->getOperands());
    }
    for (Operation &op : forwardOps()) {
      if (again.contains(&op)) {
        saved.recomputed.push_back(&op);
        saved.recomputedUs += cost::predictUs(&op, cluster);
      }
      for (Value result : op.getResults())
        if (kept.contains(result)) {
          saved.results.push_back(result);
          saved.bytes += sizeInBytes(result);
        }
    }
    return saved;
  }

  BlockOp joint;
  RecomputePolicy policy;
  cost::Cluster cluster;
  MinCut network;
  unsigned source, sink, numResults = 0;
  llvm::DenseMap<Value, Nodes> nodes;
};
} // namespace

FailureOr<SavedValues> ulsc::chooseSavedValues(BlockOp joint, const RecomputePolicy &policy) {
  return SavingNetwork(joint, policy).solve();
}
