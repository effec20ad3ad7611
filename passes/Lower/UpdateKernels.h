//===- UpdateKernels.h - Kernels of an update rule --------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_UPDATEKERNELS_H
#define ULSC_PASSES_LOWER_UPDATEKERNELS_H

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/StochasticRounding.h"

#include <map>
#include <optional>
#include <tuple>

namespace ulsc::lower {

/// What kernels of one rule differ in.
struct UpdateVariant {
  /// The rule's arguments, the condition last where the update has one.
  llvm::SmallVector<mlir::Type> inputs;
  /// The stored value's, where that is not the master's.
  mlir::Type storedElement;
  bool isConditional = false;
  /// With stochastic rounding: where elements lie.
  std::optional<ElementPlaces> places;

  /// Of the flat tensors.
  int64_t getCount() const;
  /// Equal for variants that differ in the number of elements alone.
  std::string getFamily() const;
};

/// Instances of update rules as kernels on flat tensors, one for each number of elements and
/// combination of types. Beside the rule's results a kernel gives the stored value where that is
/// not the master. Its last argument, i64, is twice the index of the parameter, for the scales in
/// the control block; those before it, if any, are what stochastic rounding needs.
class UpdateKernels {
public:
  /// For a step that `stage` runs, or all ranks (-1).
  UpdateKernels(mlir::SymbolTable &symbols, int64_t stage);

  /// Reads the states of parameter `index` of `update`, applies the rule and writes them back, or
  /// gives the users of a result the new stored value.
  mlir::LogicalResult apply(mlir::OpBuilder &builder, uls::UpdateRuleOp rule, uls::UpdateOp update,
                            unsigned index);

private:
  exec::KernelOp getKernel(uls::UpdateRuleOp rule, const UpdateVariant &variant,
                           mlir::Location location);
  exec::KernelOp buildKernel(uls::UpdateRuleOp rule, const UpdateVariant &variant,
                             mlir::Location location);

  mlir::SymbolTable &symbols;
  llvm::DenseMap<mlir::StringAttr, int64_t> indices; ///< of trainable parameters of the stage
  std::map<std::tuple<mlir::Operation *, int64_t, std::string>, exec::KernelOp> kernels;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_UPDATEKERNELS_H
