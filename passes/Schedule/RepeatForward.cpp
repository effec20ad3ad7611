//===- RepeatForward.cpp - Layers run forward again before their backward ---------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/RecomputePolicy.h"

#include "ulsc/Recompute.h"

#include "mlir/IR/IRMapping.h"

#define DEBUG_TYPE "ulsc-repeat-forward"

namespace ulsc {
#define GEN_PASS_DEF_REPEATFORWARDPASS
#include "passes/Schedule/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {
/// A layer's forward call and the backward call that takes what it leaves.
struct Layer {
  CallOp forward;
  BackwardOp backward;
};

class RepeatForward : public ulsc::impl::RepeatForwardPassBase<RepeatForward> {
public:
  using RepeatForwardPassBase::RepeatForwardPassBase;
  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  LogicalResult checkLayers(int64_t count);
  LogicalResult repeat(Block &block);

  RecomputePolicy policy;
};
} // namespace

/// The layers that a block runs forward and backward, in forward order.
static SmallVector<Layer> collectLayers(Block &block) {
  SmallVector<Layer> layers;
  for (auto call : block.getOps<CallOp>()) {
    if (!call.getLayerAttr() || call.getNumResults() == 0 ||
        !isa<ResidualsType>(call.getResults().back().getType()))
      continue;
    for (Operation *user : call.getResults().back().getUsers())
      if (auto backward = dyn_cast<BackwardOp>(user); backward && backward->getBlock() == &block)
        layers.push_back({call, backward});
  }
  return layers;
}

/// Runs a group's forward again right before the first of its backward calls, and lets the first
/// run leave nothing.
static void repeatGroup(ArrayRef<Layer> group) {
  Operation *first = group.front().backward;
  for (const Layer &layer : group)
    if (layer.backward->isBeforeInBlock(first))
      first = layer.backward;
  IRMapping again;
  OpBuilder builder(first);
  for (Layer layer : group) {
    Operation *clone = builder.clone(*layer.forward, again);
    clone->setAttr(kRepeatedAttr, builder.getUnitAttr());
    layer.backward.getResidualsMutable().assign(clone->getResults().back());
  }
  for (Layer layer : group) {
    CallOp call = layer.forward;
    OpBuilder before(call);
    auto bare = CallOp::create(before, call.getLoc(), TypeRange(call.getResultTypes()).drop_back(),
                               call.getCalleeAttr(), call.getArguments(), call.getLayerAttr());
    bare->setDiscardableAttrs(call->getDiscardableAttrDictionary());
    ValueRange primal = call.getResults().drop_back();
    for (auto [value, replacement] : llvm::zip_equal(primal, bare.getResults()))
      value.replaceAllUsesWith(replacement);
    call.erase();
  }
}

LogicalResult RepeatForward::initialize(MLIRContext *context) {
  FailureOr<RecomputePolicy> read = RecomputePolicy::read(context, recompute);
  if (failed(read))
    return failure();
  policy = *read;
  return success();
}

/// A group or a number of layers that the model does not have is no way to say "all of them".
LogicalResult RepeatForward::checkLayers(int64_t count) {
  RecomputePolicy nearest = policy;
  nearest.group = std::min(policy.group, count);
  if (policy.layers)
    nearest.layers = std::min(*policy.layers, count);
  if (count == 0 || nearest.str() == policy.str())
    return success();
  return getOperation().emitError() << "recompute is \"" << policy.str() << "\", but there are "
                                    << count << " layers; the nearest: " << nearest.str();
}

LogicalResult RepeatForward::repeat(Block &block) {
  SmallVector<Layer> layers = collectLayers(block);
  if (failed(checkLayers(layers.size())))
    return failure();
  if (policy.layers && size_t(*policy.layers) < layers.size())
    layers.truncate(*policy.layers);
  for (size_t begin = 0; begin < layers.size(); begin += policy.group) {
    size_t size = std::min(size_t(policy.group), layers.size() - begin);
    repeatGroup(ArrayRef(layers).slice(begin, size));
  }
  return success();
}

void RepeatForward::runOnOperation() {
  if (!policy.isFull)
    return;
  SmallVector<Block *> blocks;
  for (auto step : getOperation().getOps<StepOp>()) {
    blocks.push_back(&step.getEntry());
    step.walk([&](MicrobatchesOp loop) { blocks.push_back(&loop.getBody().front()); });
  }
  for (Block *block : blocks)
    if (failed(repeat(*block)))
      return signalPassFailure();
}
