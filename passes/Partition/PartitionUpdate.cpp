//===- PartitionUpdate.cpp - Local forms of accumulation and update ---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Partition/Partitioner.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::shard;

std::string Partitioner::describeStorage(StringRef kind, StringRef what) const {
  auto storage = module->getAttrOfType<DictionaryAttr>(uls::UlsDialect::kStorageAttrName);
  auto axes = storage ? storage.getAs<ArrayAttr>(kind) : ArrayAttr();
  auto origin = storage ? storage.getAs<StringAttr>("origin") : StringAttr();
  if (!axes || axes.empty() || !origin)
    return {};
  return (kind + " stored over " + llvm::join(axes.getAsValueRange<StringAttr>(), "+") + " (" +
          origin.getValue() + "), " + what)
      .str();
}

/// A gradient is brought to how its accumulator lies, chunks of flattened blocks included; then the
/// sum is elementwise.
LogicalResult Partitioner::partitionAccumulate(uls::AccumulateOp op) {
  Layout layout = getResultLayout(op, 0);
  if (layout.flat.empty())
    return partitionByRule(op, *dist::getShardingRule(op));
  Value accumulator = require(op->getOpOperand(0), layout),
        value = require(op->getOpOperand(1), layout);
  Operation *local = cloneLocal(op, {accumulator, value}, {layout});
  locals[op.getOutput()] = {local->getResult(0), layout};
  return success();
}

uls::ParamOp Partitioner::lookupParam(Operation *op, unsigned index) {
  auto names = llvm::cast<uls::UpdateOp>(op).getParameters();
  return symbols.lookupNearestSymbolFrom<uls::ParamOp>(
      op, FlatSymbolRefAttr::get(llvm::cast<StringAttr>(names[index])));
}

Layout Partitioner::getUpdateLayout(uls::UpdateOp op, uls::ParamOp param, bool &hasMaster) {
  auto rule = symbols.lookupNearestSymbolFrom<uls::UpdateRuleOp>(op, op.getRuleAttr());
  auto find = [&](StringRef role) {
    auto name = FlatSymbolRefAttr::get(op.getContext(), (param.getSymName() + "." + role).str());
    return symbols.lookupNearestSymbolFrom<uls::StateOp>(op, name);
  };
  uls::StateOp state = find("master");
  hasMaster = bool(state);
  for (StringRef role : rule.getRoles().getAsValueRange<StringAttr>())
    if (!state && role != "parameter" && role != "gradient")
      state = find(role);
  std::optional<dist::ShardingAttr> sharding = state ? state.getSharding() : std::nullopt;
  return sharding ? readLayout(*sharding, param.getTensorType()) : getStoredLayout(param);
}

/// The update of a parameter that lies otherwise than its states: computed where the states are,
/// and the new value brought to where the parameter is. An op for each, so that gathers need not
/// wait for all.
void Partitioner::updateRemote(uls::UpdateOp op, unsigned index, Value gradient, ValueRange scalars,
                               Value condition) {
  uls::ParamOp param = lookupParam(op, index);
  RankedTensorType type = param.getTensorType();
  bool hasMaster = false;
  Layout stored = getStoredLayout(param), updated = getUpdateLayout(op, param, hasMaster);
  SmallVector<Value> values;
  // With a master value the stored one is not read.
  if (!hasMaster) {
    Value whole = uls::MaterializeOp::create(builder, param.getLoc(),
                                             mesh.getLocalType(stored, type), param.getSymName());
    values.push_back(
        resharder.reshard(builder, {whole, stored}, updated, type, ReshardCause()).value);
  }
  auto update = uls::UpdateOp::create(builder, op.getLoc(), mesh.getLocalType(updated, type),
                                      op.getRuleAttr(), gradient, values, scalars, condition,
                                      builder.getArrayAttr({op.getParameters()[index]}),
                                      op.getStochasticAttr());
  ReshardCause cause;
  cause.text = describeStorage("optimizer", "new parameters gathered after their update");
  cause.place = param.getLoc();
  LocalValue whole =
      resharder.reshard(builder, {update.getResults()[0], updated}, stored, type, cause);
  uls::AssignOp::create(builder, param.getLoc(), param.getSymName(), whole.value);
}

/// Gradients come complete and in the layout of the states.
LogicalResult Partitioner::partitionUpdate(uls::UpdateOp op) {
  SmallVector<Value> gradients, scalars;
  SmallVector<Attribute> names;
  SmallVector<std::pair<unsigned, Value>> remote;
  unsigned count = op.getParameters().size();
  Value condition;
  for (OpOperand &operand : op->getOpOperands().drop_front(count)) {
    Value scalar = require(operand, mesh.getReplicated(operand.get().getType()));
    if (operand.get() == op.getCondition() &&
        operand.getOperandNumber() == op->getNumOperands() - 1)
      condition = scalar;
    else
      scalars.push_back(scalar);
  }
  for (unsigned i = 0; i < count; ++i) {
    uls::ParamOp param = lookupParam(op, i);
    bool hasMaster = false;
    Layout updated = getUpdateLayout(op, param, hasMaster);
    Value gradient = require(op->getOpOperand(i), updated);
    if (getStoredLayout(param) != updated) {
      remote.emplace_back(i, gradient);
      continue;
    }
    gradients.push_back(gradient);
    names.push_back(op.getParameters()[i]);
  }
  if (!gradients.empty())
    uls::UpdateOp::create(builder, op.getLoc(), TypeRange(), op.getRuleAttr(), gradients,
                          ValueRange(), scalars, condition, builder.getArrayAttr(names),
                          op.getStochasticAttr());
  for (auto [index, gradient] : remote)
    updateRemote(op, index, gradient, scalars, condition);
  return success();
}
