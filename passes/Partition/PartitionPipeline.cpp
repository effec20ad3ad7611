//===- PartitionPipeline.cpp - The stage that makes a module local to one rank
//--------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/EnterStage.h"
#include "passes/Partition/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void ulsc::buildPartitionPipeline(OpPassManager &manager, const PartitionOptions &options) {
  manager.addPass(createEnterStagePass("staged", "local"));
  manager.addPass(createPartitionModulePass());
  // Equal collectives on equal values are one.
  manager.addPass(createCSEPass());
  manager.addPass(createConvertGradientReductionsPass({options.reduceDtype}));
  manager.addPass(createMergeScalarReductionsPass());
}

void ulsc::registerPartitionPipeline() {
  PassPipelineRegistration<PartitionOptions>(
      "ulsc-partition-pipeline", "The stage `local`: one rank's shapes and explicit collectives",
      buildPartitionPipeline);
}
