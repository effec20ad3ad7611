//===- InitAllDialects.h - The one place where dialects are registered ------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_INITALLDIALECTS_H
#define ULSC_INITALLDIALECTS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace ulsc {

/// Registers the project's dialects and the upstream ones its lowering uses.
void registerAllDialects(mlir::DialectRegistry &registry);

} // namespace ulsc

#endif // ULSC_INITALLDIALECTS_H
