//===- Passes.h - Stage that cuts joint blocks, buckets and overlaps collectives -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SCHEDULE_PASSES_H
#define ULSC_PASSES_SCHEDULE_PASSES_H

#include "passes/Schedule/RecomputePolicy.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace ulsc {

#define GEN_PASS_DECL
#include "passes/Schedule/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Schedule/Passes.h.inc"

/// `recompute` is the text of a `RecomputePolicy`, `reshardAfterForward` that of a
/// `ReshardPolicy`.
struct ScheduleOptions : mlir::PassPipelineOptions<ScheduleOptions> {
  Option<std::string> reshardAfterForward{
      *this, "reshard-after-forward",
      llvm::cl::desc("whether the backward gathers parameters again: true, false, or a number of "
                     "ranks that keep them in parts; by default true, false with pipeline stages"),
      llvm::cl::init("")};
  Option<std::string> recompute{*this, "recompute",
                                llvm::cl::desc("what is computed again instead of kept"),
                                llvm::cl::init(kDefaultRecompute.str())};
};

/// Adds the passes from stage `local` to stage `scheduled`.
void buildSchedulePipeline(mlir::OpPassManager &pm, const ScheduleOptions &options);

/// Registers the stage's pipeline by name.
void registerSchedulePipeline();

} // namespace ulsc

#endif // ULSC_PASSES_SCHEDULE_PASSES_H
