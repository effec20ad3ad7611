//===- ReadProgram.cpp - A scheduled module as flat lists -------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "lib/Timeline/BlockCosts.h"
#include "lib/Timeline/StepReader.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::timeline;

StringRef timeline::getKindName(Kind kind) {
  static constexpr llvm::StringLiteral names[] = {
      "forward", "backward", "backward_input", "backward_weight", "recompute",
      "update",  "step",     "send",           "receive",         "collective"};
  return names[size_t(kind)];
}

StringRef timeline::getCategoryName(Category category) {
  static constexpr llvm::StringLiteral names[] = {"parameters",  "optimizer",     "gradients",
                                                  "activations", "communication", "temporaries"};
  return names[size_t(category)];
}

const BlockCosts *ModuleCosts::findBlock(StringRef name) {
  auto [it, isNew] = blocks.try_emplace(name);
  if (isNew)
    if (auto block = symbols.lookup<uls::BlockOp>(name); block && !block.isJoint())
      it->second = priceBlock(block, cluster);
  return it->second ? &*it->second : nullptr;
}

unsigned ModuleCosts::getText(StringRef text) {
  auto [it, isNew] = numbers.try_emplace(text, texts.size());
  if (isNew)
    texts.push_back(text.str());
  return it->second;
}

/// Bytes of a rank's part of a persistent tensor.
static int64_t getLocalBytes(ModuleOp module, Type type,
                             std::optional<dist::ShardingAttr> sharding) {
  auto tensor = llvm::cast<RankedTensorType>(type);
  if (!sharding || !*sharding)
    return getBytes(tensor);
  auto mesh = SymbolTable(module).lookup<dist::MeshOp>(sharding->getMesh().getValue());
  return getBytes(mesh ? sharding->getLocalType(mesh.getMesh(), tensor) : tensor);
}

void ModuleCosts::readState(ModuleOp module) {
  for (auto param : module.getOps<uls::ParamOp>())
    parameters[param.getSymName()] = {
        param, getLocalBytes(module, param.getType(), param.getSharding()), 0};
  for (auto state : module.getOps<uls::StateOp>())
    if (auto it = parameters.find(state.getParameter()); it != parameters.end())
      it->second.stateBytes += getLocalBytes(module, state.getType(), state.getSharding());
}

FailureOr<Program> timeline::readProgram(ModuleOp module, const cost::Cluster &cluster) {
  SmallVector<uls::StepOp> steps(module.getOps<uls::StepOp>());
  if (steps.empty())
    return module.emitError() << "has no uls.step, so there is no timeline; a timeline is of a "
                                 "module of the stage scheduled";
  llvm::sort(steps,
             [](uls::StepOp a, uls::StepOp b) { return dist::getStage(a) < dist::getStage(b); });
  Program program;
  ModuleCosts costs(module, cluster, program.texts);
  llvm::DenseMap<int64_t, int64_t> ranksOfStages;
  for (auto [rank, step] : llvm::enumerate(steps))
    if (!ranksOfStages.try_emplace(dist::getStage(step), rank).second)
      return step.emitOpError("is the second of its stage; a timeline has one step for each stage");
  for (uls::StepOp step : steps) {
    StepReader reader(costs, ranksOfStages, step);
    if (failed(reader.run()))
      return failure();
    program.ranks.push_back(std::move(reader.program));
  }
  return program;
}
