//===- CutJointBlocks.cpp - Forward and backward blocks from joint ones
//-------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Uls/Uls.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/SavedValues.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "ulsc-cut-joint-blocks"

namespace ulsc {
#define GEN_PASS_DEF_CUTJOINTBLOCKSPASS
#include "passes/Schedule/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {
/// A joint block's two halves and how to call them.
struct Halves {
  BlockOp forward, backward;
  /// Primal arguments that the backward block takes, by index.
  SmallVector<unsigned> keptArguments;
  /// Number of results of the forward block behind the primal ones.
  unsigned numSaved = 0;
};

class CutJointBlocks : public ulsc::impl::CutJointBlocksPassBase<CutJointBlocks> {
public:
  void runOnOperation() override;

private:
  Halves cut(BlockOp joint);
  BlockOp buildForward(BlockOp joint, ArrayRef<Value> saved);
  BlockOp buildBackward(BlockOp joint, const SavedValues &saved, Halves &halves);
  LogicalResult rewriteCalls(Operation *function, const llvm::DenseMap<StringAttr, Halves> &halves);
};
} // namespace

/// Erases ops without uses and effects, last first.
static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// A plain block of the given signature beside `joint`, with argument attributes and an empty body.
static BlockOp createBlock(BlockOp joint, StringRef suffix, ValueRange arguments,
                           TypeRange results) {
  OpBuilder builder(joint);
  SmallVector<Type> argumentTypes(arguments.getTypes());
  OperationState state(joint.getLoc(), BlockOp::getOperationName());
  state.addAttribute(SymbolTable::getSymbolAttrName(),
                     builder.getStringAttr(joint.getSymName() + suffix));
  state.addAttribute(BlockOp::getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType(argumentTypes, results)));
  Region *region = state.addRegion();
  Block *body = new Block;
  region->push_back(body);
  for (Value argument : arguments)
    body->addArgument(argument.getType(), argument.getLoc());
  auto block = cast<BlockOp>(builder.create(state));
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    auto blockArgument = dyn_cast<BlockArgument>(argument);
    if (!blockArgument || blockArgument.getOwner() != &joint.getEntry())
      continue;
    if (DictionaryAttr attrs = joint.getArgAttrDict(blockArgument.getArgNumber()))
      block.setArgAttrs(i, attrs);
  }
  return block;
}

BlockOp CutJointBlocks::buildForward(BlockOp joint, ArrayRef<Value> saved) {
  unsigned numArguments = joint.getNumPrimalArguments();
  ValueRange arguments = joint.getEntry().getArguments().take_front(numArguments);
  ResultOp result = joint.getResultOp();
  SmallVector<Value> results(result.getValues());
  llvm::append_range(results, saved);
  BlockOp forward = createBlock(joint, ".fwd", arguments, ValueRange(results).getTypes());

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
  BlockOp backward = createBlock(joint, ".bwd", arguments, results);

  IRMapping mapping;
  mapping.map(arguments, backward.getEntry().getArguments());
  OpBuilder builder = OpBuilder::atBlockEnd(&backward.getEntry());
  for (Operation *op : saved.recomputed) {
    // A recomputed op may also give values that are saved: their saved form stays.
    SmallVector<Value> kept;
    for (Value value : op->getResults())
      kept.push_back(mapping.lookupOrNull(value));
    Operation *clone = builder.clone(*op, mapping);
    for (auto [value, earlier, again] :
         llvm::zip_equal(op->getResults(), kept, clone->getResults()))
      mapping.map(value, earlier ? earlier : Value(again));
    ++numRecomputed;
  }
  for (Operation *op = joint.getResultOp()->getNextNode(); op; op = op->getNextNode())
    builder.clone(*op, mapping);
  eraseDeadOps(backward.getEntry());
  return backward;
}

Halves CutJointBlocks::cut(BlockOp joint) {
  SavedValues saved = chooseSavedValues(joint);
  Halves halves;
  for (auto [i, argument] : llvm::enumerate(joint.getEntry().getArguments()))
    if (saved.arguments.contains(argument))
      halves.keptArguments.push_back(i);
  halves.numSaved = saved.results.size();
  numSaved += saved.results.size();
  halves.forward = buildForward(joint, saved.results);
  halves.backward = buildBackward(joint, saved, halves);
  return halves;
}

/// Attributes of a call that its new form keeps: location-independent ones such as the layer.
static void copyDiscardableAttrs(Operation *from, Operation *to) {
  to->setDiscardableAttrs(from->getDiscardableAttrDictionary());
}

LogicalResult CutJointBlocks::rewriteCalls(Operation *function,
                                           const llvm::DenseMap<StringAttr, Halves> &halves) {
  // Forward calls first: a backward call finds its forward call's new form through the residuals.
  llvm::DenseMap<Value, CallOp> callOfResiduals;
  SmallVector<CallOp> oldCalls;
  function->walk([&](CallOp call) {
    auto it = halves.find(call.getCalleeAttr().getAttr());
    if (it == halves.end())
      return;
    OpBuilder builder(call);
    BlockOp forward = BlockOp(it->second.forward);
    auto newCall = CallOp::create(builder, call.getLoc(), forward.getResultTypes(),
                                  FlatSymbolRefAttr::get(forward.getSymNameAttr()),
                                  call.getArguments(), call.getLayerAttr());
    copyDiscardableAttrs(call, newCall);
    for (auto [before, after] : llvm::zip(call.getResults(), newCall.getResults())) {
      if (isa<ResidualsType>(before.getType()))
        break;
      before.replaceAllUsesWith(after);
    }
    if (isa<ResidualsType>(call.getResults().back().getType()))
      callOfResiduals[call.getResults().back()] = newCall;
    oldCalls.push_back(call);
  });
  WalkResult walk = function->walk([&](BackwardOp backward) {
    auto it = halves.find(backward.getCalleeAttr().getAttr());
    CallOp forwardCall = callOfResiduals.lookup(backward.getResiduals());
    if (it == halves.end() || !forwardCall) {
      backward.emitOpError("takes residuals that no forward call in this function left");
      return WalkResult::interrupt();
    }
    const Halves &half = it->second;
    SmallVector<Value> arguments;
    for (unsigned i : half.keptArguments)
      arguments.push_back(forwardCall.getArguments()[i]);
    llvm::append_range(arguments, forwardCall.getResults().take_back(half.numSaved));
    llvm::append_range(arguments, backward.getCotangents());
    OpBuilder builder(backward);
    BlockOp block = BlockOp(half.backward);
    auto newCall = CallOp::create(builder, backward.getLoc(), block.getResultTypes(),
                                  FlatSymbolRefAttr::get(block.getSymNameAttr()), arguments,
                                  forwardCall.getLayerAttr());
    copyDiscardableAttrs(backward, newCall);
    backward.replaceAllUsesWith(newCall.getResults());
    backward.erase();
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  for (CallOp call : oldCalls)
    call.erase();
  return success();
}

void CutJointBlocks::runOnOperation() {
  ModuleOp module = getOperation();
  llvm::DenseMap<StringAttr, Halves> halves;
  SmallVector<BlockOp> joints;
  for (auto block : module.getOps<BlockOp>())
    if (block.isJoint())
      joints.push_back(block);
  for (BlockOp joint : joints)
    halves[joint.getSymNameAttr()] = cut(joint);

  if (!module.getOps<StepOp>().empty())
    for (auto forward : llvm::make_early_inc_range(module.getOps<ForwardOp>()))
      forward.erase();
  for (Operation &op : module.getOps())
    if (isa<StepOp, ForwardOp>(op) && failed(rewriteCalls(&op, halves)))
      return signalPassFailure();
  for (BlockOp joint : joints)
    joint.erase();
}
