//===- OverlapCollectives.cpp - Start early, wait late
//-----------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Uls/Uls.h"
#include "passes/Schedule/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <set>

#define DEBUG_TYPE "ulsc-overlap-collectives"

namespace ulsc {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVESPASS
#include "passes/Schedule/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {
class OverlapCollectives : public ulsc::impl::OverlapCollectivesPassBase<OverlapCollectives> {
public:
  void runOnOperation() override;
};

/// List scheduling of one block. Ops are taken from the ready ones by class, then by their place
/// before.
class BlockScheduler {
public:
  explicit BlockScheduler(Block &block) : block(block) {}
  void run();

private:
  /// Lower is sooner: starts; what starts still need; other work; waits and thereby what depends on
  /// them.
  enum Class { Start, LeadsToStart, Other, Wait };

  void collectDependences();
  void markLeadingToStarts();
  Class classify(Operation *op) const;

  Block &block;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> position;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> users;
  llvm::DenseMap<Operation *, unsigned> pending;
  llvm::DenseSet<Operation *> leadsToStart;
};
} // namespace

/// Wraps each collective of a block in a start, and waits right behind.
static void splitCollectives(Block &block) {
  SmallVector<dist::CollectiveOpInterface> collectives(block.getOps<dist::CollectiveOpInterface>());
  for (dist::CollectiveOpInterface collective : collectives) {
    OpBuilder builder(collective);
    Location loc = collective.getLoc();
    SmallVector<Type> types(collective->getResultTypes());
    auto start =
        dist::StartOp::create(builder, loc, dist::HandleType::get(builder.getContext(), types));
    auto wait = dist::WaitOp::create(builder, loc, types, start.getHandle());
    collective->replaceAllUsesWith(wait.getResults());
    Block *body = builder.createBlock(&start.getBody());
    collective->moveBefore(body, body->end());
    builder.setInsertionPointToEnd(body);
    dist::YieldOp::create(builder, loc, collective->getResults());
  }
}

void BlockScheduler::collectDependences() {
  Operation *lastEffect = nullptr, *lastStart = nullptr;
  SmallVector<Operation *> reads;
  auto depend = [&](Operation *op, Operation *on) {
    users[on].push_back(op);
    ++pending[op];
  };
  for (Operation &op : block.without_terminator()) {
    position[&op] = ops.size();
    ops.push_back(&op);
    pending[&op] += 0;
    llvm::SmallPtrSet<Operation *, 8> sources;
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && source->getBlock() == &block && source != &op)
          sources.insert(source);
    });
    for (Operation *source : sources)
      depend(&op, source);
    // Starts keep their order, which makes it the same on all ranks; so do effects on the control
    // block and state. Waits and loops only read what they are given.
    if (isa<MaterializeOp>(op)) {
      reads.push_back(&op);
    } else if (isa<dist::StartOp>(op)) {
      if (lastStart)
        depend(&op, lastStart);
      lastStart = &op;
    } else if (isa<ReportOp, UpdateOp, AssignOp>(op)) {
      if (lastEffect)
        depend(&op, lastEffect);
      lastEffect = &op;
      for (Operation *read : reads)
        depend(&op, read);
      reads.clear();
    }
  }
}

void BlockScheduler::markLeadingToStarts() {
  for (Operation *op : llvm::reverse(ops))
    for (Operation *user : users[op])
      if (isa<dist::StartOp>(user) || leadsToStart.contains(user))
        leadsToStart.insert(op);
}

BlockScheduler::Class BlockScheduler::classify(Operation *op) const {
  if (isa<dist::StartOp>(op))
    return Start;
  if (isa<dist::WaitOp>(op))
    return Wait;
  return leadsToStart.contains(op) ? LeadsToStart : Other;
}

void BlockScheduler::run() {
  collectDependences();
  markLeadingToStarts();
  std::set<std::tuple<int, unsigned>> ready;
  auto push = [&](Operation *op) { ready.insert({classify(op), position[op]}); };
  for (Operation *op : ops)
    if (pending[op] == 0)
      push(op);
  Operation *terminator = block.getTerminator();
  while (!ready.empty()) {
    auto [_, index] = *ready.begin();
    ready.erase(ready.begin());
    Operation *op = ops[index];
    op->moveBefore(terminator);
    for (Operation *user : users[op])
      if (--pending[user] == 0)
        push(user);
  }
}

static void overlap(Block &block) {
  if (block.getOps<dist::CollectiveOpInterface>().empty())
    return;
  splitCollectives(block);
  BlockScheduler(block).run();
}

void OverlapCollectives::runOnOperation() {
  for (Operation &op : getOperation().getOps()) {
    if (!isa<BlockOp, StepOp, ForwardOp>(op))
      continue;
    overlap(op.getRegion(0).front());
    op.walk([&](MicrobatchesOp loop) { overlap(loop.getBody().front()); });
  }
}
