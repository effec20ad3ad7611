//===- BucketGradients.cpp - One reduction per block call
//------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Uls/Uls.h"
#include "passes/Schedule/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

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

/// What one collective may carry: operands that become final in one call, reduced alike.
using BucketKey = std::tuple<Operation *, ArrayAttr, dist::Reduction>;
} // namespace

/// The call that adds to a gradient last, or null when the value is no accumulated gradient.
static Operation *getLastContributor(Value gradient) {
  auto accumulate = gradient.getDefiningOp<AccumulateOp>();
  if (!accumulate)
    return nullptr;
  return accumulate.getValue().getDefiningOp<CallOp>();
}

/// "a, b, c" without repetition, in order.
static StringAttr joinCauses(ArrayRef<dist::AllReduceOp> members) {
  SmallVector<StringRef> causes;
  for (dist::AllReduceOp member : members)
    if (StringAttr cause = member.getCauseAttr();
        cause && !llvm::is_contained(causes, cause.getValue()))
      causes.push_back(cause.getValue());
  if (causes.empty())
    return {};
  return StringAttr::get(members.front()->getContext(), llvm::join(causes, "; "));
}

/// Where the members come from: the module that all their causes begin with, "model.layers.*", or
/// all of them, "model.norm, lm_head".
static Location getSource(ArrayRef<dist::AllReduceOp> members) {
  SmallVector<StringRef> sources;
  for (dist::AllReduceOp member : members)
    if (StringAttr cause = member.getCauseAttr())
      if (StringRef source = cause.getValue().split(": ").first;
          !llvm::is_contained(sources, source))
        sources.push_back(source);
  if (sources.empty())
    return dist::AllReduceOp(members.front()).getLoc();
  StringRef common = sources.front();
  auto isInside = [&](StringRef source) {
    return source == common || source.starts_with((common + ".").str());
  };
  while (common.contains('.') && !llvm::all_of(sources, isInside))
    common = common.rsplit('.').first;
  std::string name = common.contains('.') ? common.str() : llvm::join(sources, ", ");
  return NameLoc::get(StringAttr::get(members.front()->getContext(), name));
}

static void merge(ArrayRef<dist::AllReduceOp> members) {
  SmallVector<Value> inputs;
  Operation *last = nullptr;
  for (dist::AllReduceOp member : members) {
    llvm::append_range(inputs, member.getInputs());
    for (Value input : member.getInputs())
      if (!last || last->isBeforeInBlock(input.getDefiningOp()))
        last = input.getDefiningOp();
  }
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  dist::AllReduceOp first = members.front();
  auto merged = dist::AllReduceOp::create(
      builder, getSource(members), ValueRange(inputs).getTypes(), first.getReductionAttr(), inputs,
      first.getMeshAttr(), first.getAxesAttr(), joinCauses(members));
  unsigned next = 0;
  for (dist::AllReduceOp member : members)
    for (Value output : member.getOutputs())
      output.replaceAllUsesWith(merged.getOutputs()[next++]);
  for (dist::AllReduceOp member : members)
    member.erase();
}

void BucketGradients::runOnOperation() {
  for (auto step : getOperation().getOps<StepOp>()) {
    llvm::MapVector<BucketKey, SmallVector<dist::AllReduceOp>> buckets;
    for (auto reduce : step.getEntry().getOps<dist::AllReduceOp>()) {
      Operation *contributor = getLastContributor(reduce.getInputs().front());
      if (reduce.getInputs().size() == 1 && contributor)
        buckets[{contributor, reduce.getAxesAttr(), reduce.getReduction()}].push_back(reduce);
    }
    for (auto &[key, members] : buckets)
      merge(members);
  }
}
