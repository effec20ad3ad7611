//===- Passes.h - Stage that cuts a step into pipeline stages -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_STAGE_PASSES_H
#define ULSC_PASSES_STAGE_PASSES_H

#include "dialects/Dist/Dist.h"
#include "dialects/Uls/Uls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Schedule/RecomputePolicy.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace ulsc {

#define GEN_PASS_DECL
#include "passes/Stage/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Stage/Passes.h.inc"

struct StagingOptions : mlir::PassPipelineOptions<StagingOptions> {
  Option<std::string> schedule{*this, "schedule",
                               llvm::cl::desc("the schedule of the pipeline's ranks"),
                               llvm::cl::init("1f1b")};
  Option<int64_t> chunks{*this, "chunks", llvm::cl::desc("chunks of each rank along pp"),
                         llvm::cl::init(1)};
  Option<std::string> recipe{*this, "recipe",
                             llvm::cl::desc("path of a JSON recipe, which may name stages")};
  Option<std::string> costs{
      *this, "costs", llvm::cl::desc("path of measured costs: a trace or a JSON file of costs")};
  Option<int64_t> memoryLimit{*this, "memory-limit",
                              llvm::cl::desc("bytes that a rank may take, 0 for no limit"),
                              llvm::cl::init(0)};
  Option<std::string> recompute{*this, "recompute",
                                llvm::cl::desc("what is computed again instead of kept"),
                                llvm::cl::init(kDefaultRecompute.str())};
};

/// The stage `staged`.
void buildStagePipeline(mlir::OpPassManager &manager, const StagingOptions &options);

/// Registers the stage's pipeline by name.
void registerStagePipeline();

} // namespace ulsc

#endif // ULSC_PASSES_STAGE_PASSES_H
