//===- ParameterFlow.h - Which parameter a value of a step belongs to ---------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_DIALECTS_ULS_PARAMETERFLOW_H
#define ULSC_DIALECTS_ULS_PARAMETERFLOW_H

#include "dialects/Uls/Uls.h"

namespace ulsc::uls {

/// List of the module: patterns of parameter names, as a recipe's `storage` gives them. What one
/// block call takes and the same pattern is the first to match travels as a unit of its own.
constexpr llvm::StringLiteral kUnitsAttrName = "uls.units";

/// The parameter that a value of a step is, or is a new value of, whole or a part of it; null for
/// others.
mlir::StringAttr findParameter(mlir::Value value);

/// The parameter that a gradient goes to, through accumulation, reduction and changes of shape;
/// null when it goes elsewhere.
mlir::StringAttr findUpdatedParameter(mlir::Value gradient);

} // namespace ulsc::uls

#endif // ULSC_DIALECTS_ULS_PARAMETERFLOW_H
