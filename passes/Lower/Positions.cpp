//===- Positions.cpp - Where a rank's block and a call's rows lie -----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "passes/Lower/DecomposePatterns.h"
#include "passes/Lower/GenericOps.h"

using namespace mlir;
using namespace ulsc;

dist::MeshAttr lower::lookupMesh(Operation *op, FlatSymbolRefAttr name) {
  auto module = op->getParentOfType<ModuleOp>();
  auto mesh = module ? module.lookupSymbol<dist::MeshOp>(name.getAttr()) : dist::MeshOp();
  return mesh ? mesh.getMesh() : dist::MeshAttr();
}

Value lower::buildPosition(OpBuilder &builder, Location location, FlatSymbolRefAttr meshName,
                           ArrayRef<StringAttr> axes) {
  dist::MeshAttr mesh = lookupMesh(builder.getInsertionBlock()->getParentOp(), meshName);
  Value position;
  for (StringAttr axis : axes) {
    dist::AxisPart part = mesh.findAxis(axis).value_or(dist::AxisPart{0, 1, 1});
    Value coordinate = exec::CoordinateOp::create(builder, location, builder.getI64Type(),
                                                  static_cast<uint64_t>(part.position));
    if (part.minor > 1)
      coordinate = arith::DivUIOp::create(builder, location, coordinate,
                                          i64Constant(builder, location, part.minor));
    // A whole axis' coordinate is below its size; that of a part counts on in the part before it.
    if (axis.getValue() != dist::getWholeAxis(axis))
      coordinate = arith::RemUIOp::create(builder, location, coordinate,
                                          i64Constant(builder, location, part.size));
    if (position) {
      Value size = i64Constant(builder, location, part.size);
      position = arith::MulIOp::create(builder, location, position, size);
      coordinate = arith::AddIOp::create(builder, location, position, coordinate);
    }
    position = coordinate;
  }
  return position;
}

Value lower::buildShardOffset(OpBuilder &builder, Location location, dist::ShardAttr shard,
                              int64_t dim, int64_t localSize) {
  if (!shard || shard.getSharding().getAxes(dim).empty())
    return {};
  dist::ShardingAttr sharding = shard.getSharding();
  Value position = buildPosition(builder, location, sharding.getMesh(), sharding.getAxes(dim));
  return arith::MulIOp::create(builder, location, position,
                               i64Constant(builder, location, localSize));
}

std::pair<Value, Value> lower::getContextParts(Value context) {
  auto cast = context.getDefiningOp<UnrealizedConversionCastOp>();
  if (!cast || cast.getInputs().size() != 2)
    return {};
  return {cast.getInputs()[0], cast.getInputs()[1]};
}

bool lower::isOutermost(RankedTensorType type, int64_t dim) {
  return llvm::all_of(type.getShape().take_front(dim), [](int64_t size) { return size == 1; });
}

bool lower::isDefinedBefore(Value value, Operation *op) {
  Operation *producer = value.getDefiningOp();
  return !producer || producer->getBlock() != op->getBlock() || producer->isBeforeInBlock(op);
}
