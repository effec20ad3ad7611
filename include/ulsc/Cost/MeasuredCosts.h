//===- MeasuredCosts.h - How long blocks took in a run ----------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_COST_MEASUREDCOSTS_H
#define ULSC_COST_MEASUREDCOSTS_H

#include "mlir/IR/Location.h"

#include <map>
#include <optional>
#include <string>

namespace ulsc::cost {

/// Microseconds of one call of a block on one microbatch. What the backward computes again is part
/// of it.
struct MeasuredCost {
  double forwardUs = 0, backwardUs = 0;
  /// Where the file says so.
  mlir::LocationAttr location;
};

/// By the name of a block or of a module of the source model.
using MeasuredCosts = std::map<std::string, MeasuredCost>;

/// What a program computes in a microbatch of a data rank, on any mesh: what its blocks' times
/// depend on.
struct Workload {
  std::string model, family, dtype;
  int64_t parameters = 0, seq = 0, microBatch = 0;
};

/// Reads the trace that a compiled program wrote, whose calls of each block are averaged without
/// what they waited for other ranks, or
/// `{"costs": {"model.layers.0": {"forward_us": 120, "backward_us": 250}}}`. What is wrong with the
/// file is reported, and a trace of another model or dtype than `own`; of other sizes it is a
/// warning.
std::optional<MeasuredCosts> readMeasuredCosts(mlir::MLIRContext *context, llvm::StringRef path,
                                               const Workload &own);

} // namespace ulsc::cost

#endif // ULSC_COST_MEASUREDCOSTS_H
