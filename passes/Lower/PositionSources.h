//===- PositionSources.h - Where positions of a sequence come from -----------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_POSITIONSOURCES_H
#define ULSC_PASSES_LOWER_POSITIONSOURCES_H

#include "dialects/Uls/Uls.h"

#include "mlir/IR/SymbolTable.h"

namespace ulsc::lower {

/// Follows positions through the calls of all steps of a module to the ops that make them.
class PositionSources {
public:
  explicit PositionSources(mlir::ModuleOp module);

  /// Whether `function` is a step or a block that one runs.
  bool isRun(mlir::Operation *function) const { return run.contains(function); }
  /// What else than indices from 0 along dimension 1, of the whole sequence on every rank,
  /// `positions` may be in some call, as "come from …"; nothing if they are never anything else.
  std::optional<std::string> findProblem(mlir::Value positions) const;

private:
  llvm::SmallVector<mlir::Value> getSources(mlir::Value value) const;

  mlir::SymbolTable symbols;
  llvm::DenseSet<mlir::Operation *> run;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<uls::CallOp>> calls;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_POSITIONSOURCES_H
