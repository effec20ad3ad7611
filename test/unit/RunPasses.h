//===- RunPasses.h - Runs passes by their text on modules of tests ----------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_UNIT_RUNPASSES_H
#define ULSC_TEST_UNIT_RUNPASSES_H

#include "test/unit/DialectContext.h"
#include "ulsc/InitAllPasses.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <string>

namespace ulsc::test {

/// Runs a pipeline of the project's passes on a module of `getContext()`.
inline llvm::LogicalResult runPasses(mlir::ModuleOp module, const std::string &text) {
  static const bool isRegistered = (registerAllPasses(), true);
  (void)isRegistered;
  mlir::PassManager manager(&getContext());
  return llvm::failure(failed(mlir::parsePassPipeline(text, manager)) ||
                       failed(manager.run(module)));
}

} // namespace ulsc::test

#endif // ULSC_TEST_UNIT_RUNPASSES_H
