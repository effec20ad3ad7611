//===- CallMemory.h - What the calls of a step keep in memory ---------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_STAGE_CALLMEMORY_H
#define ULSC_PASSES_STAGE_CALLMEMORY_H

#include "dialects/Uls/Uls.h"
#include "passes/Schedule/RecomputePolicy.h"

namespace ulsc::stage {

/// Bytes that one rank of a stage holds for a call.
struct CallMemory {
  /// Parameters, gradients and optimizer state, as they are split; and, of parameters that are
  /// split, the gathered values.
  double lasting = 0;
  /// What its backward takes, for each microbatch in flight.
  double kept = 0;
};

/// Estimates before the plan: `step` has shardings. Temporaries and buffers of communication are
/// not in it, and what a policy lets be computed again is taken not to be kept.
llvm::SmallVector<CallMemory> estimateMemory(uls::StepOp step, llvm::ArrayRef<uls::CallOp> calls,
                                             const RecomputePolicy &policy);

} // namespace ulsc::stage

#endif // ULSC_PASSES_STAGE_CALLMEMORY_H
