//===- ForwardActivity.cpp - Which derivatives the calls of a forward need
//-----------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Train/ForwardActivity.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

/// Values that depend on a parameter which is not frozen.
static llvm::DenseSet<Value> findActiveValues(ForwardOp forward, const SymbolTable &symbols) {
  llvm::DenseSet<Value> active;
  for (Operation &op : forward.getEntry()) {
    bool isActive =
        llvm::any_of(op.getOperands(), [&](Value value) { return active.contains(value); });
    if (auto materialize = llvm::dyn_cast<MaterializeOp>(op)) {
      auto param = symbols.lookup<ParamOp>(materialize.getParameter());
      isActive = param && !param.getFrozen();
    }
    for (Value result : op.getResults())
      if (isActive && isDifferentiable(result.getType()))
        active.insert(result);
  }
  return active;
}

llvm::MapVector<CallOp, JointRequest> ulsc::uls::findJointRequests(ForwardOp forward,
                                                                   const SymbolTable &symbols) {
  llvm::DenseSet<Value> active = findActiveValues(forward, symbols);
  llvm::DenseSet<Value> asked;
  for (Value value : forward.getEntry().back().getOperands())
    asked.insert(value);
  SmallVector<std::pair<CallOp, JointRequest>> reversed;
  for (Operation &op : llvm::reverse(forward.getEntry())) {
    auto call = llvm::dyn_cast<CallOp>(op);
    if (!call)
      continue;
    JointRequest request;
    for (auto [i, result] : llvm::enumerate(call.getResults()))
      if (active.contains(result) && asked.contains(result))
        request.cotangents.push_back(i);
    if (request.cotangents.empty())
      continue;
    for (auto [i, operand] : llvm::enumerate(call.getArguments()))
      if (active.contains(operand)) {
        request.gradients.push_back(i);
        asked.insert(operand);
      }
    reversed.emplace_back(call, std::move(request));
  }
  llvm::MapVector<CallOp, JointRequest> requests;
  for (auto &[call, request] : llvm::reverse(reversed))
    requests.insert({call, std::move(request)});
  return requests;
}

ForwardOp ulsc::uls::getForward(ModuleOp module) {
  auto forwards = llvm::to_vector(module.getOps<ForwardOp>());
  if (forwards.size() != 1) {
    module.emitError() << "has " << forwards.size() << " uls.forward ops, expected one";
    return {};
  }
  ArrayRef<Type> results = forwards[0].getResultTypes();
  if (results.size() != 1 || !isDifferentiable(results[0]) ||
      llvm::cast<RankedTensorType>(results[0]).getRank() != 0) {
    forwards[0].emitOpError() << "returns (" << results
                              << "), expected one floating-point scalar, the loss";
    return {};
  }
  return forwards[0];
}
