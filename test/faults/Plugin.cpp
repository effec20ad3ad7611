//===- Plugin.cpp - The passes as a plugin of the compiler ------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Faults.h"

#include "mlir/Tools/Plugins/PassPlugin.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "test-faults", LLVM_VERSION_STRING, [] {
            ulsc::test::registerBreakProgram();
            ulsc::test::registerBreakKernel();
          }};
}
