//===- PlaceGathers.cpp - Gathers of stored parameters where they are used --------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/Buckets.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/ReshardPolicy.h"

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
  /// The axes among whose ranks the value lies between its uses; all of the gather's where nothing
  /// but what is stored is kept, none where it is kept whole.
  SmallVector<StringAttr> keptOver;

  Value getResult() const { return ops.back()->getResult(0); }
  dist::AllGatherOp getGather() const { return cast<dist::AllGatherOp>(ops[1]); }
  bool keepsWhole() const { return keptOver.empty(); }
  bool keepsPart() const {
    return !keepsWhole() && ArrayRef<Attribute>(llvm::to_vector_of<Attribute>(keptOver)) !=
                                getGather().getAxes().getValue();
  }
};

/// The operands of one call that chains give.
using Uses = llvm::MapVector<GatherChain *, SmallVector<OpOperand *, 1>>;

class PlaceGathers : public ulsc::impl::PlaceGathersPassBase<PlaceGathers> {
public:
  using PlaceGathersPassBase::PlaceGathersPassBase;
  void runOnOperation() override;

private:
  LogicalResult readPolicy();
  void collectChains(StepOp step);
  void findKept(GatherChain &chain);
  void place(Block &block);
  /// Writes the chains of one call in front of `anchor`, with one gather for all of a unit that can
  /// share it.
  void gather(Operation *anchor, CallOp call, const Uses &uses);
  dist::CollectiveOpInterface buildGather(OpBuilder &builder, GatherChain &chain,
                                          IRMapping &mapping);
  Value getPart(GatherChain &chain);

  ReshardPolicy policy;
  /// The minor axes, or parts of them, that `policy` has a unit lie over.
  SmallVector<StringAttr> keptOver;
  SmallVector<GatherChain> chains;
  llvm::DenseMap<Value, GatherChain *> chainOf;
  /// In the block being placed: what the first gather of a chain gave, and the part of it that is
  /// kept, made once a later use asks for it.
  llvm::DenseMap<GatherChain *, Value> firstGathered, parts;
};
} // namespace

LogicalResult PlaceGathers::readPolicy() {
  ModuleOp module = getOperation();
  std::string problem;
  StringRef text = reshardAfterForward;
  // A stage gathers a parameter once for all microbatches in flight rather than twice for each.
  if (text.empty())
    text =
        llvm::any_of(module.getOps<StepOp>(), [](StepOp step) { return dist::getStage(step) >= 0; })
            ? "false"
            : "true";
  std::optional<ReshardPolicy> parsed = ReshardPolicy::parse(text, problem);
  if (!parsed)
    return module.emitError() << "reshard-after-forward " << problem;
  policy = *parsed;
  auto storage = module->getAttrOfType<DictionaryAttr>(UlsDialect::kStorageAttrName);
  auto list = storage ? storage.getAs<ArrayAttr>("parameters") : ArrayAttr();
  auto meshes = module.getOps<dist::MeshOp>();
  std::vector<std::pair<std::string, int64_t>> sizes;
  SmallVector<StringAttr> axes;
  dist::MeshAttr mesh = meshes.empty() ? dist::MeshAttr() : (*meshes.begin()).getMesh();
  if (list && mesh)
    for (StringAttr axis : list.getAsRange<StringAttr>())
      if (std::optional<int64_t> size = mesh.getAxisSize(axis)) {
        axes.push_back(axis);
        sizes.emplace_back(axis.getValue().str(), *size);
      }
  problem = policy.findProblem(sizes);
  if (!problem.empty())
    return module.emitError() << "reshard-after-forward " << problem;
  if (!policy.ranks || axes.empty())
    return success();
  keptOver = *mesh.getMinorAxes(axes, *policy.ranks);
  if (*policy.ranks == mesh.getSize(axes))
    policy.ranks.reset();
  else
    module->setAttr(UlsDialect::kKeptRanksAttrName,
                    Builder(&getContext()).getI64IntegerAttr(*policy.ranks));
  return success();
}

/// A parameter that a pin cuts over some of the axes already is gathered over the others only.
void PlaceGathers::findKept(GatherChain &chain) {
  auto axes = llvm::to_vector(chain.getGather().getAxes().getAsRange<StringAttr>());
  if (!policy.ranks) {
    chain.keptOver = std::move(axes);
    return;
  }
  for (StringAttr axis : axes)
    for (StringAttr kept : keptOver)
      if (dist::getWholeAxis(kept) == axis.getValue())
        chain.keptOver.push_back(kept);
}

void PlaceGathers::collectChains(StepOp step) {
  chains.clear();
  chainOf.clear();
  for (auto gather : step.getEntry().getOps<dist::AllGatherOp>()) {
    auto materialize = gather.getInputs().size() == 1
                           ? gather.getInputs().front().getDefiningOp<MaterializeOp>()
                           : MaterializeOp();
    if (!materialize)
      continue;
    GatherChain chain;
    chain.ops = {materialize, gather};
    auto isStep = [](Operation *op) { return isa<SliceOp, ReshapeOp>(op); };
    while (chain.getResult().hasOneUse() && isStep(*chain.getResult().user_begin()))
      chain.ops.push_back(*chain.getResult().user_begin());
    // A new value of the parameter is gathered, too, but not for a block.
    if (!llvm::all_of(chain.getResult().getUsers(), llvm::IsaPred<CallOp>))
      continue;
    findKept(chain);
    chains.push_back(std::move(chain));
  }
  for (GatherChain &chain : chains)
    chainOf[chain.getResult()] = &chain;
}

/// What this rank keeps of what a chain's first gather gave.
Value PlaceGathers::getPart(GatherChain &chain) {
  Value whole = firstGathered.lookup(&chain);
  if (!whole || !chain.keepsPart())
    return {};
  Value &part = parts[&chain];
  if (part)
    return part;
  dist::AllGatherOp gather = chain.getGather();
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> shape(type.getShape());
  auto mesh = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(gather, gather.getMeshAttr());
  shape[gather.getDims()[0]] /= mesh.getMesh().getSize(chain.keptOver);
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfterValue(whole);
  part = dist::LocalSliceOp::create(
      builder, gather.getLoc(), type.clone(shape), whole, gather.getDims()[0],
      gather.getMeshAttr().getValue(),
      builder.getArrayAttr(llvm::to_vector_of<Attribute>(chain.keptOver)));
  return part;
}

/// The gather of one chain: from the part that is kept of the first one, or from what is stored.
dist::CollectiveOpInterface PlaceGathers::buildGather(OpBuilder &builder, GatherChain &chain,
                                                      IRMapping &mapping) {
  dist::AllGatherOp gather = chain.getGather();
  if (Value part = getPart(chain))
    mapping.map(gather.getInputs().front(), part);
  else
    builder.clone(*chain.ops.front(), mapping);
  auto clone = cast<dist::AllGatherOp>(builder.clone(*gather, mapping));
  if (clone.getInputs().front().getDefiningOp<MaterializeOp>())
    return cast<dist::CollectiveOpInterface>(*clone);
  clone.setAxesAttr(builder.getArrayAttr(llvm::to_vector_of<Attribute>(chain.keptOver)));
  if (StringAttr cause = gather.getCauseAttr())
    clone.setCauseAttr(builder.getStringAttr(cause.getValue() + " again, of what is kept of them"));
  return cast<dist::CollectiveOpInterface>(*clone);
}

void PlaceGathers::gather(Operation *anchor, CallOp call, const Uses &uses) {
  OpBuilder builder(anchor);
  llvm::MapVector<BucketKey, SmallVector<dist::CollectiveOpInterface>> buckets;
  IRMapping mapping;
  UnitPatterns patterns(getOperation());
  for (auto &[chain, operands] : uses) {
    dist::CollectiveOpInterface gather = buildGather(builder, *chain, mapping);
    auto parameter = cast<MaterializeOp>(chain->ops.front()).getParameterAttr().getAttr();
    buckets[getBucketKey(patterns.getUnit(call, parameter), gather)].push_back(gather);
  }
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
  for (auto &[chain, operands] : uses) {
    Value whole = operands.front()->get();
    for (size_t i = 2; i < chain->ops.size(); ++i)
      whole = whole.getDefiningOp()->getOperand(0);
    firstGathered.try_emplace(chain, whole);
  }
}

/// Gathers for a call start before the call ahead of it, so that they travel while that computes.
void PlaceGathers::place(Block &block) {
  llvm::DenseMap<GatherChain *, Value> gathered;
  firstGathered.clear();
  parts.clear();
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
      gather(ahead ? ahead : call.getOperation(), call, missing);
    llvm::DenseMap<GatherChain *, Value> kept;
    for (auto &[chain, value] : gathered)
      if (chain->keepsWhole())
        kept[chain] = value;
    gathered = std::move(kept);
    for (auto &[chain, operands] : needed)
      gathered[chain] = operands.front()->get();
    ahead = call;
  }
}

void PlaceGathers::runOnOperation() {
  if (failed(readPolicy()))
    return signalPassFailure();
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
