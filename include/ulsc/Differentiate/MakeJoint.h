//===- MakeJoint.h - Reverse-mode differentiation of a block ----------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_DIFFERENTIATE_MAKEJOINT_H
#define ULSC_DIFFERENTIATE_MAKEJOINT_H

#include "dialects/Uls/Uls.h"

namespace ulsc::uls {

/// Which derivatives of a block someone asks for. Indices are ascending.
struct JointRequest {
  /// Primal arguments that get a gradient; floating-point tensors.
  llvm::SmallVector<int64_t> gradients;
  /// Primal results through which a cotangent comes in; floating-point tensors.
  llvm::SmallVector<int64_t> cotangents;

  bool operator==(const JointRequest &other) const {
    return gradients == other.gradients && cotangents == other.cotangents;
  }
};

/// Everything of a plain block that can be differentiated.
JointRequest requestAll(BlockOp block);

/// Whether values of this type have cotangents.
bool isDifferentiable(mlir::Type type);

/// The dtype of parameter gradients: the module's `uls.gradient_dtype`, f32 without one.
mlir::Type getGradientDtype(mlir::Operation *op);

/// Turns a plain block into a joint one by reverse-mode differentiation through
/// `DifferentiableOpInterface`. Gradients of arguments marked `uls.parameter` have `gradientDtype`,
/// those of others their argument's type. Adjoint ops have the location of their op. Fails after an
/// error when an op between a wanted argument and a result with a cotangent has no adjoint; the
/// block is invalid then.
mlir::LogicalResult makeJoint(BlockOp block, const JointRequest &request, mlir::Type gradientDtype);

} // namespace ulsc::uls

#endif // ULSC_DIFFERENTIATE_MAKEJOINT_H
