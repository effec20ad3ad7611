//===- FitMemory.h - The cheapest recomputation whose plan fits -------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SCHEDULE_FITMEMORY_H
#define ULSC_PASSES_SCHEDULE_FITMEMORY_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>

namespace ulsc {

/// What a policy makes of a program.
struct PlannedPolicy {
  std::string policy;
  /// Of the exact plan.
  int64_t peakBytes = 0;
  /// The part of the peak that no policy changes: parameters, gradients, state.
  int64_t persistentBytes = 0;
  /// Predicted for all that is computed again in a step.
  double recomputedUs = 0;
};

/// Plans a program under a policy, given in text form, to the last byte.
using PlanPolicy = llvm::function_ref<mlir::FailureOr<PlannedPolicy>(const std::string &policy)>;

/// What a search for a policy came to.
struct MemoryFit {
  /// The cheapest policy that fits, if any does.
  std::optional<PlannedPolicy> chosen;
  /// The smallest peak of all that were planned.
  PlannedPolicy smallest;
  /// Whether what lasts between steps alone is over the limit, so that little was planned.
  bool isHopeless = false;
};

/// Looks for the policy with the least time predicted for recomputation whose peak is at most
/// `limit`. `module` is at stage `local`. Every cut on the lower convex hull of bytes and time is a
/// candidate; so are what `selective` and `full` alone make, and these cuts (of a model with more
/// than a few layers, four of them) with the first few or all layers run forward again, one by one
/// or in groups; and before nothing is found to fit, other cuts of the layers' block. Fails where
/// planning fails.
mlir::FailureOr<MemoryFit> fitMemory(mlir::ModuleOp module, int64_t limit, PlanPolicy plan);

/// Prices of a MiB (`RecomputePolicy::price`), rising, at which each another cut is the cheapest,
/// from the one that runs nothing again to the one that keeps least.
llvm::SmallVector<int64_t> collectPrices(mlir::ModuleOp module);

} // namespace ulsc

#endif // ULSC_PASSES_SCHEDULE_FITMEMORY_H
