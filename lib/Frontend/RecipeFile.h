//===- RecipeFile.h - Reading of a recipe file ------------------------------------- -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_FRONTEND_RECIPEFILE_H
#define ULSC_LIB_FRONTEND_RECIPEFILE_H

#include "lib/Frontend/RecipeParts.h"

namespace ulsc::frontend {

/// What a recipe file says, before presets and the command line are put to it.
struct RecipeFile {
  MeshText mesh;
  std::string meshOrder, strategy;
  bool hasRules = false;
  /// The file itself, for its rules.
  std::optional<JsonFile> json;
  Pipeline pipeline;
  std::vector<Pin> pins;
  std::vector<ParameterGroup> groups;
  std::vector<std::pair<std::string, mlir::LocationAttr>> frozen;
};

std::optional<RecipeFile> readRecipeFile(mlir::MLIRContext *context, llvm::StringRef path);

} // namespace ulsc::frontend

#endif // ULSC_LIB_FRONTEND_RECIPEFILE_H
