//===- Recipe.h - How a user distributes a model ----------------------------------- -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_RECIPE_H
#define ULSC_RECIPE_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace ulsc {

/// What the command line says about distribution, as texts.
struct RecipeOptions {
  /// `dp=2,tp=4`; one size may be `*`.
  std::string mesh;
  /// Axes major to minor, where the canonical order is not wanted.
  std::string meshOrder;
  /// Presets joined by `+`.
  std::string strategy;
  /// Path of a JSON recipe.
  std::string recipe;
  /// `PATTERN=DIMS`.
  std::vector<std::string> shard;
  /// Number of devices, 0 when not given.
  int64_t devices = 0;
};

using AxisNames = std::vector<std::string>;

/// Distributes a logical axis over mesh axes.
struct AxisRule {
  std::string logicalAxis;
  AxisNames meshAxes;
  /// Why, as `dist.origin` says it.
  std::string origin;
  /// Whether the user wrote it, rather than a preset.
  bool isExplicit = false;
  mlir::LocationAttr location;
};

/// Distributes the tensors whose names match.
struct Pin {
  std::string match;
  /// Mesh axes per dimension of Hugging Face's tensor, or, in `named`, per logical axis.
  std::vector<AxisNames> dims;
  std::vector<std::pair<std::string, AxisNames>> named;
  bool isNamed = false;
  std::string origin;
  mlir::LocationAttr location;
};

/// How the optimizer treats the parameters whose names match; the first group that matches holds.
struct ParameterGroup {
  std::string match = "*";
  double weightDecayScale = 1.0, lrScale = 1.0;
  mlir::LocationAttr location;
};

/// The mesh axes over which each kind of storage is split, block by block (ZeRO), and what travels
/// together.
struct Storage {
  /// The kinds, from the first that is split to the last. The names are also those of
  /// `uls.storage`.
  static constexpr llvm::StringLiteral kKinds[] = {"optimizer", "gradients", "parameters"};

  AxisNames optimizer, gradients, parameters;
  /// Patterns of parameters that are units of their own within a block call, with their places.
  std::vector<std::pair<std::string, mlir::LocationAttr>> units;
  /// `strategy zero1`; empty when nothing is split.
  std::string origin;
  mlir::LocationAttr location;

  /// The axes of `kKinds`, in their order.
  std::array<AxisNames *, 3> getAxes() { return {&optimizer, &gradients, &parameters}; }
  std::array<const AxisNames *, 3> getAxes() const { return {&optimizer, &gradients, &parameters}; }
};

/// How the ranks along `pp` share the model. What is empty or 0 was not said.
struct Pipeline {
  /// The name of a schedule or the path of one.
  std::string schedule;
  int64_t chunksPerRank = 0;
  /// The blocks that begin the chunks after the first.
  std::vector<std::pair<std::string, mlir::LocationAttr>> stages;
  /// Of the schedule, of the chunks, and of the stages' list.
  mlir::LocationAttr scheduleLocation, chunksLocation, stagesLocation;
};

struct Recipe {
  /// Major to minor.
  std::vector<std::pair<std::string, int64_t>> mesh;
  std::vector<AxisRule> rules;
  Storage storage;
  Pipeline pipeline;
  std::vector<Pin> pins;
  std::vector<ParameterGroup> groups;
  std::vector<std::pair<std::string, mlir::LocationAttr>> frozen;
  /// The presets that hold, and whether they follow from the mesh alone.
  std::string strategy;
  bool isStrategyImplied = false;

  /// Size of a mesh axis, 0 when there is none.
  int64_t getAxisSize(llvm::StringRef axis) const;
  int64_t getDeviceCount() const;
  const AxisRule *findRule(llvm::StringRef logicalAxis) const;
  /// Mesh axes over which the batch is distributed, and their ranks.
  AxisNames getDataAxes() const;
  int64_t getDataRanks() const;
  /// What every vocabulary must be padded to a multiple of.
  int64_t getVocabularyMultiple() const;
  /// Mesh, strategy and its expansion on a few lines.
  std::string describe() const;
};

/// Puts presets, recipe and command line together: presets first, a recipe's rules over them, pins
/// last. What is wrong is reported through the context's diagnostics; then the result is empty.
std::optional<Recipe> resolveRecipe(mlir::MLIRContext *context, const RecipeOptions &options);

/// Only the groups and the frozen parameters of a recipe.
std::optional<Recipe> readRecipeGroups(mlir::MLIRContext *context, llvm::StringRef path);

/// Only the pipeline of a recipe.
std::optional<Pipeline> readRecipePipeline(mlir::MLIRContext *context, llvm::StringRef path);

/// Names of the presets.
std::vector<llvm::StringRef> getStrategies();
/// The logical axes that rules may name.
llvm::ArrayRef<llvm::StringRef> getLogicalAxes();

} // namespace ulsc

#endif // ULSC_RECIPE_H
