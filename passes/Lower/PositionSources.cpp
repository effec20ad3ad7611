//===- PositionSources.cpp - Where positions of a sequence come from --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/PositionSources.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// The dimension of positions along which the sequence lies.
static constexpr uint64_t kSequenceDim = 1;

PositionSources::PositionSources(ModuleOp module) : symbols(module) {
  SmallVector<Operation *> found;
  for (auto step : module.getOps<uls::StepOp>())
    found.push_back(step);
  while (!found.empty()) {
    Operation *function = found.pop_back_val();
    if (!run.insert(function).second)
      continue;
    function->walk([&](uls::CallOp call) {
      if (auto block = symbols.lookup<uls::BlockOp>(call.getCallee())) {
        calls[block].push_back(call);
        found.push_back(block);
      }
    });
  }
}

/// The values that `value` takes its own from as they are; none where it is made anew.
SmallVector<Value> PositionSources::getSources(Value value) const {
  SmallVector<Value> sources;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    unsigned index = argument.getArgNumber();
    if (auto it = calls.find(parent); it != calls.end())
      for (uls::CallOp call : it->second)
        sources.push_back(call->getOperand(index));
    // The first argument of a loop's body is its index.
    if (auto loop = dyn_cast<uls::MicrobatchesOp>(parent); loop && index > 0)
      sources = {loop.getInits()[index - 1],
                 loop.getBody().front().getTerminator()->getOperand(index - 1)};
    return sources;
  }
  auto result = cast<OpResult>(value);
  unsigned index = result.getResultNumber();
  if (auto call = dyn_cast<uls::CallOp>(result.getOwner())) {
    if (auto block = symbols.lookup<uls::BlockOp>(call.getCallee()))
      sources.push_back(block.getEntry().getTerminator()->getOperand(index));
  } else if (auto loop = dyn_cast<uls::MicrobatchesOp>(result.getOwner())) {
    sources = {loop.getInits()[index], loop.getBody().front().getTerminator()->getOperand(index)};
  }
  return sources;
}

/// What `value`, which is made by an op or comes from outside, holds beside what is wanted.
static std::optional<std::string> findProblemOfSource(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return "are an argument of " +
           value.getParentBlock()->getParentOp()->getName().getStringRef().str();
  auto iota = dyn_cast<uls::IotaOp>(op);
  if (!iota)
    return "come from " + op->getName().getStringRef().str() + " at " +
           dist::describeLocation(op->getLoc());
  if (iota.getDim() != kSequenceDim)
    return "count along dimension " + std::to_string(iota.getDim());
  dist::ShardAttr shard = iota.getShardAttr();
  ArrayRef<StringAttr> axes =
      shard ? shard.getSharding().getAxes(kSequenceDim) : ArrayRef<StringAttr>();
  if (axes.empty())
    return std::nullopt;
  return "are those of a rank's part of the sequence, which is sharded over " +
         llvm::join(llvm::map_range(axes, [](StringAttr axis) { return axis.getValue(); }), ", ");
}

std::optional<std::string> PositionSources::findProblem(Value positions) const {
  // What comes back to itself through a loop adds no source.
  llvm::DenseSet<Value> seen;
  SmallVector<Value> open = {positions};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    SmallVector<Value> sources = getSources(value);
    if (sources.empty())
      if (std::optional<std::string> problem = findProblemOfSource(value))
        return problem;
    llvm::append_range(open, sources);
  }
  return std::nullopt;
}
