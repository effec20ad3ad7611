//===- SchedulePipeline.cpp - The stage that cuts blocks and overlaps collectives
//---------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/EnterStage.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/RecomputePolicy.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

void ulsc::buildSchedulePipeline(mlir::OpPassManager &pm, const ScheduleOptions &options) {
  pm.addPass(createEnterStagePass("local", "scheduled"));
  pm.addPass(createRepeatForwardPass({options.recompute}));
  pm.addPass(createCutJointBlocksPass({options.recompute}));
  pm.addPass(createPlaceGathersPass({options.reshardAfterForward}));
  // Buckets need the last microbatch in the open, and overlap needs the buckets.
  pm.addPass(createPeelLastMicrobatchPass());
  pm.addPass(createBucketGradientsPass());
  pm.addPass(createBucketParametersPass());
  pm.addPass(createOverlapCollectivesPass());
}

void ulsc::registerSchedulePipeline() {
  mlir::PassPipelineRegistration<ScheduleOptions>(
      "ulsc-schedule-pipeline", "from stage local to stage scheduled", buildSchedulePipeline);
}
