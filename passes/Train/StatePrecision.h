//===- StatePrecision.h - In what the optimizer keeps its state -------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_TRAIN_STATEPRECISION_H
#define ULSC_PASSES_TRAIN_STATEPRECISION_H

#include "mlir/IR/BuiltinOps.h"

namespace ulsc::uls {

/// Element types of state, and how it is rounded.
struct StatePrecision {
  /// Whether a parameter stored in less than f32 has a master value.
  bool hasMaster = true;
  mlir::Type moment;
  bool isStochastic = false;

  /// From the text of options; an unknown dtype is an error at `module`.
  static mlir::FailureOr<StatePrecision> read(mlir::ModuleOp module, llvm::StringRef masterDtype,
                                              llvm::StringRef momentDtype, bool isStochastic);
};

} // namespace ulsc::uls

#endif // ULSC_PASSES_TRAIN_STATEPRECISION_H
