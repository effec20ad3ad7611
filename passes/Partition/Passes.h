//===- Passes.h - Stage that makes shapes local and communication explicit -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_PARTITION_PASSES_H
#define ULSC_PASSES_PARTITION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace ulsc {

#define GEN_PASS_DECL
#include "passes/Partition/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Partition/Passes.h.inc"

/// What the stage `local` may be told.
struct PartitionOptions : mlir::PassPipelineOptions<PartitionOptions> {
  Option<std::string> reduceDtype{
      *this, "reduce-dtype",
      llvm::cl::desc("Dtype in which gradients are reduced over ranks: f32 or bf16; that of the "
                     "gradients where it is empty."),
      llvm::cl::init("")};
};

/// The stage `local`.
void buildPartitionPipeline(mlir::OpPassManager &manager, const PartitionOptions &options);

/// Registers the stage's pipeline by name.
void registerPartitionPipeline();

} // namespace ulsc

#endif // ULSC_PASSES_PARTITION_PASSES_H
