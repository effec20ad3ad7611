//===- OpCost.h - What an op computes and how long it takes -----------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_COST_OPCOST_H
#define ULSC_COST_OPCOST_H

#include "ulsc/Cost/Cluster.h"

#include "mlir/IR/Operation.h"

namespace ulsc::cost {

/// Floating-point operations of contractions and attention, of one execution on the sizes that the
/// op has; zero for all else, as in the FLOPs of a model. A causal attention counts half.
double countFlops(mlir::Operation *op);

/// Microseconds of one execution on one device: what the peak rate or the memory's bandwidth allow,
/// whichever is less. Views and constants take no time, collectives what the mesh that they name
/// takes.
double predictUs(mlir::Operation *op, const Cluster &cluster);

/// Microseconds of one execution of a collective on its mesh.
double predictUs(dist::CollectiveOpInterface op, dist::MeshAttr mesh, const Cluster &cluster);

} // namespace ulsc::cost

#endif // ULSC_COST_OPCOST_H
