//===- CudaPipeline.cpp - From exec to the llvm dialect and PTX, for CUDA ---------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/EnterStage.h"
#include "passes/Lower/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace ulsc;

/// What is left of other dialects, in a module of the host or of the device.
static void convertToLLVM(OpPassManager &passes) {
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

void ulsc::buildCudaKernelsPipeline(OpPassManager &passes, StringRef arch, bool keepsModule) {
  passes.addPass(createDeduplicateKernelsPass());
  passes.addPass(createEmitCudaAttentionPass());
  passes.addPass(createGroupLaunchesPass());
  passes.addPass(createEmitCudaKernelsPass());
  convertToLLVM(passes.nest<ModuleOp>());
  passes.addPass(createEmitKernelsTextPass({arch.str(), keepsModule}));
}

void ulsc::buildCudaPipeline(OpPassManager &passes, StringRef arch) {
  passes.addPass(createEnterStagePass("exec", "llvm"));
  passes.addPass(createAttachManifestPass());
  buildCudaKernelsPipeline(passes, arch, /*keepsModule=*/false);
  passes.addPass(createConvertExecToLLVMPass({/*isForDevice=*/true}));
  convertToLLVM(passes);
}

namespace {
struct CudaOptions : PassPipelineOptions<CudaOptions> {
  Option<std::string> arch{*this, "arch",
                           llvm::cl::desc("oldest architecture that runs the program"),
                           llvm::cl::init("sm_90")};
};
struct KernelsOptions : PassPipelineOptions<KernelsOptions> {
  Option<std::string> arch{*this, "arch",
                           llvm::cl::desc("oldest architecture that runs the program"),
                           llvm::cl::init("sm_90")};
  Option<bool> keep{*this, "keep", llvm::cl::desc("keep the module of kernels, too, for tests"),
                    llvm::cl::init(false)};
};
} // namespace

void ulsc::registerCudaPipelines() {
  PassPipelineRegistration<KernelsOptions>(
      "ulsc-cuda-kernels-pipeline", "from kernels of exec to PTX",
      [](OpPassManager &passes, const KernelsOptions &options) {
        buildCudaKernelsPipeline(passes, options.arch, options.keep);
      });
  PassPipelineRegistration<CudaOptions>(
      "ulsc-cuda-pipeline", "from exec with planned buffers to the llvm dialect and PTX, for CUDA",
      [](OpPassManager &passes, const CudaOptions &options) {
        buildCudaPipeline(passes, options.arch);
      });
}
