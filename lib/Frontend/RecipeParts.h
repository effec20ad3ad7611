//===- RecipeParts.h - Pieces of a recipe's reading -------------------------------- -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_FRONTEND_RECIPEPARTS_H
#define ULSC_LIB_FRONTEND_RECIPEPARTS_H

#include "ulsc/Recipe.h"
#include "ulsc/Support/JsonFile.h"

namespace ulsc::frontend {

/// An axis as it was given; size 0 stands for `*`.
using MeshText = std::vector<std::pair<std::string, int64_t>>;

/// Reads `dp=2,tp=4`.
std::optional<MeshText> parseMesh(mlir::Location location, llvm::StringRef text);
/// Reads the size of one axis.
std::optional<int64_t> parseAxisSize(mlir::Location location, llvm::StringRef axis,
                                     llvm::StringRef text);
/// Resolves `*`, refuses axes of later work, and puts the axes in order.
/// `location` is the mesh's, `orderLocation` the order's.
std::optional<MeshText> completeMesh(mlir::Location location, mlir::Location orderLocation,
                                     MeshText mesh, int64_t devices, llvm::StringRef order);

/// The file of a preset; an error names those that exist.
std::optional<JsonFile> loadPreset(mlir::Location location, llvm::StringRef name);

/// Reads `PATTERN=DIMS` of the command line.
std::optional<Pin> parsePin(mlir::Location location, llvm::StringRef text);

/// Reads the object `rules` of a recipe or preset; `null` takes a rule away. `source` ends the
/// origin: `recipe line 3`.
bool readRules(const JsonFile &file, std::vector<AxisRule> &rules,
               llvm::function_ref<std::string(llvm::StringRef path)> source, bool isExplicit);
/// Reads the object `storage` of a recipe or preset over what `storage` has; `origin` says who
/// speaks.
bool readStorage(const JsonFile &file, Storage &storage, const std::string &origin);
/// Reads the object `pipeline` of a recipe. A schedule's path is taken from the recipe's folder.
bool readPipeline(const JsonFile &file, Pipeline &pipeline);
/// Refuses splits that no update could be computed on.
bool checkStorage(const Recipe &recipe);
/// Reads `null`, `"tp"` or `["dp", "tp"]`.
bool readAxes(const JsonFile &file, llvm::StringRef path, const llvm::json::Value &value,
              AxisNames &axes);

} // namespace ulsc::frontend

#endif // ULSC_LIB_FRONTEND_RECIPEPARTS_H
