//===- RepeatForward.cpp - Layers run forward again before their backward ---------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"
#include "passes/Schedule/Layers.h"
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
class RepeatForward : public ulsc::impl::RepeatForwardPassBase<RepeatForward> {
public:
  using RepeatForwardPassBase::RepeatForwardPassBase;
  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  LogicalResult checkLayers();
  void repeat(Block &block);

  RecomputePolicy policy;
};
} // namespace

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
LogicalResult RepeatForward::checkLayers() {
  int64_t count = countLayers(getOperation());
  RecomputePolicy nearest = policy;
  nearest.group = std::min(policy.group, count);
  if (policy.layers)
    nearest.layers = std::min(*policy.layers, count);
  if (count == 0 || nearest.str() == policy.str())
    return success();
  return getOperation().emitError() << "recompute is \"" << policy.str() << "\", but there are "
                                    << count << " layers; the nearest: " << nearest.str();
}

void RepeatForward::repeat(Block &block) {
  SmallVector<Layer> layers = collectLayers(block);
  for (ArrayRef<Layer> pass : splitIntoPasses(layers)) {
    if (policy.layers)
      pass = pass.take_front(*policy.layers);
    for (size_t begin = 0; begin < pass.size(); begin += policy.group)
      repeatGroup(pass.drop_front(begin).take_front(policy.group));
  }
}

void RepeatForward::runOnOperation() {
  if (!policy.isFull)
    return;
  SmallVector<Block *> blocks;
  for (auto step : getOperation().getOps<StepOp>()) {
    blocks.push_back(&step.getEntry());
    step.walk([&](MicrobatchesOp loop) { blocks.push_back(&loop.getBody().front()); });
  }
  if (failed(checkLayers()))
    return signalPassFailure();
  for (Block *block : blocks)
    repeat(*block);
}
