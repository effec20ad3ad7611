//===- FactorAssignment.h - Which axes an op's factors are computed over ----------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SHARD_FACTORASSIGNMENT_H
#define ULSC_PASSES_SHARD_FACTORASSIGNMENT_H

#include "passes/Shard/Layout.h"

#include "mlir/IR/TypeRange.h"

namespace ulsc::shard {

/// One tensor of an op as the assignment sees it.
struct OpTensor {
  const dist::TensorFactors *factors;
  mlir::Type type;
  Layout layout;
  /// May still take more axes, so that a longer list costs nothing.
  bool isOpen = false;
};

/// An op with the layouts of its tensors.
struct OpTensors {
  const dist::ShardingRule *rule;
  llvm::SmallVector<OpTensor, 4> operands, results;
};

struct FactorAssignment {
  FactorAxes axes;
  /// Whether tensors disagreed, so that predicted times decided.
  bool hadConflict = false;
};

/// Chooses the axes over which the op's factors are computed: what its tensors agree on, and where
/// they disagree the choice with the least predicted time for resharding operands, computing,
/// reducing and resharding results; among equals that of the larger tensor. Propagation and
/// partitioning both ask here, so they can't differ.
FactorAssignment assignFactors(const OpTensors &op, const Mesh &mesh,
                               const cost::CommunicationCost &cost);

} // namespace ulsc::shard

#endif // ULSC_PASSES_SHARD_FACTORASSIGNMENT_H
