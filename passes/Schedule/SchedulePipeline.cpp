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
  // Buckets need the last microbatch in the open, and overlap needs the buckets.
  pm.addPass(createPeelLastMicrobatchPass());
  pm.addPass(createBucketGradientsPass());
  pm.addPass(createOverlapCollectivesPass());
}

namespace {
struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  Option<std::string> recompute{*this, "recompute",
                                llvm::cl::desc("what is computed again instead of kept"),
                                llvm::cl::init(ulsc::kDefaultRecompute.str())};
};
} // namespace

void ulsc::registerSchedulePipeline() {
  mlir::PassPipelineRegistration<PipelineOptions>(
      "ulsc-schedule-pipeline", "from stage local to stage scheduled",
      [](mlir::OpPassManager &pm, const PipelineOptions &options) {
        buildSchedulePipeline(pm, {options.recompute});
      });
}
