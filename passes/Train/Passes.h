//===- Passes.h - Stage that differentiates blocks and writes down the step -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_TRAIN_PASSES_H
#define ULSC_PASSES_TRAIN_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace ulsc {

#define GEN_PASS_DECL
#include "passes/Train/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Train/Passes.h.inc"

/// What the stage `train` may be told.
struct TrainOptions : mlir::PassPipelineOptions<TrainOptions> {
  Option<std::string> optimizer{*this, "optimizer",
                                llvm::cl::desc("Name of the optimizer: adamw or sgd."),
                                llvm::cl::init("adamw")};
};

/// The stage `train`: joint blocks, the optimizer's rule, the step.
void buildTrainPipeline(mlir::OpPassManager &manager, const TrainOptions &options);

/// Registers the stage's pipeline as `ulsc-train-pipeline`.
void registerTrainPipeline();

} // namespace ulsc

#endif // ULSC_PASSES_TRAIN_PASSES_H
