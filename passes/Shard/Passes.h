//===- Passes.h - Stage that propagates shardings -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SHARD_PASSES_H
#define ULSC_PASSES_SHARD_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ulsc {

#define GEN_PASS_DECL
#include "passes/Shard/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Shard/Passes.h.inc"

/// The stage `sharded`.
void buildShardPipeline(mlir::OpPassManager &manager);

/// Registers the stage's pipeline by name.
void registerShardPipeline();

} // namespace ulsc

#endif // ULSC_PASSES_SHARD_PASSES_H
