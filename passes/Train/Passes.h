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
  Option<std::string> masterDtype{
      *this, "master-dtype",
      llvm::cl::desc("Dtype of master values of parameters stored in less than f32: f32 or none."),
      llvm::cl::init("f32")};
  Option<std::string> momentDtype{
      *this, "moment-dtype", llvm::cl::desc("Dtype of the optimizer's other states: f32 or bf16."),
      llvm::cl::init("f32")};
  Option<bool> stochasticRounding{*this, "stochastic-rounding",
                                  llvm::cl::desc("Round state in bf16 up or down at random."),
                                  llvm::cl::init(false)};
};

/// The stage `train`: joint blocks, the optimizer's rule, the step.
void buildTrainPipeline(mlir::OpPassManager &manager, const TrainOptions &options);

/// Registers the stage's pipeline as `ulsc-train-pipeline`.
void registerTrainPipeline();

} // namespace ulsc

#endif // ULSC_PASSES_TRAIN_PASSES_H
