//===- Family.h - Model families that can be imported ------------------------------ -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_FRONTEND_FAMILY_H
#define ULSC_LIB_FRONTEND_FAMILY_H

#include "lib/Frontend/ConfigReader.h"
#include "lib/Frontend/ModelBuilder.h"

namespace ulsc::frontend {

/// What a family's import returns beside the module.
struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  int64_t vocabulary = 0;
  /// Prefix of parameter names that older checkpoints lack.
  llvm::StringRef weightPrefix;
};

/// A family of models. A new one is an entry of `getFamilies` and a file.
struct Family {
  /// The value of `model_type`.
  llvm::StringRef name;
  /// Nothing after errors, which the reader has reported.
  std::optional<ImportedModel> (*import)(const ConfigReader &config, mlir::MLIRContext *context,
                                         const ImportOptions &options);
};

llvm::ArrayRef<Family> getFamilies();

std::optional<ImportedModel> importLlama(const ConfigReader &, mlir::MLIRContext *,
                                         const ImportOptions &);
std::optional<ImportedModel> importGpt2(const ConfigReader &, mlir::MLIRContext *,
                                        const ImportOptions &);

/// Bounds of sizes. The graph grows with the layers, hence their lower bound. Beyond them a
/// configuration is taken to be wrong; products of those within are checked apart.
struct SizeBounds {
  static constexpr int64_t kHidden = 1 << 20, kLayers = 10000, kHeads = 1 << 16,
                           kVocabulary = 1 << 28, kPositions = int64_t(1) << 30;
};

/// Reads `dtype`/`torch_dtype` and says so when it is not what the program will store and compute
/// in.
void checkDtype(const ConfigReader &config, const ImportOptions &options);

/// Refuses a model whose parameters no one could count in 62 bits or store: `sizes` multiplied,
/// `layers` times.
void checkTotalSize(const ConfigReader &config, double parameters, bool &hasErrors);

} // namespace ulsc::frontend

#endif // ULSC_LIB_FRONTEND_FAMILY_H
