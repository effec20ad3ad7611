//===- Passes.h - Stage that makes shapes local and communication explicit -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_PARTITION_PASSES_H
#define ULSC_PASSES_PARTITION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ulsc {

#define GEN_PASS_DECL
#include "passes/Partition/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Partition/Passes.h.inc"

/// The stage `local`.
void buildPartitionPipeline(mlir::OpPassManager &manager);

/// Registers the stage's pipeline by name.
void registerPartitionPipeline();

} // namespace ulsc

#endif // ULSC_PASSES_PARTITION_PASSES_H
