//===- Passes.h - Stage from one rank's values to its program on buffers ----------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_PASSES_H
#define ULSC_PASSES_LOWER_PASSES_H

#include "mlir/Pass/Pass.h"

namespace ulsc {

#define GEN_PASS_DECL
#include "passes/Lower/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Lower/Passes.h.inc"

/// What the lowering to `exec` is told.
struct LowerOptions {
  /// Threads per rank that scratch buffers are sized for.
  int64_t threads = 2;
  /// Fill buffers with NaN after their last use, for tests.
  bool poison = false;
};

/// From the scheduled stage to `exec` with every offset: all passes of this folder, in order.
void buildLowerPipeline(mlir::OpPassManager &manager, const LowerOptions &options = {});

/// Registers the stage's pipeline as `ulsc-lower-pipeline`.
void registerLowerPipeline();

} // namespace ulsc

#endif // ULSC_PASSES_LOWER_PASSES_H
