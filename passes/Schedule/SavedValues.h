//===- SavedValues.h - What a forward block keeps for its backward block ----------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SCHEDULE_SAVEDVALUES_H
#define ULSC_PASSES_SCHEDULE_SAVEDVALUES_H

#include "dialects/Uls/Uls.h"
#include "passes/Schedule/RecomputePolicy.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace ulsc {

struct SavedValues {
  /// Values of the forward part that are handed to the backward part, in program order.
  llvm::SmallVector<mlir::Value> results;
  /// Primal arguments that the backward part takes again.
  llvm::DenseSet<mlir::Value> arguments;
  /// Forward ops that the backward part runs again, in program order.
  llvm::SmallVector<mlir::Operation *> recomputed;
  /// Bytes that the caller keeps, and microseconds predicted for what is run again.
  int64_t bytes = 0;
  double recomputedUs = 0;
};

/// Chooses them by a minimum cut on the sizes of the joint block, which are those of one rank.
/// Fails where `uls.saved` leaves something that the backward part needs neither kept nor computed
/// again.
mlir::FailureOr<SavedValues> chooseSavedValues(uls::BlockOp joint, const RecomputePolicy &policy);

} // namespace ulsc

#endif // ULSC_PASSES_SCHEDULE_SAVEDVALUES_H
