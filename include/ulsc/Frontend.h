//===- Frontend.h - From a Hugging Face model to a module -------------------------- -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_FRONTEND_H
#define ULSC_FRONTEND_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <string>

namespace ulsc {

/// What an import must know beside the model: shapes are static.
struct ImportOptions {
  /// Length of a sequence.
  int64_t seq = 0;
  /// The global batch in sequences is `microBatch × microbatches × dataRanks`.
  int64_t microBatch = 1, microbatches = 1, dataRanks = 1;
  /// Mesh axes over which rows are distributed, major to minor.
  std::vector<std::string> dataAxes;
  /// The dtype in which blocks compute and matrices are stored: f32, bf16 or f16. Norm weights and
  /// biases are stored in f32.
  std::string computeDtype = "f32";
  /// The dtype in which gradients of parameters are accumulated: f32 or bf16.
  std::string gradientDtype = "f32";
  /// Whether the program drops elements; by default, when the configuration has a rate that is not
  /// zero.
  std::optional<bool> dropout;
  /// The vocabulary is padded to a multiple of this.
  int64_t vocabularyMultiple = 1;
};

/// Imports the model that `path` (a `config.json`, or a directory that holds one) describes, as
/// docs/pipeline.md says for the stage `graph`, but for annotations. What is wrong is reported
/// through the context's diagnostics, all at once; then the result is null.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext *context, llvm::StringRef path,
                                              const ImportOptions &options);

/// The value of `model_type` of every family that can be imported.
std::vector<llvm::StringRef> getModelFamilies();

} // namespace ulsc

#endif // ULSC_FRONTEND_H
