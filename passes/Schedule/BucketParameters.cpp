//===- BucketParameters.cpp - Gathers of new parameters, one per block call -------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/Buckets.h"
#include "passes/Schedule/Passes.h"

#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "ulsc-bucket-parameters"

namespace ulsc {
#define GEN_PASS_DEF_BUCKETPARAMETERSPASS
#include "passes/Schedule/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {
/// A new value on its way from the update of a part to the stored parameter.
struct Bucket {
  SmallVector<dist::CollectiveOpInterface> gathers;
  /// Changes of shape and assignments behind the gathers, in order.
  SmallVector<Operation *> tail;
};

class BucketParameters : public ulsc::impl::BucketParametersPassBase<BucketParameters> {
public:
  void runOnOperation() override;
};
} // namespace

/// Parameters to the first call that takes them.
static llvm::DenseMap<StringAttr, Operation *> findCalls(StepOp step) {
  llvm::DenseMap<StringAttr, Operation *> calls;
  step.walk([&](CallOp call) {
    for (Value operand : call.getArguments()) {
      while (auto convert = operand.getDefiningOp<ConvertOp>())
        operand = convert.getInput();
      if (auto materialize = operand.getDefiningOp<MaterializeOp>())
        calls.try_emplace(materialize.getParameterAttr().getAttr(), call);
    }
  });
  return calls;
}

/// What follows a gather up to the assignment; empty when it is none of an updated parameter.
static SmallVector<Operation *> findTail(dist::AllGatherOp gather) {
  if (gather.getInputs().size() != 1 || !gather.getInputs().front().getDefiningOp<UpdateOp>())
    return {};
  SmallVector<Operation *> tail;
  Value value = gather.getOutputs().front();
  while (value.hasOneUse()) {
    tail.push_back(*value.user_begin());
    if (isa<AssignOp>(tail.back()))
      return tail;
    if (!isa<SliceOp, ReshapeOp>(tail.back()))
      break;
    value = tail.back()->getResult(0);
  }
  return {};
}

/// In the order in which they can start: a unit of two dtypes has two buckets, which interleave.
static SmallVector<Bucket> findBuckets(StepOp step) {
  llvm::DenseMap<StringAttr, Operation *> calls = findCalls(step);
  UnitPatterns patterns(step->getParentOfType<ModuleOp>());
  llvm::MapVector<BucketKey, Bucket> buckets;
  for (auto gather : step.getEntry().getOps<dist::AllGatherOp>()) {
    SmallVector<Operation *> tail = findTail(gather);
    if (tail.empty())
      continue;
    StringAttr name = cast<AssignOp>(tail.back()).getParameterAttr().getAttr();
    auto collective = cast<dist::CollectiveOpInterface>(*gather);
    Bucket &bucket = buckets[getBucketKey(patterns.getUnit(calls.lookup(name), name), collective)];
    bucket.gathers.push_back(collective);
    llvm::append_range(bucket.tail, tail);
  }
  SmallVector<Bucket> sorted =
      llvm::map_to_vector(buckets, [](auto &entry) { return std::move(entry.second); });
  llvm::sort(sorted, [](const Bucket &a, const Bucket &b) {
    return a.gathers.back()->isBeforeInBlock(b.gathers.back());
  });
  return sorted;
}

static void bucket(StepOp step) {
  SmallVector<Bucket> buckets = findBuckets(step);
  // The assignments of a bucket wait for the gather behind it to start: two are under way.
  ArrayRef<Operation *> waiting;
  OpBuilder builder(step.getContext());
  for (Bucket &bucket : buckets) {
    SmallVector<std::string> sources;
    for (dist::CollectiveOpInterface gather : bucket.gathers)
      sources.push_back(getSource(gather));
    Operation *next = bucket.gathers.back()->getNextNode();
    while (llvm::is_contained(bucket.tail, next))
      next = next->getNextNode();
    for (Operation *op : bucket.tail)
      op->moveBefore(next);
    builder.setInsertionPoint(bucket.tail.front());
    mergeCollectives(builder, NameLoc::get(builder.getStringAttr(joinSources(sources))),
                     bucket.gathers);
    for (Operation *op : waiting)
      op->moveBefore(bucket.tail.front());
    waiting = bucket.tail;
  }
}

void BucketParameters::runOnOperation() {
  for (auto step : getOperation().getOps<StepOp>())
    bucket(step);
}
