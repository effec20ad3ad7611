//===- StagePipeline.cpp - The stage that cuts a step into pipeline stages --------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/EnterStage.h"
#include "passes/Stage/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void ulsc::buildStagePipeline(OpPassManager &manager, const StagingOptions &options) {
  manager.addPass(createEnterStagePass("sharded", "staged"));
  manager.addPass(createAssignChunksPass({options.schedule, options.chunks, options.recipe,
                                          options.costs, options.memoryLimit, options.recompute}));
  manager.addPass(createBuildStagesPass({options.schedule, options.chunks}));
}

void ulsc::registerStagePipeline() {
  PassPipelineRegistration<StagingOptions>(
      "ulsc-stage-pipeline", "The stage `staged`: a step for each rank of the pipeline",
      buildStagePipeline);
}
