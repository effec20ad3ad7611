//===- LossScaling.h - Dynamic scaling of the loss in the step --------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_TRAIN_LOSSSCALING_H
#define ULSC_PASSES_TRAIN_LOSSSCALING_H

#include "passes/Train/StepBuilder.h"

namespace ulsc::uls {

/// Keeps the cotangents of an f16 backward above its smallest number (Micikevicius et al., "Mixed
/// precision training", ICLR 2018). All is scalar arithmetic on the control block's fields, so that
/// no host decides whether a step counts.
class LossScaling {
public:
  /// Whether some trained parameter is used in f16.
  static bool isNeeded(ForwardOp forward);

  /// Reads the scale and makes the loss's cotangent, after the targets are counted.
  explicit LossScaling(StepBuilder &step);

  mlir::Value getCotangent() const { return cotangent; }
  /// `value / scale`, of a rank-0 value.
  mlir::Value unscale(mlir::Value value);
  /// 1 where the norm is finite, 0 where it is not.
  mlir::Value isFinite(mlir::Value norm);
  /// Reports the next step's scale and count of good steps, and whether this one overflowed.
  void reportNext(mlir::Value isFinite);

private:
  mlir::Value constant(double value);

  StepBuilder &step;
  mlir::Value scale, cotangent;
};

} // namespace ulsc::uls

#endif // ULSC_PASSES_TRAIN_LOSSSCALING_H
