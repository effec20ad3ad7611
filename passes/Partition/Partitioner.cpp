//===- Partitioner.cpp - Rewrites functions to one rank's types
//-----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Partition/Partitioner.h"
#include "passes/Shard/ShardingGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::shard;
using dist::DistDialect;
using dist::FactorKind;

//===---------------------------------------------------------------------------------------===//
// Values
//===---------------------------------------------------------------------------------------===//

Layout Partitioner::readLayout(Attribute sharding, Type type) const {
  if (auto attr = llvm::dyn_cast_or_null<dist::ShardingAttr>(sharding))
    return mesh.read(attr);
  return mesh.getReplicated(type);
}

Layout Partitioner::getResultLayout(Operation *op, unsigned index) const {
  auto list = op->getAttrOfType<ArrayAttr>(DistDialect::kShardingsAttrName);
  return readLayout(list ? list[index] : Attribute(), op->getResult(index).getType());
}

/// Entry `index` of an attribute that lists a dictionary per result.
static DictionaryAttr getEntry(Operation *op, StringRef name, unsigned index) {
  auto list = op->getAttrOfType<ArrayAttr>(name);
  return list ? llvm::cast<DictionaryAttr>(list[index]) : DictionaryAttr();
}

ReshardCause Partitioner::getCause(Value value, Operation *user) const {
  ReshardCause cause;
  cause.user = dist::describeLocation(user->getLoc());
  if (auto result = llvm::dyn_cast<OpResult>(value)) {
    cause.sums = getEntry(result.getOwner(), "dist.causes", result.getResultNumber());
    cause.origins = getEntry(result.getOwner(), "dist.origins", result.getResultNumber());
    return cause;
  }
  auto argument = llvm::cast<BlockArgument>(value);
  if (auto function = llvm::dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()))
    cause.origins =
        function.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), "dist.origins");
  return cause;
}

void shard::dropAnnotations(Operation *op) {
  for (StringRef name :
       {"dist.shardings", "dist.origins", "dist.causes", "dist.conflicts", "dist.rule"})
    op->removeDiscardableAttr(name);
}

Value Partitioner::require(OpOperand &operand, const Layout &layout) {
  Value value = operand.get();
  LocalValue local = locals.lookup(value);
  auto type = llvm::dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return local.value;
  // A zero is a summand of anything.
  if (isZeroConstant(value.getDefiningOp()))
    local.layout.sum = layout.sum;
  if (auto iota = value.getDefiningOp<uls::IotaOp>(); iota && local.layout != layout)
    return countAgain(iota, layout);
  return resharder.reshard(builder, local, layout, type, getCause(value, operand.getOwner())).value;
}

/// The indices of a rank's block under another layout: counting costs nothing, moving would.
Value Partitioner::countAgain(uls::IotaOp op, const Layout &layout) {
  for (const LocalValue &candidate : counted[op])
    if (candidate.layout == layout)
      return candidate.value;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(locals.lookup(op.getOutput()).value);
  dist::PartitionState state{builder, mesh.name, mesh.attr, {}, {}, {}, {}, {}};
  state.resultShardings.push_back(mesh.write(layout));
  state.resultTypes.push_back(op.getOutput().getType());
  SmallVector<dist::PartitionedValue> results;
  if (failed(
          llvm::cast<dist::PartitionOpInterface>(op.getOperation()).partition(state, {}, results)))
    llvm_unreachable("counting has no operands that could be refused");
  dropAnnotations(results.front().value.getDefiningOp());
  counted[op].push_back({results.front().value, layout});
  return results.front().value;
}

Operation *Partitioner::cloneLocal(Operation *op, ValueRange operands, ArrayRef<Layout> results) {
  Operation *local = builder.clone(*op);
  local->setOperands(operands);
  for (auto [result, layout] : llvm::zip_equal(local->getResults(), results))
    result.setType(mesh.getLocalType(layout, result.getType()));
  dropAnnotations(local);
  return local;
}

void Partitioner::finish(OpResult result, LocalValue produced) {
  auto type = llvm::dyn_cast<RankedTensorType>(result.getType());
  if (type) {
    Layout wanted = getResultLayout(result.getOwner(), result.getResultNumber());
    wanted.sum &= produced.layout.sum;
    wanted.max &= produced.layout.max;
    produced =
        resharder.reshard(builder, produced, wanted, type, getCause(result, result.getOwner()));
  }
  locals[result] = produced;
}

//===---------------------------------------------------------------------------------------===//
// Ops with a rule
//===---------------------------------------------------------------------------------------===//

LogicalResult Partitioner::partitionByRule(Operation *op, const dist::ShardingRule &rule) {
  OpTensors tensors{&rule, {}, {}};
  SmallVector<AxisMask> sums;
  for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rule.operands)) {
    Layout layout = locals.lookup(operand).layout;
    sums.push_back(isZeroConstant(operand.getDefiningOp()) ? ~AxisMask(0) : layout.sum);
    tensors.operands.push_back({&factors, operand.getType(), layout});
  }
  for (auto [i, factors] : llvm::enumerate(rule.results))
    tensors.results.push_back({&factors, op->getResult(i).getType(), getResultLayout(op, i)});
  FactorAxes axes = assignFactors(tensors, mesh, cost).axes;
  dropAxes(axes, getDeferredSums(rule, sums));

  SmallVector<Value> operands;
  SmallVector<Layout> layouts, produced;
  AxisMask passed = 0;
  auto itself = llvm::dyn_cast<dist::PartitionOpInterface>(op);
  for (auto [i, operand] : llvm::enumerate(op->getOpOperands())) {
    Layout layout = apply(rule, rule.operands[i], axes);
    layout.sum = getPassingSums(rule, i, sums, axes);
    if (isZeroConstant(operand.get().getDefiningOp()))
      layout.sum = 0;
    if (itself && itself.takesFlatOperands())
      layout.flat = locals.lookup(operand.get()).layout.flat;
    passed |= layout.sum;
    operands.push_back(require(operand, layout));
    layouts.push_back(std::move(layout));
  }
  for (unsigned i = 0; i < rule.results.size(); ++i)
    produced.push_back(apply(rule, rule.results[i], axes));
  if (itself)
    return partitionItself(op, rule, operands, layouts, produced, passed);
  for (auto [i, layout] : llvm::enumerate(produced)) {
    layout.sum = passed | getReducedAxes(rule, i, axes, FactorKind::Sum);
    layout.max = getReducedAxes(rule, i, axes, FactorKind::Max);
  }
  Operation *local = cloneLocal(op, operands, produced);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    finish(result, {local->getResult(i), produced[i]});
  return success();
}

LogicalResult Partitioner::partitionItself(Operation *op, const dist::ShardingRule &rule,
                                           ValueRange operands, ArrayRef<Layout> layouts,
                                           ArrayRef<Layout> produced, AxisMask passed) {
  dist::PartitionState state{builder, mesh.name, mesh.attr, {}, {}, {}, {}, {}};
  for (auto [operand, layout] : llvm::zip_equal(op->getOperands(), layouts)) {
    bool isTensor = llvm::isa<RankedTensorType>(operand.getType());
    state.operandShardings.push_back(isTensor ? mesh.write(layout) : dist::ShardingAttr());
    state.operandTypes.push_back(operand.getType());
    state.operandOrigins.push_back(getCause(operand, op).origins);
  }
  for (auto [result, layout] : llvm::zip_equal(op->getResults(), produced)) {
    state.resultShardings.push_back(mesh.write(layout));
    state.resultTypes.push_back(result.getType());
  }
  SmallVector<dist::PartitionedValue> results;
  if (failed(llvm::cast<dist::PartitionOpInterface>(op).partition(state, operands, results)))
    return failure();
  for (auto [result, partitioned] : llvm::zip_equal(op->getResults(), results)) {
    if (Operation *local = partitioned.value.getDefiningOp())
      dropAnnotations(local);
    Layout layout = mesh.read(partitioned.sharding);
    layout.sum |= passed;
    finish(result, {partitioned.value, layout});
  }
  return success();
}

/// Ops without a rule work on whole, complete values.
LogicalResult Partitioner::partitionWhole(Operation *op) {
  if (op->getNumRegions() != 0)
    return op->emitOpError("has regions and no sharding rule; it cannot be partitioned");
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(require(operand, mesh.getReplicated(operand.get().getType())));
  SmallVector<Layout> layouts;
  for (Type type : op->getResultTypes())
    layouts.push_back(mesh.getReplicated(type));
  Operation *local = cloneLocal(op, operands, layouts);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    finish(result, {local->getResult(i), layouts[i]});
  return success();
}

LogicalResult Partitioner::partition(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](uls::MaterializeOp materialize) { return partitionMaterialize(materialize); })
      .Case([&](uls::ConstantOp constant) { return partitionConstant(constant); })
      .Case([&](dist::ReshardOp reshard) { return partitionReshard(reshard); })
      .Case([&](dist::StartOp start) { return partitionStart(start); })
      .Case([&](dist::WaitOp wait) { return partitionWait(wait); })
      .Case([&](uls::CallOp call) {
        return partitionCall(op, call.getCalleeAttr(), 0, 0, [](unsigned i) { return i; });
      })
      .Case([&](uls::BackwardOp backward) {
        auto block = symbols.lookupNearestSymbolFrom<uls::BlockOp>(op, backward.getCalleeAttr());
        return partitionCall(op, backward.getCalleeAttr(), 1, block.getNumPrimalArguments(),
                             [&](unsigned i) {
                               return block.getNumPrimalResults() + backward.getGradientNumber(i);
                             });
      })
      .Case([&](uls::MicrobatchesOp loop) { return partitionLoop(loop); })
      .Case<uls::ResultOp, uls::YieldOp>([&](Operation *) { return partitionYield(op); })
      .Case([&](uls::AccumulateOp accumulate) { return partitionAccumulate(accumulate); })
      .Case([&](uls::UpdateOp update) { return partitionUpdate(update); })
      .Default([&](Operation *) {
        std::optional<dist::ShardingRule> rule = dist::getShardingRule(op);
        return rule ? partitionByRule(op, *rule) : partitionWhole(op);
      });
}

LogicalResult Partitioner::partitionOps(Block &block) {
  for (Operation &op : block)
    if (failed(partition(&op)))
      return failure();
  return success();
}

/// Drops a block whose ops have local forms by now.
static void eraseGlobal(Block &block) {
  block.dropAllDefinedValueUses();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    op.dropAllReferences();
    op.dropAllUses();
    op.erase();
  }
  block.erase();
}

LogicalResult Partitioner::partition(FunctionOpInterface function) {
  Block &global = function.getFunctionBody().front();
  SmallVector<Type> arguments, results;
  Block *local = new Block();
  function.getFunctionBody().push_back(local);
  for (BlockArgument argument : global.getArguments()) {
    Layout layout =
        readLayout(function.getArgAttr(argument.getArgNumber(), DistDialect::kShardingAttrName),
                   argument.getType());
    arguments.push_back(mesh.getLocalType(layout, argument.getType()));
    locals[argument] = {local->addArgument(arguments.back(), argument.getLoc()), layout};
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    results.push_back(mesh.getLocalType(
        readLayout(function.getResultAttr(i, DistDialect::kShardingAttrName), type), type));
  builder.setInsertionPointToEnd(local);
  if (failed(partitionOps(global)))
    return failure();
  eraseGlobal(global);
  for (unsigned i = 0; i < arguments.size(); ++i)
    function.removeArgAttr(i, "dist.origins");
  function.setType(FunctionType::get(function.getContext(), arguments, results));
  return success();
}

LogicalResult Partitioner::run() {
  // Callees keep their global types while callers are rewritten: only attributes are read of them.
  for (auto function : module.getOps<FunctionOpInterface>())
    if (llvm::isa<uls::BlockOp, uls::ForwardOp, uls::StepOp>(function) &&
        failed(partition(function)))
      return failure();
  return success();
}
