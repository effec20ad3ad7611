//===- ImportPipeline.cpp - The stage graph: annotations on an imported model
//------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "passes/EnterStage.h"
#include "passes/Import/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace ulsc;

void ulsc::buildGraphPipeline(OpPassManager &manager, const GraphPipelineOptions &options) {
  manager.addPass(createEnterStagePass("", "graph"));
  AnnotatePassOptions annotate;
  annotate.mesh = options.mesh;
  annotate.meshOrder = options.meshOrder;
  annotate.devices = options.devices;
  annotate.strategy = options.strategy;
  annotate.recipe = options.recipe;
  annotate.shard = options.shard;
  manager.addPass(createAnnotatePass(annotate));
  // After annotation, so that a wrong recipe is reported once.
  AssignGroupsPassOptions groups;
  groups.recipe = options.recipe;
  manager.addPass(createAssignGroupsPass(groups));
  // Last: it compares what the passes before attached.
  manager.addPass(createSpecializeBlocksPass());
}

void ulsc::registerImportPipeline() {
  PassPipelineRegistration<GraphPipelineOptions>(
      "ulsc-graph-pipeline", "Attaches mesh, shardings and parameter groups to an imported model",
      buildGraphPipeline);
}
