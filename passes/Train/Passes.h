//===- Passes.h - Stage that differentiates blocks and writes down the step -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_TRAIN_PASSES_H
#define ULSC_PASSES_TRAIN_PASSES_H

#include "mlir/Pass/Pass.h"

namespace ulsc {

#define GEN_PASS_DECL
#include "passes/Train/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Train/Passes.h.inc"

/// Registers the stage's pipeline by name.
void registerTrainPipeline();

} // namespace ulsc

#endif // ULSC_PASSES_TRAIN_PASSES_H
