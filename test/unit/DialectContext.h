//===- DialectContext.h - A context that knows all dialects of the project --------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_UNIT_DIALECTCONTEXT_H
#define ULSC_TEST_UNIT_DIALECTCONTEXT_H

#include "ulsc/InitAllDialects.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

namespace ulsc::test {

/// One for all tests of an executable; it is never destroyed, as modules of static lifetime may be
/// in it.
inline mlir::MLIRContext &getContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return new mlir::MLIRContext(registry);
  }();
  return *context;
}

} // namespace ulsc::test

#endif // ULSC_TEST_UNIT_DIALECTCONTEXT_H
