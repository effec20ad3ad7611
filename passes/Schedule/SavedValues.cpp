//===- SavedValues.cpp - Minimum cut between forward and backward
//---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/SavedValues.h"
#include "passes/Schedule/RecomputePolicy.h"

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
  SavingNetwork(BlockOp joint, unsigned kinds) : joint(joint), kinds(kinds) {
    source = network.addNode();
    sink = network.addNode();
  }

  SavedValues solve() {
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
    int64_t value = network.solve(source, sink);
    (void)value;
    assert(value < MinCut::kInfinite && "every value can be kept");
    return collect();
  }

private:
  struct Nodes {
    unsigned in, out;
  };

  llvm::iterator_range<Block::iterator> forwardOps() {
    return {joint.getEntry().begin(), joint.getResultOp()->getIterator()};
  }

  void addValue(Value value, int64_t keepPrice) {
    nodes[value] = {network.addNode(), network.addNode()};
    network.addEdge(nodes[value].in, nodes[value].out, keepPrice);
  }

  void addArgument(BlockArgument argument, unsigned index) {
    // Parameters are there anyway, and so is the context.
    bool isFree =
        joint.getArgAttr(index, "uls.parameter") || !isa<RankedTensorType>(argument.getType());
    addValue(argument, isFree ? 0 : sizeInBytes(argument) * kBytePrice);
    network.addEdge(source, nodes[argument].in, MinCut::kInfinite);
  }

  void addOp(Operation &op) {
    unsigned again = network.addNode();
    int64_t price = 1;
    for (Value result : op.getResults()) {
      addValue(result, sizeInBytes(result) * kBytePrice);
      network.addEdge(again, nodes[result].in, MinCut::kInfinite);
      price += sizeInBytes(result) * kRecomputePrice;
    }
    network.addEdge(source, again, getRecomputeKind(&op) & kinds ? price : MinCut::kInfinite);
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
      if (isa<BlockArgument>(value)) {
        saved.arguments.insert(value);
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
      if (again.contains(&op))
        saved.recomputed.push_back(&op);
      for (Value result : op.getResults())
        if (kept.contains(result))
          saved.results.push_back(result);
    }
    return saved;
  }

  BlockOp joint;
  unsigned kinds;
  MinCut network;
  unsigned source, sink;
  llvm::DenseMap<Value, Nodes> nodes;
};
} // namespace

SavedValues ulsc::chooseSavedValues(BlockOp joint, unsigned kinds) {
  return SavingNetwork(joint, kinds).solve();
}
