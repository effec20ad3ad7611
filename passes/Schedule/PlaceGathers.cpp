//===- PlaceGathers.cpp - Gathers of stored parameters where they are used --------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/Buckets.h"
#include "passes/Schedule/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "ulsc-place-gathers"

namespace ulsc {
#define GEN_PASS_DEF_PLACEGATHERSPASS
#include "passes/Schedule/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {
/// What leads from a stored parameter to the value that blocks take: materialize, gather, changes
/// of shape.
struct GatherChain {
  SmallVector<Operation *, 4> ops;
  Value getResult() const { return ops.back()->getResult(0); }
};

/// The operands of one call that chains give.
using Uses = llvm::MapVector<GatherChain *, SmallVector<OpOperand *, 1>>;

class PlaceGathers : public ulsc::impl::PlaceGathersPassBase<PlaceGathers> {
public:
  using PlaceGathersPassBase::PlaceGathersPassBase;
  void runOnOperation() override;

private:
  void collectChains(StepOp step);
  void place(Block &block);
  /// Writes the chains of one call in front of `anchor`, with one gather for all that can share it.
  void gather(Operation *anchor, const Uses &uses);

  SmallVector<GatherChain> chains;
  llvm::DenseMap<Value, GatherChain *> chainOf;
};
} // namespace

void PlaceGathers::collectChains(StepOp step) {
  chains.clear();
  chainOf.clear();
  for (auto gather : step.getEntry().getOps<dist::AllGatherOp>()) {
    auto materialize = gather.getInputs().size() == 1
                           ? gather.getInputs().front().getDefiningOp<MaterializeOp>()
                           : MaterializeOp();
    if (!materialize)
      continue;
    GatherChain chain{{materialize, gather}};
    auto isStep = [](Operation *op) { return isa<SliceOp, ReshapeOp>(op); };
    while (chain.getResult().hasOneUse() && isStep(*chain.getResult().user_begin()))
      chain.ops.push_back(*chain.getResult().user_begin());
    // A new value of the parameter is gathered, too, but not for a block.
    if (llvm::all_of(chain.getResult().getUsers(), llvm::IsaPred<CallOp>))
      chains.push_back(std::move(chain));
  }
  for (GatherChain &chain : chains)
    chainOf[chain.getResult()] = &chain;
}

void PlaceGathers::gather(Operation *anchor, const Uses &uses) {
  OpBuilder builder(anchor);
  llvm::MapVector<BucketKey, SmallVector<dist::CollectiveOpInterface>> buckets;
  IRMapping mapping;
  for (auto &[chain, operands] : uses)
    for (Operation *op : ArrayRef(chain->ops).take_front(2))
      if (auto gather = dyn_cast<dist::CollectiveOpInterface>(builder.clone(*op, mapping)))
        buckets[getBucketKey(gather)].push_back(gather);
  for (auto &[chain, operands] : uses) {
    for (Operation *op : ArrayRef(chain->ops).drop_front(2))
      builder.clone(*op, mapping);
    for (OpOperand *operand : operands)
      operand->set(mapping.lookup(chain->getResult()));
  }
  for (auto &[key, members] : buckets) {
    SmallVector<std::string> sources;
    for (dist::CollectiveOpInterface member : members)
      sources.push_back(getSource(member));
    builder.setInsertionPointAfter(members.back());
    mergeCollectives(builder, NameLoc::get(builder.getStringAttr(joinSources(sources))), members);
  }
}

/// Gathers for a call start before the call ahead of it, so that they travel while that computes.
void PlaceGathers::place(Block &block) {
  llvm::DenseMap<GatherChain *, Value> gathered;
  Operation *ahead = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto call = dyn_cast<CallOp>(op);
    if (!call)
      continue;
    Uses needed, missing;
    for (OpOperand &operand : call->getOpOperands())
      if (GatherChain *chain = chainOf.lookup(operand.get()))
        needed[chain].push_back(&operand);
    if (needed.empty())
      continue;
    for (auto &[chain, operands] : needed) {
      Value value = gathered.lookup(chain);
      if (!value)
        missing[chain] = operands;
      else
        for (OpOperand *operand : operands)
          operand->set(value);
    }
    if (!missing.empty())
      gather(ahead ? ahead : call.getOperation(), missing);
    if (reshardAfterForward)
      gathered.clear();
    for (auto &[chain, operands] : needed)
      gathered[chain] = operands.front()->get();
    ahead = call;
  }
}

void PlaceGathers::runOnOperation() {
  if (!reshardAfterForward && getOperation()->hasAttr(UlsDialect::kStorageAttrName))
    getOperation()->setAttr(UlsDialect::kKeepsGatheredAttrName, UnitAttr::get(&getContext()));
  for (auto step : getOperation().getOps<StepOp>()) {
    collectChains(step);
    step.walk([&](MicrobatchesOp loop) { place(loop.getBody().front()); });
    place(step.getEntry());
    for (GatherChain &chain : chains)
      for (Operation *op : llvm::reverse(chain.ops))
        if (op->use_empty())
          op->erase();
  }
}
