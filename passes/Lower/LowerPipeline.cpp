//===- LowerPipeline.cpp - The stage from one rank's values to its program on buffers
//----------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "passes/EnterStage.h"
#include "passes/Lower/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void ulsc::buildLowerPipeline(OpPassManager &manager, const LowerOptions &options) {
  manager.addPass(createEnterStagePass("scheduled", "exec"));
  // While positions are ops that count, not yet kernels.
  if (options.target == "cuda")
    manager.addPass(createChooseAttentionPass({options.attention}));
  manager.addPass(createPredictExposurePass());
  manager.addPass(createExpandContextsPass());
  manager.addPass(createSinkAccumulationPass());
  manager.addPass(createLowerStatePass());
  if (options.target == "cuda") {
    manager.addPass(createLegalizeProductsPass());
    if (options.fusesEpilogues)
      manager.addPass(createFuseEpiloguesPass());
  }
  manager.addPass(createDecomposeModelOpsPass());
  // Rope's tables of queries and keys are the same op.
  manager.addPass(createCSEPass());
  manager.addPass(createFormKernelsPass());
  manager.addPass(createAssignBuffersPass({options.threads, options.target}));
  manager.addPass(createPlanMemoryPass({options.poison}));
  manager.addPass(createCheckPlanPass());
  manager.addPass(createProveCommunicationPass());
}

namespace {
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<int64_t> threads{*this, "threads",
                          llvm::cl::desc("threads per rank that scratch buffers are sized for"),
                          llvm::cl::init(2)};
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("what the program runs on, cpu or cuda"),
                             llvm::cl::init("cpu")};
  Option<bool> poison{*this, "poison",
                      llvm::cl::desc("fill buffers with NaN after their last use, for tests"),
                      llvm::cl::init(false)};
  Option<std::string> attention{
      *this, "attention",
      llvm::cl::desc("who computes attention on the target cuda: auto, own or cudnn"),
      llvm::cl::init("auto")};
  Option<bool> epilogues{*this, "epilogues",
                         llvm::cl::desc("whether products of the target cuda do what follows them"),
                         llvm::cl::init(true)};
};
} // namespace

void ulsc::registerLowerPipeline() {
  PassPipelineRegistration<PipelineOptions>(
      "ulsc-lower-pipeline", "from the scheduled stage to exec with every offset",
      [](OpPassManager &manager, const PipelineOptions &options) {
        buildLowerPipeline(manager, {options.threads, options.target, options.poison,
                                     options.attention, options.epilogues});
      });
}
