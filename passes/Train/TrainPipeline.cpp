//===- TrainPipeline.cpp - The stage that differentiates blocks and writes down the step ---===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"
#include "passes/EnterStage.h"
#include "passes/Train/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace ulsc;

void ulsc::buildTrainPipeline(OpPassManager &manager, const TrainOptions &options) {
  manager.addPass(createEnterStagePass("graph", "train"));
  manager.addPass(createMakeJointBlocksPass());
  // Blocks only: in the step, accumulators that start as equal zeros must stay apart, for they may
  // be sharded differently.
  OpPassManager &blocks = manager.nest<uls::BlockOp>();
  blocks.addPass(createCanonicalizerPass());
  blocks.addPass(createCSEPass());
  manager.addPass(createWriteUpdateRulePass({options.optimizer}));
  manager.addPass(
      createWriteStepPass({options.masterDtype, options.momentDtype, options.stochasticRounding}));
}

void ulsc::registerTrainPipeline() {
  PassPipelineRegistration<TrainOptions>(
      "ulsc-train-pipeline", "Differentiates blocks and writes down the step (stage train)",
      buildTrainPipeline);
}
