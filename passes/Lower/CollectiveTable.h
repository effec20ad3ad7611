//===- CollectiveTable.h - Numbers of collectives and groups ----------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_COLLECTIVETABLE_H
#define ULSC_PASSES_LOWER_COLLECTIVETABLE_H

#include "dialects/Dist/Dist.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace ulsc::lower {

/// The module's collectives and the groups of ranks that they run over, as the manifest lists them.
/// The runtime knows both by number.
class CollectiveTable {
public:
  static constexpr llvm::StringLiteral kCollectivesAttrName = "exec.collectives";
  static constexpr llvm::StringLiteral kGroupsAttrName = "exec.groups";
  /// Of a collective op: microseconds for which a rank is predicted to wait for a call of it.
  static constexpr llvm::StringLiteral kPredictedExposedAttrName = "dist.predicted_exposed_us";

  explicit CollectiveTable(mlir::ModuleOp module);

  /// The collective's identifier.
  int64_t addCollective(dist::CollectiveOpInterface collective);
  /// The number of the group of ranks that differ along `axes`.
  int64_t getGroup(mlir::ArrayAttr axes);

  /// Writes the tables into the module's attributes.
  void attach();

private:
  /// For each step how often something runs in it. Stages have a step each.
  using Counts = llvm::SmallVector<int64_t>;
  Counts countRuns(mlir::Operation *op);

  mlir::ModuleOp module;
  llvm::SmallVector<mlir::Operation *> steps;
  llvm::StringMap<Counts> calls; ///< of blocks
  llvm::SmallVector<mlir::Attribute> collectives, groups;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_COLLECTIVETABLE_H
