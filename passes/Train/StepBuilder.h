//===- StepBuilder.h - What the steps of training and of evaluation share ---------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_TRAIN_STEPBUILDER_H
#define ULSC_PASSES_TRAIN_STEPBUILDER_H

#include "dialects/Uls/Uls.h"

#include "mlir/IR/IRMapping.h"

namespace ulsc::uls {

/// Writes a `uls.step` that runs a `uls.forward` on every microbatch.
class StepBuilder {
public:
  explicit StepBuilder(ForwardOp forward);

  /// Checks the forward and the module's `uls.batch`. After an error nothing was made.
  mlir::LogicalResult check();

  /// Makes `@step` at the end of the module, with materialised parameters.
  void open();

  /// Counts and reports the valid targets, and makes `scale`. As late as its use allows: scalars
  /// that are summed over ranks in one place share a collective.
  void countTargets();

  /// Starts the loop with these carried values, and takes tokens, targets and context of the
  /// microbatch inside.
  MicrobatchesOp openLoop(mlir::ValueRange inits);

  /// Clones an op of the forward's body that is not `uls.materialize`.
  void cloneForward(mlir::Operation &op) { builder.clone(op, mapping); }

  /// In the loop, after the forward part: adds this microbatch's loss to the carried sum.
  mlir::Value addLoss(mlir::Value sum);

  /// Ends the loop and goes on after it.
  void closeLoop(mlir::ValueRange next);

  /// Reports the mean loss and, beside it so that they travel together, the stop requests.
  void reportLoss(mlir::Value sum);
  /// Ends the step.
  void close();

  mlir::Value lookup(mlir::Value forwardValue) const { return mapping.lookup(forwardValue); }
  void map(mlir::ValueRange forwardValues, mlir::ValueRange values) {
    mapping.map(forwardValues, values);
  }
  mlir::RankedTensorType getScalarType() {
    return mlir::RankedTensorType::get({}, builder.getF32Type());
  }
  mlir::Value control(llvm::StringRef field);
  void report(llvm::StringRef field, mlir::Value value);

  mlir::OpBuilder builder;
  mlir::Location loc;
  StepOp step;
  /// 1 / max(valid targets, 1): from the sum of the losses to their mean, and so the loss's
  /// cotangent.
  mlir::Value scale;
  /// Zero of the sum of losses.
  mlir::Value zero;

private:
  void openStep();
  mlir::Value scalar(double value);

  ForwardOp forward;
  int64_t microbatches = 0;
  MicrobatchesOp loop;
  /// From the forward's values to the step's.
  mlir::IRMapping mapping;
  /// The forward's tokens and targets.
  llvm::SmallVector<mlir::BlockArgument> inputs;
};

} // namespace ulsc::uls

#endif // ULSC_PASSES_TRAIN_STEPBUILDER_H
