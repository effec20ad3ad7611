//===- CallMemory.cpp - What the calls of a step keep in memory -------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Stage/CallMemory.h"

#include "dialects/Dist/Dist.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::stage;
using dist::DistDialect;
using dist::ShardingAttr;

/// How a value lies; null for what has no sharding.
static ShardingAttr getSharding(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto block = dyn_cast<uls::BlockOp>(argument.getOwner()->getParentOp());
    auto attributes = block ? block.getArgAttrsAttr() : ArrayAttr();
    if (!attributes || argument.getArgNumber() >= attributes.size())
      return {};
    return cast<DictionaryAttr>(attributes[argument.getArgNumber()])
        .getAs<ShardingAttr>(DistDialect::kShardingAttrName);
  }
  auto result = cast<OpResult>(value);
  auto list = result.getOwner()->getAttrOfType<ArrayAttr>(DistDialect::kShardingsAttrName);
  return list && result.getResultNumber() < list.size()
             ? dyn_cast<ShardingAttr>(list[result.getResultNumber()])
             : ShardingAttr();
}

namespace {
class Estimator {
public:
  Estimator(uls::StepOp step, const RecomputePolicy &policy)
      : policy(policy), symbols(step->getParentOfType<ModuleOp>()) {
    auto module = step->getParentOfType<ModuleOp>();
    for (auto op : module.getOps<dist::MeshOp>())
      mesh = op.getMesh();
    for (auto state : module.getOps<uls::StateOp>())
      lasting[state.getParameter()] += getBytes(state.getType(), state.getShardingAttr());
    for (auto update : step.getEntry().getOps<uls::UpdateOp>())
      for (auto [name, gradient] : llvm::zip_equal(
               update.getParameters().getAsValueRange<StringAttr>(), update.getGradients()))
        addGradient(name, gradient);
  }

  CallMemory estimate(uls::CallOp call) {
    CallMemory memory;
    llvm::SetVector<StringRef> parameters;
    for (Value operand : call.getOperands()) {
      auto materialize = operand.getDefiningOp<uls::MaterializeOp>();
      if (!materialize || !parameters.insert(materialize.getParameter()))
        continue;
      auto param = symbols.lookup<uls::ParamOp>(materialize.getParameter());
      ShardingAttr stored = param.getShardingAttr();
      memory.lasting +=
          lasting.lookup(param.getSymName()) + getBytes(param.getTensorType(), stored);
      if (stored && !stored.getFlat().empty())
        memory.lasting += getBytes(operand.getType(), getSharding(operand));
    }
    auto [known, isNew] = keptOf.try_emplace(call.getCallee(), 0);
    auto block = symbols.lookup<uls::BlockOp>(call.getCallee());
    bool isAgain = policy.isFull && call.getLayer();
    if (isNew)
      known->second = estimateKept(block, isAgain);
    memory.kept = known->second;
    return memory;
  }

private:
  /// One rank's bytes.
  double getBytes(Type type, ShardingAttr sharding) const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return 0;
    double elements = 1;
    SmallVector<int64_t> shape(tensor.getShape());
    if (mesh && sharding)
      shape = sharding.getBlockShape(mesh, shape);
    for (int64_t size : shape)
      elements *= double(size);
    if (mesh && sharding && !sharding.getFlat().empty())
      elements = std::ceil(elements / double(mesh.getSize(sharding.getFlat())));
    return elements * tensor.getElementTypeBitWidth() / 8;
  }

  /// What accumulates over microbatches, whatever becomes of it before the update.
  void addGradient(StringRef name, Value gradient) {
    while (Operation *op = gradient.getDefiningOp()) {
      if (isa<uls::MicrobatchesOp>(op) || op->getNumOperands() == 0)
        break;
      gradient = op->getOperand(0);
    }
    lasting[name] += getBytes(gradient.getType(), getSharding(gradient));
  }

  /// Values of the forward part, and its inputs but parameters, that the backward part takes. Of a
  /// value that only moves another one's elements it is that one.
  double estimateKept(uls::BlockOp block, bool isAgain) {
    if (!block.isJoint())
      return 0;
    Operation *end = block.getResultOp();
    llvm::SetVector<Value> values;
    for (Operation *op = end->getNextNode(); op && !isAgain; op = op->getNextNode())
      for (Value operand : op->getOperands()) {
        while (Operation *from = operand.getDefiningOp()) {
          if (getRecomputeKind(from) != RearrangesOnly || from->getNumOperands() == 0)
            break;
          operand = from->getOperand(0);
        }
        Operation *from = operand.getDefiningOp();
        if (!from || (from->isBeforeInBlock(end) && !(getRecomputeKind(from) & policy.kinds)))
          values.insert(operand);
      }
    // A layer that is run again starts from its input.
    if (isAgain && block.getEntry().getNumArguments() > 0)
      values.insert(block.getEntry().getArgument(0));
    double bytes = 0;
    for (Value value : values) {
      auto argument = dyn_cast<BlockArgument>(value);
      bool isActivation = !argument || (argument.getArgNumber() < block.getNumPrimalArguments() &&
                                        !block.getArgAttr(argument.getArgNumber(),
                                                          uls::UlsDialect::kParameterAttrName));
      if (isActivation)
        bytes += getBytes(value.getType(), getSharding(value));
    }
    return bytes;
  }

  const RecomputePolicy &policy;
  SymbolTable symbols;
  dist::MeshAttr mesh;
  /// States and gradients, by parameter.
  llvm::StringMap<double> lasting;
  llvm::StringMap<double> keptOf;
};
} // namespace

SmallVector<CallMemory> stage::estimateMemory(uls::StepOp step, ArrayRef<uls::CallOp> calls,
                                              const RecomputePolicy &policy) {
  Estimator estimator(step, policy);
  SmallVector<CallMemory> memory;
  for (uls::CallOp call : calls)
    memory.push_back(estimator.estimate(call));
  return memory;
}
