//===- Passes.h - Stage that cuts models into blocks and attaches annotations -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_IMPORT_PASSES_H
#define ULSC_PASSES_IMPORT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace ulsc {

#define GEN_PASS_DECL
#include "passes/Import/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Import/Passes.h.inc"

/// Registers the stage's pipeline by name.
void registerImportPipeline();

} // namespace ulsc

#endif // ULSC_PASSES_IMPORT_PASSES_H
