//===- OrderFaults.cpp - Programs without one of their orders ---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Faults.h"

#include "passes/Lower/RuntimeCalls.h"

#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::test;

bool test::isAt(Location location, StringRef text) {
  bool isFound = text.empty();
  location->walk([&](Location inner) {
    auto name = dyn_cast<NameLoc>(inner);
    isFound |= name && name.getName().getValue().contains(text);
    return isFound ? WalkResult::interrupt() : WalkResult::advance();
  });
  return isFound;
}

SmallVector<Collective> test::findCollectives(ModuleOp module, StringRef at) {
  SmallVector<Collective> found;
  module.walk([&](exec::CollectiveStartOp start) {
    if (!isAt(start.getLoc(), at))
      return;
    for (Operation *op = start->getNextNode(); op; op = op->getNextNode())
      if (auto wait = dyn_cast<exec::CollectiveWaitOp>(op);
          wait && wait.getSlot() == start.getSlot())
        return found.push_back({start, wait});
  });
  return found;
}

static Value getRoot(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

bool test::touches(Operation *op, Value buffer) {
  return !isa<ViewLikeOpInterface>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
    return isa<MemRefType>(operand.getType()) && getRoot(operand) == getRoot(buffer);
  });
}

/// Work of the compute stream.
static bool isWork(Operation *op) {
  return isa<exec::LaunchOp, exec::GemmOp, exec::CopyOp, exec::FillOp>(op);
}

static bool usesSlot(Operation *op, int64_t slot) {
  auto start = dyn_cast<exec::CollectiveStartOp>(op);
  auto wait = dyn_cast<exec::CollectiveWaitOp>(op);
  return (start && int64_t(start.getSlot()) == slot) || (wait && int64_t(wait.getSlot()) == slot);
}

bool test::waitLate(ModuleOp module, StringRef at) {
  SmallVector<Collective> found = findCollectives(module, at);
  for (Collective collective : found) {
    exec::CollectiveWaitOp wait = collective.wait;
    for (Operation *op = wait->getNextNode(); op && !usesSlot(op, wait.getSlot());
         op = op->getNextNode()) {
      bool isUser = llvm::any_of(collective.start.getOutputs(),
                                 [&](Value output) { return touches(op, output); });
      if (!isUser)
        continue;
      if (!isWork(op))
        break;
      wait->moveAfter(op);
      return true;
    }
  }
  return false;
}

/// Moves the views that `op` takes, and views of these, before `place`.
static void moveViews(Operation *op, Operation *place) {
  for (Value operand : op->getOperands()) {
    Operation *made = operand.getDefiningOp();
    if (!made || !isa<ViewLikeOpInterface>(made) || made->getBlock() != place->getBlock() ||
        made->isBeforeInBlock(place))
      continue;
    moveViews(made, place);
    made->moveBefore(place);
  }
}

bool test::startEarly(ModuleOp module, StringRef at) {
  SmallVector<Collective> found = findCollectives(module, at);
  for (Collective collective : found) {
    exec::CollectiveStartOp start = collective.start;
    for (Operation *op = start->getPrevNode(); op && !usesSlot(op, start.getSlot());
         op = op->getPrevNode()) {
      bool isMaker =
          llvm::any_of(start.getInputs(), [&](Value input) { return touches(op, input); });
      if (!isMaker)
        continue;
      if (!isWork(op))
        break;
      moveViews(start, op);
      start->moveBefore(op);
      return true;
    }
  }
  return false;
}

bool test::readLate(ModuleOp module, StringRef at) {
  bool isDone = false;
  module.walk([&](exec::FillOp end) {
    if (!end->hasAttr(lower::kPoisonAttrName))
      return WalkResult::advance();
    auto last = dyn_cast_or_null<exec::LaunchOp>(end->getPrevNode());
    bool isReader = last && isAt(last.getLoc(), at) &&
                    llvm::any_of(last.getInputs(),
                                 [&](Value input) { return getRoot(input) == end.getTarget(); });
    if (!isReader)
      return WalkResult::advance();
    OpBuilder builder(end);
    builder.setInsertionPointAfter(end);
    builder.clone(*last);
    isDone = true;
    return WalkResult::interrupt();
  });
  return isDone;
}
