//===- UlsPartition.cpp - Local forms of the uls ops ---===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

LogicalResult SumRanksOp::partition(dist::PartitionState &state, ValueRange operands,
                                    SmallVectorImpl<dist::PartitionedValue> &results) {
  SmallVector<StringAttr> axes;
  for (dist::MeshAxisAttr axis : state.mesh.getAxes())
    axes.push_back(StringAttr::get(getContext(), axis.getName()));
  auto sum = dist::PartialAttr::get(getContext(), dist::Reduction::Sum, axes);
  results.push_back({operands[0], dist::ShardingAttr::getClosed(state.meshName, {}, {sum})});
  return success();
}
LogicalResult AttentionGradOp::partition(dist::PartitionState &, ValueRange, SmallVectorImpl<dist::PartitionedValue> &) { return emitOpError("has no local form yet"); }
LogicalResult AttentionOp::partition(dist::PartitionState &, ValueRange, SmallVectorImpl<dist::PartitionedValue> &) { return emitOpError("has no local form yet"); }
LogicalResult CrossEntropyGradOp::partition(dist::PartitionState &, ValueRange, SmallVectorImpl<dist::PartitionedValue> &) { return emitOpError("has no local form yet"); }
LogicalResult CrossEntropyOp::partition(dist::PartitionState &, ValueRange, SmallVectorImpl<dist::PartitionedValue> &) { return emitOpError("has no local form yet"); }
LogicalResult DropoutOp::partition(dist::PartitionState &, ValueRange, SmallVectorImpl<dist::PartitionedValue> &) { return emitOpError("has no local form yet"); }
LogicalResult EmbeddingGradOp::partition(dist::PartitionState &, ValueRange, SmallVectorImpl<dist::PartitionedValue> &) { return emitOpError("has no local form yet"); }
LogicalResult EmbeddingOp::partition(dist::PartitionState &, ValueRange, SmallVectorImpl<dist::PartitionedValue> &) { return emitOpError("has no local form yet"); }
LogicalResult GlobalNormOp::partition(dist::PartitionState &, ValueRange, SmallVectorImpl<dist::PartitionedValue> &) { return emitOpError("has no local form yet"); }
LogicalResult IotaOp::partition(dist::PartitionState &, ValueRange, SmallVectorImpl<dist::PartitionedValue> &) { return emitOpError("has no local form yet"); }
