//===- CutCalls.h - Where a step's calls are cut into chunks ----------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_STAGE_CUTCALLS_H
#define ULSC_PASSES_STAGE_CUTCALLS_H

#include "passes/Stage/CallMemory.h"
#include "ulsc/PipelineSchedule.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace ulsc::stage {

/// What a cut is judged by. All calls of the step, in order.
struct CutWeights {
  llvm::ArrayRef<double> times;
  /// Looked at only where there is a limit.
  llvm::ArrayRef<CallMemory> memory;
  /// Bytes that a rank's chunks may take; 0 for no limit.
  double limit = 0;
};

/// The ends of the schedule's chunks, none of them empty: of all cuts within the limit one whose
/// longest chunk is as short as can be, and, of those, whose squares sum to the least. Where
/// nothing is within it, the one whose largest chunk is smallest. Several chunks on a rank share
/// its memory: then a cut within the limit may be missed where chunks of one rank differ much.
llvm::SmallVector<size_t> cutCalls(const CutWeights &weights, const pipeline::Schedule &schedule);

} // namespace ulsc::stage

#endif // ULSC_PASSES_STAGE_CUTCALLS_H
