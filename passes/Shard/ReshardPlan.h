//===- ReshardPlan.h - The cheapest way from one layout to another ----------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SHARD_RESHARDPLAN_H
#define ULSC_PASSES_SHARD_RESHARDPLAN_H

#include "passes/Shard/Layout.h"

namespace ulsc::shard {

struct ReshardStep {
  enum Kind { AllReduce, ReduceScatter, AllGather, AllToAll, Permute, LocalSlice };
  Kind kind;
  dist::Reduction reduction = dist::Reduction::Sum;
  /// The axes it goes over, in the order of the blocks.
  AxisList axes;
  /// The dimension gathered, scattered, sliced or joined.
  int64_t dim = -1;
  /// The dimension that an all-to-all splits.
  int64_t splitDim = -1;
  Layout after;
  /// Whether it gathers, scatters or slices the flattened block instead of a dimension.
  bool isFlat = false;
};

struct ReshardPlan {
  llvm::SmallVector<ReshardStep, 2> steps;
  double cost = 0.0;
};

/// The cheapest steps by predicted time. There is always a way: reduce, gather everything and
/// slice. `to` may be partial only over axes over which `from` is.
ReshardPlan planReshard(const Layout &from, const Layout &to, mlir::RankedTensorType type,
                        const Mesh &mesh, const cost::CommunicationCost &cost);

/// Source and target positions along `axes`, flattened, that turn `from` into `to`, whose blocks
/// have the same shape.
llvm::SmallVector<int64_t> getPermutation(const Layout &from, const Layout &to,
                                          llvm::ArrayRef<uint8_t> axes, const Mesh &mesh);

} // namespace ulsc::shard

#endif // ULSC_PASSES_SHARD_RESHARDPLAN_H
