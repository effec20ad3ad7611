//===- InitAllPasses.cpp - Registration of all passes and pipelines
//----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/InitAllPasses.h"
#include "ulsc/Pipelines.h"

#include "passes/Import/Passes.h"
#include "passes/Lower/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Schedule/Passes.h"
#include "passes/Shard/Passes.h"
#include "passes/Stage/Passes.h"
#include "passes/Train/Passes.h"

#include "mlir/Transforms/Passes.h"

void ulsc::registerAllPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  registerImportPasses();
  registerImportPipeline();
  registerTrainPasses();
  registerTrainPipeline();
  registerShardPasses();
  registerShardPipeline();
  registerStagePasses();
  registerStagePipeline();
  registerPartitionPasses();
  registerPartitionPipeline();
  registerSchedulePasses();
  registerSchedulePipeline();
  registerLowerPasses();
  registerLowerPipeline();
  registerCpuPipeline();
  registerCudaPipelines();
  registerStagesPipeline();
}
