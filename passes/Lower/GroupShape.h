//===- GroupShape.h - Whether generics fit in one kernel, and how it is split -----*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_GROUPSHAPE_H
#define ULSC_PASSES_LOWER_GROUPSHAPE_H

#include "passes/Lower/KernelGroups.h"

#include <optional>

namespace ulsc::lower {

/// Whether `op` reduces its leading dimensions and keeps others: a kernel of kind columns.
bool isColumnReduction(mlir::linalg::GenericOp op);

/// The kernel that `ops`, all generics of one block in order, make together, or nothing if they
/// can't or shouldn't.
std::optional<KernelGroup> analyzeGroup(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_GROUPSHAPE_H
