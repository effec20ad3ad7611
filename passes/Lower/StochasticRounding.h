//===- StochasticRounding.h - Rounding to bf16 at random --------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_STOCHASTICROUNDING_H
#define ULSC_PASSES_LOWER_STOCHASTICROUNDING_H

#include "dialects/Uls/Uls.h"

#include "llvm/ADT/SmallVector.h"

namespace ulsc::lower {

/// From an element of a rank's flat tensor to its number in the parameter without padding: what is
/// the same on all ranks. The offsets, which are not, come as values.
struct ElementPlaces {
  /// The block that the flat tensor is a piece of, and row-major strides of the whole parameter.
  llvm::SmallVector<int64_t> block, strides;

  /// Of `param` where its state lies as `sharding` says, which may be null.
  static ElementPlaces get(uls::ParamOp param, dist::ShardingAttr sharding);

  /// How many i64 values `buildOffsets` gives.
  size_t getNumOffsets() const { return block.size() + 1; }
  /// The first element's number in the block, then the block's offset in each dimension.
  llvm::SmallVector<mlir::Value> buildOffsets(mlir::OpBuilder &builder, mlir::Location location,
                                              uls::ParamOp param, dist::ShardingAttr sharding,
                                              int64_t count) const;
  /// The number of element `index`.
  mlir::Value buildNumber(mlir::OpBuilder &builder, mlir::Location location, mlir::Value index,
                          mlir::ValueRange offsets) const;
};

/// The flat f32 `value` in bf16: up with the probability of its distance to the lower neighbour.
/// Numbers are drawn for `role`, `name` (an i64 that stands for the parameter), the step and the
/// global element.
mlir::Value buildStochasticRounding(mlir::OpBuilder &builder, mlir::Location location,
                                    mlir::Value value, llvm::StringRef role, mlir::Value name,
                                    const ElementPlaces &places, mlir::ValueRange offsets);

/// What stands for a parameter in the streams of its rounding.
int64_t getRoundingName(llvm::StringRef parameter);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_STOCHASTICROUNDING_H
