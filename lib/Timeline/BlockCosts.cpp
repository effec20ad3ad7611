//===- BlockCosts.cpp - What a call of a block takes ------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "lib/Timeline/BlockCosts.h"

#include "ulsc/Cost/OpCost.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::timeline;

int64_t timeline::getBytes(Type type) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  return tensor.getNumElements() * ((tensor.getElementTypeBitWidth() + 7) / 8);
}

/// A view has no bytes of its own; it keeps those of its operand.
static Value getStored(Value value) {
  while (auto view = value.getDefiningOp<uls::ReshapeOp>())
    value = view.getInput();
  return value;
}

/// Follows values from op to op. What the block takes and gives is its caller's.
static int64_t getLargestTemporaryBytes(Block &body) {
  llvm::DenseMap<Value, Operation *> lastUses;
  llvm::DenseSet<Value> given;
  for (Value value : body.getTerminator()->getOperands())
    given.insert(getStored(value));
  for (Operation &op : body)
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        lastUses[getStored(operand)] = &op;
    });
  auto isCounted = [&](Value value) {
    return value.getParentBlock() == &body && !llvm::isa<BlockArgument>(value) &&
           !given.contains(value) && !llvm::isa<uls::ReshapeOp>(value.getDefiningOp());
  };
  llvm::DenseMap<Operation *, int64_t> freed;
  for (auto [value, user] : lastUses)
    if (isCounted(value))
      freed[user] += getBytes(value.getType());
  int64_t live = 0, most = 0;
  for (Operation &op : body.without_terminator()) {
    for (Value result : op.getResults())
      if (isCounted(result) && lastUses.contains(result))
        live += getBytes(result.getType());
    most = std::max(most, live);
    live -= freed.lookup(&op);
  }
  return most;
}

BlockCosts timeline::priceBlock(uls::BlockOp block, const cost::Cluster &cluster) {
  BlockCosts costs;
  double us = 0;
  auto add = [&](dist::CollectiveOpInterface start, dist::CollectiveOpInterface wait) {
    if (us > 0)
      costs.parts.push_back({us, {}, {}});
    us = 0;
    if (start)
      costs.parts.push_back({0, start, {}});
    if (wait)
      costs.parts.push_back({0, {}, wait});
  };
  for (Operation &op : block.getEntry().without_terminator()) {
    if (auto start = llvm::dyn_cast<dist::StartOp>(op)) {
      add(start.getCollective(), {});
    } else if (auto wait = llvm::dyn_cast<dist::WaitOp>(op)) {
      if (auto start = wait.getHandle().getDefiningOp<dist::StartOp>())
        add({}, start.getCollective());
    } else if (auto collective = llvm::dyn_cast<dist::CollectiveOpInterface>(op)) {
      add(collective, collective);
    } else {
      us += cost::predictUs(&op, cluster);
    }
  }
  add({}, {});
  costs.temporaryBytes = getLargestTemporaryBytes(block.getEntry());
  return costs;
}
