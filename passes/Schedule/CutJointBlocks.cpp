//===- CutJointBlocks.cpp - Forward and backward blocks from joint ones
//-------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Uls/Uls.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/RecomputePolicy.h"
#include "passes/Schedule/SavedValues.h"
#include "passes/Schedule/SplitBackward.h"

#include "ulsc/Cost/OpCost.h"
#include "ulsc/Recompute.h"
#include "ulsc/Support/Nearest.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/iterator.h"

#define DEBUG_TYPE "ulsc-cut-joint-blocks"

namespace ulsc {
#define GEN_PASS_DEF_CUTJOINTBLOCKSPASS
#include "passes/Schedule/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {
/// What a forward call is asked for: a variant of the forward block each.
struct ForwardResults {
  bool primal = true, saved = true;
  /// Whether it is made again for its backward call.
  bool isAgain = false;
};

/// A joint block's forward and backward blocks and how to call them.
struct Halves {
  BlockOp joint, backward;
  /// The backward block in two, by the gradients that the first one gives.
  std::map<std::vector<int64_t>, SplitBackward> splits;
  bool callsWholeBackward = false;
  /// Forward blocks by the suffix of their name, made when they are called.
  llvm::StringMap<BlockOp> forwards;
  SavedValues saved;
  /// Ops of the backward block that are cheap enough to be computed again.
  llvm::DenseSet<Operation *> again;
  /// Primal arguments that the backward block takes, by index.
  SmallVector<unsigned> keptArguments;
};

class CutJointBlocks : public ulsc::impl::CutJointBlocksPassBase<CutJointBlocks> {
public:
  using CutJointBlocksPassBase::CutJointBlocksPassBase;
  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  LogicalResult checkKept(ArrayRef<BlockOp> joints);
  LogicalResult cut(BlockOp joint);
  BlockOp buildBackward(BlockOp joint, const SavedValues &saved, Halves &halves);
  CallOp rewriteForward(CallOp call, Halves &halves);
  CallOp rewriteBackward(BackwardOp backward, CallOp forwardCall, Halves &halves);
  LogicalResult rewriteSecondHalf(BackwardOp backward);
  LogicalResult rewriteCalls(Operation *function);

  RecomputePolicy policy;
  llvm::DenseMap<StringAttr, Halves> halves;
  /// What the second half of a backward call takes, by what the first one left.
  struct Rest {
    SplitBackward *split;
    SmallVector<Value> arguments;
    IntegerAttr layer;
  };
  llvm::DenseMap<Value, Rest> rests;
};
} // namespace

/// Erases ops without uses and effects, last first.
static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

static StringRef getSuffix(const ForwardResults &wanted) {
  if (!wanted.saved)
    return ".fwd.bare";
  if (!wanted.isAgain)
    return ".fwd";
  return wanted.primal ? ".again.through" : ".again";
}

/// The block that gives what a forward call is asked for.
static BlockOp getForward(Halves &halves, const ForwardResults &wanted) {
  BlockOp &forward = halves.forwards[getSuffix(wanted)];
  if (forward)
    return forward;
  BlockOp joint = halves.joint;
  ValueRange arguments = joint.getEntry().getArguments().take_front(joint.getNumPrimalArguments());
  ResultOp result = joint.getResultOp();
  SmallVector<Value> results;
  if (wanted.primal)
    llvm::append_range(results, result.getValues());
  if (wanted.saved)
    llvm::append_range(results, halves.saved.results);
  forward = createBlock(joint, halves.backward, joint.getSymName() + getSuffix(wanted), arguments,
                        ValueRange(results).getTypes());

  IRMapping mapping;
  mapping.map(arguments, forward.getEntry().getArguments());
  OpBuilder builder = OpBuilder::atBlockEnd(&forward.getEntry());
  for (Operation &op : joint.getEntry()) {
    if (&op == result)
      break;
    builder.clone(op, mapping);
  }
  SmallVector<Value> yielded;
  for (Value value : results)
    yielded.push_back(mapping.lookup(value));
  YieldOp::create(builder, result.getLoc(), yielded);
  eraseDeadOps(forward.getEntry());
  if (wanted.isAgain)
    setRecomputed(forward, llvm::to_vector(llvm::make_pointer_range(forward.getEntry())));
  return forward;
}

BlockOp CutJointBlocks::buildBackward(BlockOp joint, const SavedValues &saved, Halves &halves) {
  SmallVector<Value> arguments;
  for (unsigned i : halves.keptArguments)
    arguments.push_back(joint.getArgument(i));
  llvm::append_range(arguments, saved.results);
  llvm::append_range(arguments,
                     joint.getEntry().getArguments().drop_front(joint.getNumPrimalArguments()));
  TypeRange results(joint.getResultTypes().drop_front(joint.getNumPrimalResults()));
  BlockOp backward = createBlock(joint, joint, joint.getSymName() + ".bwd", arguments, results);

  IRMapping mapping;
  mapping.map(arguments, backward.getEntry().getArguments());
  OpBuilder builder = OpBuilder::atBlockEnd(&backward.getEntry());
  for (Operation *op : saved.recomputed) {
    // A recomputed op may also give values that are saved: their saved form stays.
    SmallVector<Value> kept;
    for (Value value : op->getResults())
      kept.push_back(mapping.lookupOrNull(value));
    Operation *clone = builder.clone(*op, mapping);
    if (isa<dist::CollectiveOpInterface>(clone))
      clone->setAttr(kRepeatedAttr, builder.getUnitAttr());
    else
      halves.again.insert(clone);
    for (auto [value, earlier, again] :
         llvm::zip_equal(op->getResults(), kept, clone->getResults()))
      mapping.map(value, earlier ? earlier : Value(again));
  }
  for (Operation *op = joint.getResultOp()->getNextNode(); op; op = op->getNextNode())
    builder.clone(*op, mapping);
  eraseDeadOps(backward.getEntry());
  setRecomputed(backward, saved.recomputed);
  return backward;
}

LogicalResult CutJointBlocks::cut(BlockOp joint) {
  FailureOr<SavedValues> saved = chooseSavedValues(joint, policy);
  if (failed(saved))
    return emitError(joint.getLoc())
           << "recompute is \"" << policy.str() << "\", which keeps too little of block "
           << joint.getSymName()
           << ": its backward part needs a value that is neither kept nor may be computed again; "
              "add values to keep, or give a price, which lets more be computed again";
  Halves &cut = halves[joint.getSymNameAttr()];
  cut.joint = joint;
  cut.saved = std::move(*saved);
  for (auto [i, argument] : llvm::enumerate(joint.getEntry().getArguments()))
    if (cut.saved.arguments.contains(argument))
      cut.keptArguments.push_back(i);
  cut.backward = buildBackward(joint, cut.saved, cut);
  return success();
}

/// Attributes of a call that its new form keeps: location-independent ones such as the layer.
static void copyDiscardableAttrs(Operation *from, Operation *to) {
  to->setDiscardableAttrs(from->getDiscardableAttrDictionary());
}

/// The call of a forward block instead of that of a joint one; residuals keep their uses.
CallOp CutJointBlocks::rewriteForward(CallOp call, Halves &halves) {
  ValueRange primal = call.getResults();
  ForwardResults wanted;
  wanted.isAgain = call->hasAttr(kRepeatedAttr);
  wanted.saved = !primal.empty() && isa<ResidualsType>(primal.back().getType());
  if (wanted.saved)
    primal = primal.drop_back();
  if (wanted.isAgain)
    wanted.primal = llvm::any_of(primal, [](Value value) { return !value.use_empty(); });
  OpBuilder builder(call);
  BlockOp forward = getForward(halves, wanted);
  auto newCall = CallOp::create(builder, call.getLoc(), forward.getResultTypes(),
                                FlatSymbolRefAttr::get(forward.getSymNameAttr()),
                                call.getArguments(), call.getLayerAttr());
  copyDiscardableAttrs(call, newCall);
  if (wanted.primal)
    for (auto [before, after] : llvm::zip(primal, newCall.getResults()))
      before.replaceAllUsesWith(after);
  return newCall;
}

CallOp CutJointBlocks::rewriteBackward(BackwardOp backward, CallOp forwardCall, Halves &halves) {
  SmallVector<Value> arguments;
  for (unsigned i : halves.keptArguments)
    arguments.push_back(forwardCall.getArguments()[i]);
  llvm::append_range(arguments, forwardCall.getResults().take_back(halves.saved.results.size()));
  llvm::append_range(arguments, backward.getCotangents());
  OpBuilder builder(backward);
  BlockOp block = halves.backward;
  SplitBackward *split = nullptr;
  if (Value left = backward.getLeft()) {
    std::vector<int64_t> gives = backward.getGives()->vec();
    auto [it, isNew] = halves.splits.try_emplace(gives);
    split = &it->second;
    if (isNew)
      *split = splitBackward(halves.backward, gives, halves.again, halves.splits.size() - 1);
    block = split->first;
  } else {
    halves.callsWholeBackward = true;
  }
  auto newCall = CallOp::create(builder, backward.getLoc(), block.getResultTypes(),
                                FlatSymbolRefAttr::get(block.getSymNameAttr()), arguments,
                                forwardCall.getLayerAttr());
  copyDiscardableAttrs(backward, newCall);
  for (auto [before, after] : llvm::zip(backward.getResults(), newCall.getResults()))
    if (before != backward.getLeft())
      before.replaceAllUsesWith(after);
  if (split) {
    Rest &rest = rests[backward.getLeft()];
    rest = {split, {}, forwardCall.getLayerAttr()};
    for (unsigned i : split->arguments)
      rest.arguments.push_back(arguments[i]);
    llvm::append_range(rest.arguments, newCall.getResults().take_back(split->numPassedOn));
  }
  return newCall;
}

/// The gradients that a first half left, from what it left.
LogicalResult CutJointBlocks::rewriteSecondHalf(BackwardOp backward) {
  auto it = rests.find(backward.getResiduals());
  if (it == rests.end() || backward.getGives() != ArrayRef(it->second.split->secondGives))
    return backward.emitOpError("gives other gradients than its first half left");
  OpBuilder builder(backward);
  BlockOp block = it->second.split->second;
  auto newCall = CallOp::create(builder, backward.getLoc(), block.getResultTypes(),
                                FlatSymbolRefAttr::get(block.getSymNameAttr()),
                                it->second.arguments, it->second.layer);
  copyDiscardableAttrs(backward, newCall);
  backward.replaceAllUsesWith(newCall.getResults());
  return success();
}

LogicalResult CutJointBlocks::rewriteCalls(Operation *function) {
  // Forward calls first: a backward call finds its forward call's new form through the residuals.
  llvm::DenseMap<Value, CallOp> callOfResiduals;
  SmallVector<CallOp> oldCalls;
  function->walk([&](CallOp call) {
    if (halves.contains(call.getCalleeAttr().getAttr()))
      oldCalls.push_back(call);
  });
  for (CallOp call : oldCalls) {
    CallOp newCall = rewriteForward(call, halves[call.getCalleeAttr().getAttr()]);
    if (!call.getResults().empty())
      callOfResiduals[call.getResults().back()] = newCall;
  }
  SmallVector<BackwardOp> oldBackwards;
  WalkResult walk = function->walk([&](BackwardOp backward) {
    oldBackwards.push_back(backward);
    if (backward.isSecondHalf())
      return failed(rewriteSecondHalf(backward)) ? WalkResult::interrupt() : WalkResult::advance();
    auto it = halves.find(backward.getCalleeAttr().getAttr());
    CallOp forwardCall = callOfResiduals.lookup(backward.getResiduals());
    if (it == halves.end() || !forwardCall) {
      backward.emitOpError("takes residuals that no forward call in this function left");
      return WalkResult::interrupt();
    }
    rewriteBackward(backward, forwardCall, it->second);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  for (BackwardOp backward : llvm::reverse(oldBackwards))
    backward.erase();
  for (CallOp call : oldCalls)
    call.erase();
  return success();
}

LogicalResult CutJointBlocks::initialize(MLIRContext *context) {
  FailureOr<RecomputePolicy> read = RecomputePolicy::read(context, recompute);
  if (failed(read))
    return failure();
  policy = *read;
  return success();
}

/// A list of values to keep must be one of a block that is there.
LogicalResult CutJointBlocks::checkKept(ArrayRef<BlockOp> joints) {
  if (!policy.keep || joints.empty())
    return success();
  SmallVector<StringRef> names;
  for (BlockOp joint : joints)
    names.push_back(joint.getSymName());
  const auto *found = llvm::find(names, policy.keep->block);
  if (found == names.end())
    return getOperation().emitError()
           << "recompute is \"" << policy.str() << "\", but no block is called "
           << policy.keep->block << "; there are " << llvm::join(names, ", ")
           << suggestNearest(policy.keep->block, names);
  unsigned count = 0;
  BlockOp block = joints[found - names.begin()];
  for (Operation &op : block.getEntry()) {
    if (isa<ResultOp>(op))
      break;
    count += op.getNumResults();
  }
  for (unsigned value : policy.keep->values)
    if (value >= count)
      return getOperation().emitError()
             << "recompute is \"" << policy.str() << "\", but the forward part of "
             << policy.keep->block << " has " << count << " values, numbered from 0";
  return success();
}

void CutJointBlocks::runOnOperation() {
  ModuleOp module = getOperation();
  halves.clear();
  rests.clear();
  SmallVector<BlockOp> joints;
  for (auto block : module.getOps<BlockOp>())
    if (block.isJoint())
      joints.push_back(block);
  if (failed(checkKept(joints)))
    return signalPassFailure();
  for (BlockOp joint : joints)
    if (failed(cut(joint)))
      return signalPassFailure();

  if (!module.getOps<StepOp>().empty())
    for (auto forward : llvm::make_early_inc_range(module.getOps<ForwardOp>()))
      forward.erase();
  for (Operation &op : module.getOps())
    if (isa<StepOp, ForwardOp>(op) && failed(rewriteCalls(&op)))
      return signalPassFailure();
  for (BlockOp joint : joints) {
    Halves &half = halves[joint.getSymNameAttr()];
    if (half.forwards.empty())
      getForward(half, {});
    if (!half.splits.empty() && !half.callsWholeBackward)
      half.backward.erase();
    joint.erase();
  }
  if (!joints.empty())
    module->setAttr(kRecomputeAttr, Builder(&getContext()).getStringAttr(policy.str()));
}
