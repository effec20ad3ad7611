//===- ChunkParts.cpp - Which part of a microbatch belongs to which chunk
//----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Stage/ChunkParts.h"

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::stage;
using pipeline::Work;

int64_t stage::getPipelineRanks(ModuleOp module) {
  for (auto mesh : module.getOps<dist::MeshOp>())
    if (std::optional<int64_t> size =
            mesh.getMesh().getAxisSize(StringAttr::get(module.getContext(), kPipelineAxis)))
      return *size;
  return 1;
}

/// Whether work `a` comes after `b` in a microbatch: forwards by chunk, then backwards from the
/// last one.
static bool isLater(const ChunkParts::Key &a, const ChunkParts::Key &b) {
  bool isBackward = a.first != Work::Forward;
  if (isBackward != (b.first != Work::Forward))
    return isBackward;
  return isBackward ? a.second < b.second : a.second > b.second;
}

/// A sum over microbatches goes on with the sum before.
void ChunkParts::noteCarried(Operation *op) {
  if (!isa<uls::AccumulateOp, uls::AddOp>(op))
    return;
  for (Value operand : op->getOperands())
    if (std::optional<unsigned> index = getCarried(operand))
      carried[op->getResult(0)] = *index;
}

std::optional<unsigned> ChunkParts::getCarried(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner() == &body && argument.getArgNumber() > 0)
    return argument.getArgNumber() - 1;
  auto it = carried.find(value);
  return it == carried.end() ? std::nullopt : std::optional<unsigned>(it->second);
}

LogicalResult ChunkParts::place(Operation *op) {
  std::optional<Key> owner;
  if (auto call = dyn_cast<uls::CallOp>(op)) {
    auto chunk = call->getAttrOfType<IntegerAttr>(dist::DistDialect::kChunkAttrName);
    if (!chunk)
      return op->emitOpError("has no chunk; run ulsc-assign-chunks");
    owner = Key{Work::Forward, chunk.getInt()};
    for (Value result : call.getResults())
      if (isa<uls::ResidualsType>(result.getType()))
        chunkOfResiduals[result] = chunk.getInt();
  } else if (auto backward = dyn_cast<uls::BackwardOp>(op)) {
    auto it = chunkOfResiduals.find(backward.getResiduals());
    if (it == chunkOfResiduals.end())
      return op->emitOpError("takes residuals that no call of its microbatch left");
    owner = Key{Work::BackwardInput, it->second};
  } else {
    for (Value operand : op->getOperands()) {
      if (getCarried(operand))
        continue;
      auto it = owners.find(operand.getDefiningOp());
      if (it != owners.end() && (!owner || isLater(it->second, *owner)))
        owner = it->second;
    }
  }
  noteCarried(op);
  if (!owner)
    return success();
  owners[op] = *owner;
  parts[*owner].push_back(op);
  return success();
}

LogicalResult ChunkParts::run() {
  for (Operation &op : body.without_terminator())
    if (failed(place(&op)))
      return failure();
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (getCarried(value) != std::optional<unsigned>(i))
      return loop.emitOpError() << "carries value " << i
                                << ", which is no sum over microbatches; pipeline stages need that";
  return success();
}

bool ChunkParts::isOfWeights(Value value) const {
  if (getCarried(value))
    return true;
  return !value.use_empty() && llvm::all_of(value.getUsers(), [&](Operation *user) {
    return user->getBlock() == &body && user->getNumResults() > 0 &&
           llvm::all_of(user->getResults(), [&](Value result) { return isOfWeights(result); });
  });
}

ArrayRef<Operation *> ChunkParts::getOps(Work work, int64_t chunk) const {
  auto it = parts.find({work, chunk});
  return it == parts.end() ? ArrayRef<Operation *>() : ArrayRef<Operation *>(it->second);
}

std::vector<std::pair<Value, pipeline::Flow>> ChunkParts::getFlows(ArrayRef<int64_t> rankOf) const {
  std::vector<std::pair<Value, pipeline::Flow>> flows;
  std::map<std::pair<void *, int64_t>, size_t> known;
  for (Operation &op : body.without_terminator()) {
    auto user = owners.find(&op);
    if (user == owners.end())
      continue;
    for (Value operand : op.getOperands()) {
      auto owner = owners.find(operand.getDefiningOp());
      int64_t rank = rankOf[user->second.second];
      if (getCarried(operand) || owner == owners.end() || rankOf[owner->second.second] == rank)
        continue;
      auto [it, isNew] = known.try_emplace({operand.getAsOpaquePointer(), rank}, flows.size());
      if (isNew)
        flows.push_back({operand, {{owner->second.first, owner->second.second}, {}}});
      flows[it->second].second.to.push_back({user->second.first, user->second.second});
    }
  }
  return flows;
}
