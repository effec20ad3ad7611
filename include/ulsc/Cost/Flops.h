//===- Flops.h - What an op computes ----------------------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_COST_FLOPS_H
#define ULSC_COST_FLOPS_H

#include "mlir/IR/Operation.h"

namespace ulsc::cost {

/// Floating-point operations of contractions and attention, of one execution on the sizes that the
/// op has; zero for all else, as in the FLOPs of a model. A causal attention counts half.
double countFlops(mlir::Operation *op);

} // namespace ulsc::cost

#endif // ULSC_COST_FLOPS_H
