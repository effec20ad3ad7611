//===- ParameterFlow.cpp - Which parameter a value of a step belongs to -----------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/ParameterFlow.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

StringAttr uls::findParameter(Value value) {
  while (auto result = llvm::dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    unsigned index = result.getResultNumber();
    if (auto materialize = llvm::dyn_cast<MaterializeOp>(op))
      return materialize.getParameterAttr().getAttr();
    if (auto update = llvm::dyn_cast<UpdateOp>(op))
      return llvm::cast<StringAttr>(update.getParameters()[index]);
    if (auto wait = llvm::dyn_cast<dist::WaitOp>(op)) {
      OperandRange inputs =
          wait.getHandle().getDefiningOp<dist::StartOp>().getCollective().getInputs();
      // What another stage sends has its source there.
      if (inputs.empty())
        break;
      value = inputs[index];
    } else if (llvm::isa<dist::AllGatherOp>(op)) {
      value = op->getOperand(index);
    } else if (llvm::isa<SliceOp, ReshapeOp, ConvertOp, dist::LocalSliceOp>(op)) {
      value = op->getOperand(0);
    } else {
      break;
    }
  }
  return {};
}

static StringAttr findUpdated(Value value, llvm::DenseSet<Value> &seen) {
  if (llvm::cast<RankedTensorType>(value.getType()).getRank() == 0 || !seen.insert(value).second)
    return {};
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    unsigned index = use.getOperandNumber();
    if (auto update = llvm::dyn_cast<UpdateOp>(user))
      return llvm::cast<StringAttr>(update.getParameters()[index]);
    SmallVector<Value> next;
    if (auto loop = llvm::dyn_cast<MicrobatchesOp>(user))
      next = {loop.getResult(index), loop.getBody().getArgument(index + 1)};
    else if (auto outer = llvm::dyn_cast<MicrobatchesOp>(user->getParentOp());
             outer && llvm::isa<YieldOp>(user))
      next = {outer.getResult(index)};
    else if (auto start = llvm::dyn_cast<dist::StartOp>(user->getParentOp()))
      next = {llvm::cast<dist::WaitOp>(*start.getHandle().user_begin()).getResult(index)};
    else if (llvm::isa<dist::CollectiveOpInterface>(user))
      next = {user->getResult(index)};
    else if (user->getNumResults() == 1)
      next = {user->getResult(0)};
    for (Value other : next)
      if (StringAttr name = findUpdated(other, seen))
        return name;
  }
  return {};
}

StringAttr uls::findUpdatedParameter(Value gradient) {
  llvm::DenseSet<Value> seen;
  return findUpdated(gradient, seen);
}
