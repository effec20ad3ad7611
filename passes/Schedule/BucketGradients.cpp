//===- BucketGradients.cpp - One reduction per block call -------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/ParameterFlow.h"
#include "passes/Schedule/Buckets.h"
#include "passes/Schedule/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "ulsc-bucket-gradients"

namespace ulsc {
#define GEN_PASS_DEF_BUCKETGRADIENTSPASS
#include "passes/Schedule/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {
class BucketGradients : public ulsc::impl::BucketGradientsPassBase<BucketGradients> {
public:
  void runOnOperation() override;
};
} // namespace

/// Whether what is reduced was accumulated.
static bool isSum(dist::CollectiveOpInterface reduction) {
  Value value = reduction.getInputs().front();
  while (Operation *op = value.getDefiningOp()) {
    if (isa<AccumulateOp>(op))
      return true;
    // What one reduction leaves, another along other axes may complete.
    if (!isa<ReshapeOp, PadOp, ConvertOp, dist::CollectiveOpInterface>(op))
      break;
    value = op->getOperand(cast<OpResult>(value).getResultNumber());
  }
  return false;
}

/// Whether what is reduced was accumulated, or will be: then it is a parameter's gradient.
static bool isGradient(dist::CollectiveOpInterface reduction) {
  if (isSum(reduction))
    return true;
  Value value = reduction.getOutputs().front();
  while (value.hasOneUse() && isa<ConvertOp>(*value.user_begin()))
    value = value.user_begin()->getResult(0);
  return llvm::all_of(value.getUsers(), llvm::IsaPred<AccumulateOp>);
}

/// Sources are in the causes: "model.layers.*.mlp: contraction of batch, …".
static Location getLocation(ArrayRef<dist::CollectiveOpInterface> members) {
  SmallVector<std::string> sources;
  for (dist::CollectiveOpInterface member : members)
    if (StringAttr cause = member.getCauseAttr())
      sources.push_back(cause.getValue().split(": ").first.str());
  std::string source = joinSources(sources);
  if (source.empty())
    return members.front()->getLoc();
  return NameLoc::get(StringAttr::get(members.front()->getContext(), source));
}

/// Moves what only rearranges or converts a gradient to where the gradient is final: buckets start
/// in the order of their last operands.
static void hoistChanges(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<ReshapeOp, PadOp, ConvertOp>(op))
    return;
  hoistChanges(op->getOperand(0));
  Operation *source = op->getOperand(0).getDefiningOp();
  if (source && source->getBlock() == op->getBlock())
    op->moveAfter(source);
}

static void bucket(Block &block, const UnitPatterns &patterns) {
  // Sums are apart from what a microbatch adds to them, which a stage has in the same block.
  llvm::MapVector<std::pair<BucketKey, int>, SmallVector<dist::CollectiveOpInterface>> buckets;
  for (auto reduction : block.getOps<dist::CollectiveOpInterface>()) {
    if (!isa<dist::AllReduceOp, dist::ReduceScatterOp>(*reduction) ||
        reduction.getInputs().size() != 1 || !isGradient(reduction))
      continue;
    CallOp contributor = getContributor(reduction.getInputs().front());
    if (!contributor || contributor->getBlock() != &block)
      continue;
    StringAttr parameter = findUpdatedParameter(reduction.getOutputs().front());
    BucketKey key = getBucketKey(patterns.getUnit(contributor, parameter), reduction);
    buckets[{key, isSum(reduction)}].push_back(reduction);
  }
  for (auto &[key, members] : buckets) {
    Operation *last = nullptr;
    for (dist::CollectiveOpInterface member : members)
      hoistChanges(member.getInputs().front());
    for (dist::CollectiveOpInterface member : members)
      for (Value input : member.getInputs())
        if (!last || last->isBeforeInBlock(input.getDefiningOp()))
          last = input.getDefiningOp();
    OpBuilder builder(last->getContext());
    builder.setInsertionPointAfter(last);
    mergeCollectives(builder, getLocation(members), members);
  }
  // What used the first member's result may stand before the bucket.
  if (!buckets.empty())
    sortTopologically(&block);
}

void BucketGradients::runOnOperation() {
  UnitPatterns patterns(getOperation());
  for (auto step : getOperation().getOps<StepOp>()) {
    step.walk([&](MicrobatchesOp loop) { bucket(loop.getBody().front(), patterns); });
    bucket(step.getEntry(), patterns);
  }
}
