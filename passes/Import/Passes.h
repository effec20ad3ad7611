//===- Passes.h - Stage that attaches annotations to an imported model -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_IMPORT_PASSES_H
#define ULSC_PASSES_IMPORT_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

namespace ulsc {

#define GEN_PASS_DECL
#include "passes/Import/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Import/Passes.h.inc"

/// What the command line says about distribution; see the options of `ulsc-annotate`.
struct GraphPipelineOptions : public mlir::PassPipelineOptions<GraphPipelineOptions> {
  Option<std::string> mesh{*this, "mesh", llvm::cl::desc("mesh axes and sizes, as in dp=2,tp=4")};
  Option<std::string> meshOrder{*this, "mesh-order", llvm::cl::desc("axes major to minor")};
  Option<int64_t> devices{*this, "devices", llvm::cl::desc("number of devices"), llvm::cl::init(0)};
  Option<std::string> strategy{*this, "strategy", llvm::cl::desc("presets joined by +")};
  Option<std::string> recipe{*this, "recipe", llvm::cl::desc("path of a JSON recipe")};
  /// Not a list: dimensions are separated by commas, as the elements of a list are.
  Option<std::string> shard{*this, "shard",
                            llvm::cl::desc("pins, as PATTERN=DIMS, separated by ;")};
};

/// Attaches mesh, shardings and parameter groups to an imported model.
void buildGraphPipeline(mlir::OpPassManager &manager, const GraphPipelineOptions &options);

/// Registers the stage's pipeline by name.
void registerImportPipeline();

} // namespace ulsc

#endif // ULSC_PASSES_IMPORT_PASSES_H
