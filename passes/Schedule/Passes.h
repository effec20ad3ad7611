//===- Passes.h - Stage that cuts joint blocks, buckets and overlaps collectives -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SCHEDULE_PASSES_H
#define ULSC_PASSES_SCHEDULE_PASSES_H

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

struct ScheduleOptions : mlir::PassPipelineOptions<ScheduleOptions> {
  Option<bool> reshardAfterForward{
      *this, "reshard-after-forward",
      llvm::cl::desc("whether the backward gathers parameters again that the forward gathered"),
      llvm::cl::init(true)};
};

/// Adds the passes from stage `local` to stage `scheduled`.
void buildSchedulePipeline(mlir::OpPassManager &pm, const ScheduleOptions &options);

/// Registers the stage's pipeline by name.
void registerSchedulePipeline();

} // namespace ulsc

#endif // ULSC_PASSES_SCHEDULE_PASSES_H
