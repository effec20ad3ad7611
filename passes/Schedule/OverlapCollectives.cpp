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

  void depend(Operation *op, Operation *on);
  void dependOnSources(Operation *op);
  void orderEffects(Operation *op);
  void limitLifetimes(Operation *op);
  void keepTable(Operation *op);
  void collectDependences();
  void markLeadingToStarts();
  Class classify(Operation *op) const;

  Block &block;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> position;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> users;
  llvm::DenseMap<Operation *, unsigned> pending;
  llvm::DenseSet<Operation *> leadsToStart;
  Operation *lastEffect = nullptr, *lastStart = nullptr, *lastCall = nullptr;
  SmallVector<Operation *> reads;
  /// Waits for reduced gradients, with the number of calls in front of them.
  SmallVector<std::pair<Operation *, unsigned>> reductions;
  unsigned numCalls = 0;
  /// Transfers between pipeline stages since the last call.
  SmallVector<Operation *> transfers;
  /// In a stage: waits for reduced sums of gradients.
  SmallVector<Operation *> sums;
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

void BlockScheduler::depend(Operation *op, Operation *on) {
  if (!on)
    return;
  users[on].push_back(op);
  ++pending[op];
}

void BlockScheduler::dependOnSources(Operation *op) {
  llvm::SmallPtrSet<Operation *, 8> sources;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && source->getBlock() == &block && source != op)
        sources.insert(source);
  });
  for (Operation *source : sources)
    depend(op, source);
}

/// The collective in a start, if it is one of `Kind`.
template <typename Kind>
static Kind getStarted(Operation *op) {
  auto start = dyn_cast<dist::StartOp>(op);
  return start ? dyn_cast<Kind>(start.getCollective().getOperation()) : Kind();
}

/// Whether an op starts a send or receive between pipeline stages, or waits for one.
static bool isTransfer(Operation *op) {
  if (auto wait = dyn_cast<dist::WaitOp>(op))
    op = wait.getHandle().getDefiningOp();
  return getStarted<dist::SendOp>(op) || getStarted<dist::ReceiveOp>(op);
}

/// Whether a start gathers stored parameters, or what is kept of gathered ones.
static bool gathersParameters(Operation *op) {
  auto gather = getStarted<dist::AllGatherOp>(op);
  return gather && llvm::all_of(gather.getInputs(), [](Value input) {
           if (auto slice = input.getDefiningOp<dist::LocalSliceOp>())
             if (auto wait = slice.getInput().getDefiningOp<dist::WaitOp>())
               return gathersParameters(wait.getHandle().getDefiningOp());
           return bool(input.getDefiningOp<MaterializeOp>());
         });
}

/// Starts keep their order, which makes it the same on all ranks; so do effects on the control
/// block and state. Waits and loops only read what they are given.
void BlockScheduler::orderEffects(Operation *op) {
  if (isa<MaterializeOp>(op)) {
    reads.push_back(op);
  } else if (isa<dist::StartOp>(op)) {
    depend(op, lastStart);
    lastStart = op;
  } else if (isa<ReportOp, UpdateOp, AssignOp>(op)) {
    depend(op, lastEffect);
    lastEffect = op;
    for (Operation *read : reads)
      depend(op, read);
    reads.clear();
  }
}

/// Whether a start reduces more than scalars: gradients, which need staging while they are under
/// way.
static bool reducesTensors(Operation *op) {
  if (auto reduce = getStarted<dist::AllReduceOp>(op))
    return !cast<dist::CollectiveOpInterface>(reduce.getOperation()).isScalar();
  return bool(getStarted<dist::ReduceScatterOp>(op));
}

/// Whether a start reduces sums over microbatches, which lie in memory until the update anyhow.
static bool reducesSums(Operation *op) {
  auto start = cast<dist::StartOp>(op);
  return reducesTensors(op) && llvm::all_of(start.getCollective().getInputs(), [](Value input) {
           while (isa_and_nonnull<ReshapeOp, PadOp>(input.getDefiningOp()))
             input = input.getDefiningOp()->getOperand(0);
           return bool(input.getDefiningOp<AccumulateOp>());
         });
}

/// Whether an op copies this rank's part of a stored parameter.
static bool slicesParameter(Operation *op) {
  if (!isa<dist::LocalSliceOp>(op))
    return false;
  Operation *source = op->getOperand(0).getDefiningOp();
  while (isa_and_nonnull<ReshapeOp, PadOp>(source))
    source = source->getOperand(0).getDefiningOp();
  return isa_and_nonnull<MaterializeOp>(source);
}

/// Calls keep their order: one that waits for nothing would else go ahead of one that waits, and
/// what it saves would live longer. Keeps gathered parameters, their parts and whole gradients from
/// living longer than overlap needs.
void BlockScheduler::limitLifetimes(Operation *op) {
  if (gathersParameters(op)) {
    depend(op, lastCall);
  } else if (slicesParameter(op)) {
    depend(op, lastCall);
    depend(op, lastEffect);
  } else if (auto wait = dyn_cast<dist::WaitOp>(op)) {
    if (reducesTensors(wait.getHandle().getDefiningOp()) && !llvm::is_contained(sums, op))
      reductions.push_back({wait, numCalls});
  } else if (isa<CallOp, MicrobatchesOp>(op)) {
    while (!reductions.empty() && reductions.front().second < numCalls) {
      depend(op, reductions.front().first);
      reductions.erase(reductions.begin());
    }
    depend(op, lastCall);
    lastCall = op;
    ++numCalls;
  }
}

/// In a pipeline stage calls and transfers keep their places among each other: they are a row of
/// the schedule's table. Nobody waits for gradients before the last of them, for other stages would
/// wait, too.
void BlockScheduler::keepTable(Operation *op) {
  if (auto wait = dyn_cast<dist::WaitOp>(op);
      wait && reducesSums(wait.getHandle().getDefiningOp())) {
    sums.push_back(op);
  } else if (isTransfer(op)) {
    depend(op, lastCall);
    transfers.push_back(op);
  } else if (isa<CallOp>(op)) {
    depend(op, lastCall);
    for (Operation *transfer : transfers)
      depend(op, transfer);
    transfers.clear();
  }
}

/// Whether a start in front of `end` takes something made of an op's results: a second reduction,
/// along other axes.
static bool feedsStartBefore(Operation *op, Operation *end) {
  for (Operation *user : op->getUsers()) {
    Operation *there = op->getBlock()->findAncestorOpInBlock(*user);
    if (!there || !there->isBeforeInBlock(end))
      continue;
    if (isa<dist::StartOp>(there) || feedsStartBefore(there, end))
      return true;
  }
  return false;
}

/// Sends and receives of a pipeline stage start right behind the call before them, ahead of
/// reductions that were placed there: another stage waits for them.
static void hoistTransfers(Block &block) {
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (!isTransfer(&op) && !isa<CallOp>(op))
      continue;
    auto isThere = [&](Value operand) {
      Operation *source = operand.getDefiningOp();
      return !source || source->getBlock() != &block || source == last ||
             source->isBeforeInBlock(last);
    };
    auto start = dyn_cast<dist::StartOp>(op);
    if (start && last && llvm::all_of(start.getCollective()->getOperands(), isThere))
      op.moveAfter(last);
    last = &op;
  }
}

void BlockScheduler::collectDependences() {
  bool isStage = block.getParentOp()->hasAttr(dist::DistDialect::kStageAttrName);
  if (isStage)
    hoistTransfers(block);
  for (Operation &op : block.without_terminator()) {
    position[&op] = ops.size();
    ops.push_back(&op);
    pending[&op] += 0;
    dependOnSources(&op);
    orderEffects(&op);
    if (isStage)
      keepTable(&op);
    limitLifetimes(&op);
  }
  for (Operation *wait : sums)
    if (!feedsStartBefore(wait, lastCall))
      depend(wait, lastCall);
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
