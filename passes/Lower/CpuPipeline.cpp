//===- CpuPipeline.cpp - From exec to the llvm dialect, for the CPU -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/EnterStage.h"
#include "passes/Lower/Passes.h"

using namespace mlir;

void ulsc::buildCpuPipeline(OpPassManager &passes) {
  passes.addPass(createEnterStagePass("exec", "llvm"));
  passes.addPass(createAttachManifestPass());
  passes.addPass(createDeduplicateKernelsPass());
  passes.addPass(createEmitCpuAttentionPass());
  passes.addPass(createEmitCpuKernelsPass());
  passes.addPass(createConvertExecToLLVMPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

void ulsc::registerCpuPipeline() {
  PassPipelineRegistration<>("ulsc-cpu-pipeline",
                             "from exec with planned buffers to the llvm dialect, for the CPU",
                             [](OpPassManager &passes) { buildCpuPipeline(passes); });
}
