//===- ScalarForms.h - What elementwise ops do to one element ---------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_SCALARFORMS_H
#define ULSC_PASSES_LOWER_SCALARFORMS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>

namespace ulsc::lower {

/// Builds the result's element from the operands' elements, floats in f32. `op` carries the
/// attributes.
using ScalarForm = std::function<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::Operation *op,
                                             mlir::ValueRange)>;

/// The elementwise ops by name: a new one needs one entry here and nothing else to be lowered and
/// fused.
class ScalarForms {
public:
  /// All elementwise ops of the uls dialect.
  explicit ScalarForms(mlir::MLIRContext *context);

  template <typename Op>
  void add(ScalarForm form) {
    forms[mlir::OperationName(Op::getOperationName(), context)] = std::move(form);
  }

  /// The form of `op`, or null when it is not elementwise.
  const ScalarForm *lookup(mlir::Operation *op) const;

private:
  mlir::MLIRContext *context;
  llvm::DenseMap<mlir::OperationName, ScalarForm> forms;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_SCALARFORMS_H
