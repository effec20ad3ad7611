//===- Pipelines.h - The stages of a compilation, in order ------------------------- -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_PIPELINES_H
#define ULSC_PIPELINES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace ulsc {

/// A stage is a registered pass pipeline, so that a plugin may bring one, too.
struct Stage {
  /// As `--emit` names it.
  llvm::StringRef name;
  /// As `ulsc-opt` names it.
  llvm::StringRef pipeline;
};

/// The stages that are pass pipelines, in order: `graph` (annotation of an imported model) to
/// `llvm`.
llvm::ArrayRef<Stage> getStages();

struct StageOptions {
  /// Options of a stage's pipeline by the stage's name, in the text form of pass pipelines:
  /// `optimizer=sgd`.
  llvm::StringMap<std::string> options;
  /// Pipelines that a target has in the place of a stage's own, by the stage's name.
  llvm::StringMap<std::string> pipelines;
  /// Pipelines to run after a stage: its name and the pipeline's text.
  std::vector<std::pair<std::string, std::string>> after;
  /// Whether the module is verified after each pass, not only after each stage.
  bool verifiesEach = true;
};

/// Adds the passes of a stage, and of what `options` wants after it, to a manager of modules. An
/// absent pipeline or a wrong text is reported through `fail`. `ulsc` and `ulsc-opt` both build
/// stages here.
mlir::LogicalResult buildStage(mlir::OpPassManager &manager, const Stage &stage,
                               const StageOptions &options,
                               llvm::function_ref<mlir::LogicalResult(const llvm::Twine &)> fail);

/// Runs the stages up to and with `last`; after each one `done` hears its name and the seconds it
/// took, and may stop the run by failing.
mlir::LogicalResult runStages(mlir::ModuleOp module, llvm::StringRef last,
                              const StageOptions &options,
                              llvm::function_ref<mlir::LogicalResult(const Stage &, double)> done);

/// Registers `ulsc-stages`, which runs the stages `from` to `to`.
void registerStagesPipeline();

} // namespace ulsc

#endif // ULSC_PIPELINES_H
