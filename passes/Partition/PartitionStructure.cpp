//===- PartitionStructure.cpp - Local forms of calls, loops, parameters and updates
//---------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Partition/Partitioner.h"
#include "passes/Shard/ShardingGraph.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::shard;
using dist::DistDialect;

/// A rank's part of the stored value; ZeRO's gathers follow where the compute value lies otherwise.
LogicalResult Partitioner::partitionMaterialize(uls::MaterializeOp op) {
  auto param = symbols.lookupNearestSymbolFrom<uls::ParamOp>(op, op.getParameterAttr());
  Layout stored = getStoredLayout(param);
  Operation *local = cloneLocal(op, {}, {stored});
  auto type = llvm::cast<RankedTensorType>(op.getOutput().getType());
  Layout wanted = getResultLayout(op, 0).withoutPartials();
  ReshardCause cause = getCause(op.getOutput(), op);
  cause.text = describeStorage("parameters", "gathered for their uses");
  locals[op.getOutput()] =
      resharder.reshard(builder, {local->getResult(0), stored}, wanted, type, cause);
  return success();
}

/// A splat has any block's shape; other constants are whole on every rank and cut.
LogicalResult Partitioner::partitionConstant(uls::ConstantOp op) {
  auto splat = llvm::dyn_cast<DenseElementsAttr>(op.getValue());
  Layout layout = getResultLayout(op, 0).withoutPartials();
  if (!splat || !splat.isSplat())
    layout = mesh.getReplicated(op.getType());
  Operation *local = cloneLocal(op, {}, {layout});
  if (splat && splat.isSplat())
    llvm::cast<uls::ConstantOp>(local).setValueAttr(
        splat.resizeSplat(llvm::cast<ShapedType>(local->getResult(0).getType())));
  finish(op->getResult(0), {local->getResult(0), layout});
  return success();
}

LogicalResult Partitioner::partitionReshard(dist::ReshardOp op) {
  Layout layout = getResultLayout(op, 0);
  layout.sum &= locals.lookup(op.getInput()).layout.sum;
  OpOperand &operand = op->getOpOperand(0);
  ReshardCause cause = getCause(operand.get(), op);
  if (op.getCause())
    cause.user = op.getCause()->str();
  LocalValue input = locals.lookup(operand.get());
  locals[op.getOutput()] =
      resharder.reshard(builder, input, layout, op.getInput().getType(), cause);
  return success();
}

/// What joins stages is explicit before partitioning; what travels lies as the start says, or is
/// whole.
LogicalResult Partitioner::partitionStart(dist::StartOp op) {
  dist::CollectiveOpInterface transfer = op.getCollective();
  auto list = op->getAttrOfType<ArrayAttr>(DistDialect::kShardingsAttrName);
  auto getLayout = [&](unsigned i, Type type) {
    return readLayout(list ? list[i] : Attribute(), type);
  };
  SmallVector<Value> operands;
  for (auto [i, operand] : llvm::enumerate(transfer->getOpOperands()))
    operands.push_back(require(operand, getLayout(i, operand.get().getType())));
  auto local = llvm::cast<dist::StartOp>(builder.clone(*op));
  dropAnnotations(local);
  dist::CollectiveOpInterface inside = local.getCollective();
  inside->setOperands(operands);
  for (auto [i, result] : llvm::enumerate(inside->getResults()))
    result.setType(mesh.getLocalType(getLayout(i, result.getType()), result.getType()));
  local.getHandle().setType(
      dist::HandleType::get(op.getContext(), llvm::to_vector(inside->getResultTypes())));
  locals[op.getHandle()] = {local.getHandle(), {}};
  return success();
}

LogicalResult Partitioner::partitionWait(dist::WaitOp op) {
  SmallVector<Layout> layouts;
  for (OpResult result : op->getResults())
    layouts.push_back(getResultLayout(op, result.getResultNumber()));
  Operation *local = cloneLocal(op, locals.lookup(op.getHandle()).value, layouts);
  for (auto [result, layout] : llvm::zip_equal(op->getResults(), layouts))
    locals[result] = {local->getResult(result.getResultNumber()), layout};
  return success();
}

/// Operands from `firstOperand` on are the callee's arguments from `firstArgument` on, results
/// those that `getResultNumber` says.
LogicalResult Partitioner::partitionCall(Operation *op, FlatSymbolRefAttr callee,
                                         unsigned firstOperand, unsigned firstArgument,
                                         llvm::function_ref<unsigned(unsigned)> getResultNumber) {
  auto block = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(op, callee);
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    Attribute sharding;
    if (operand.getOperandNumber() >= firstOperand)
      sharding = block.getArgAttr(operand.getOperandNumber() - firstOperand + firstArgument,
                                  DistDialect::kShardingAttrName);
    operands.push_back(require(operand, readLayout(sharding, operand.get().getType())));
  }
  SmallVector<Layout> layouts;
  for (auto [i, type] : llvm::enumerate(op->getResultTypes())) {
    Attribute sharding;
    if (llvm::isa<RankedTensorType>(type))
      sharding = block.getResultAttr(getResultNumber(i), DistDialect::kShardingAttrName);
    layouts.push_back(readLayout(sharding, type));
  }
  Operation *local = cloneLocal(op, operands, layouts);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    finish(result, {local->getResult(i), layouts[i]});
  return success();
}

/// What is carried lies as the loop's results do, pending sums included.
LogicalResult Partitioner::partitionLoop(uls::MicrobatchesOp op) {
  SmallVector<Value> inits;
  SmallVector<Type> types;
  SmallVector<Layout> layouts;
  for (auto [i, init] : llvm::enumerate(op->getOpOperands())) {
    layouts.push_back(getResultLayout(op, i));
    inits.push_back(require(init, layouts.back()));
    types.push_back(inits.back().getType());
  }
  auto loop = uls::MicrobatchesOp::create(builder, op.getLoc(), types, op.getCountAttr(), inits);
  loop->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (StringRef name : {"dist.shardings", "dist.origins", "dist.causes"})
    loop->removeDiscardableAttr(name);
  Block &global = op.getBody().front();
  OpBuilder::InsertionGuard guard(builder);
  Block *local = builder.createBlock(&loop.getBody());
  locals[global.getArgument(0)] = {
      local->addArgument(global.getArgument(0).getType(), global.getArgument(0).getLoc()), {}};
  for (auto [i, layout] : llvm::enumerate(layouts))
    locals[global.getArgument(i + 1)] = {
        local->addArgument(types[i], global.getArgument(i + 1).getLoc()), layout};
  if (failed(partitionOps(global)))
    return failure();
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    locals[result] = {loop->getResult(i), layouts[i]};
  return success();
}

LogicalResult Partitioner::partitionYield(Operation *op) {
  SmallVector<Value> operands;
  auto loop = llvm::dyn_cast<uls::MicrobatchesOp>(op->getParentOp());
  auto block = llvm::dyn_cast<uls::BlockOp>(op->getParentOp());
  bool isBackward = block && block.isJoint() && llvm::isa<uls::YieldOp>(op);
  unsigned first = isBackward ? block.getNumPrimalResults() : 0;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    Type type = operand.get().getType();
    Layout layout = loop ? getResultLayout(loop, i)
                         : readLayout(llvm::cast<FunctionOpInterface>(op->getParentOp())
                                          .getResultAttr(first + i, DistDialect::kShardingAttrName),
                                      type);
    LocalValue local = locals.lookup(operand.get());
    if ((layout.sum & ~local.layout.sum) && !isZeroConstant(operand.get().getDefiningOp()))
      return op->emitOpError() << "value " << i << " should be left partial, " << mesh.write(layout)
                               << ", but is " << mesh.write(local.layout)
                               << "; run ulsc-propagate-shardings on this module";
    operands.push_back(require(operand, layout));
  }
  cloneLocal(op, operands, {});
  return success();
}
