//===- ShardPipeline.cpp - The stage that propagates shardings
//------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/EnterStage.h"
#include "passes/Shard/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void ulsc::buildShardPipeline(OpPassManager &manager) {
  manager.addPass(createEnterStagePass("train", "sharded"));
  manager.addPass(createPropagateShardingsPass());
  // After propagation, which knows nothing of it: nothing is computed on what is stored.
  manager.addPass(createShardStoragePass());
  manager.addPass(createVerifyShardingsPass());
}

void ulsc::registerShardPipeline() {
  PassPipelineRegistration<>("ulsc-shard-pipeline",
                             "The stage `sharded`: a sharding for every value", buildShardPipeline);
}
