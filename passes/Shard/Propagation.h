//===- Propagation.h - Carries axes along factors to a fixpoint -------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SHARD_PROPAGATION_H
#define ULSC_PASSES_SHARD_PROPAGATION_H

#include "passes/Shard/ShardingGraph.h"

namespace ulsc::shard {

/// Carries axes along the graph until nothing changes. Annotations of user priority 0 go first,
/// then the others; within a priority elementwise ops before the rest; within those what no tensor
/// contradicts (basic) before conflicts, which predicted times decide (aggressive).
class Propagation {
public:
  Propagation(ShardingGraph &graph, const Mesh &mesh, const cost::CommunicationCost &cost)
      : graph(graph), mesh(mesh), cost(cost) {}
  void run();

private:
  bool sweep(int64_t round, bool elementwiseOnly, bool resolveConflicts);
  bool visit(const Edge &edge, int64_t round, bool resolveConflicts);
  FactorAxes mergeBasic(const Edge &edge, int64_t round, bool &hasConflict);
  bool extend(const Edge &edge, int64_t id, const dist::TensorFactors &factors,
              const FactorAxes &axes);
  void recordOrigin(const Edge &edge, int64_t id, uint8_t axis);

  ShardingGraph &graph;
  const Mesh &mesh;
  const cost::CommunicationCost &cost;
};

/// Notes on ops whose tensors disagree which factor won each contested axis, and says so in a
/// remark.
void recordConflicts(ShardingGraph &graph, const Mesh &mesh, const cost::CommunicationCost &cost);

} // namespace ulsc::shard

#endif // ULSC_PASSES_SHARD_PROPAGATION_H
