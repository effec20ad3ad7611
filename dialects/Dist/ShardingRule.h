//===- ShardingRule.h - Factors of an op's dimensions ----------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// A sharding rule in the sense of Shardy ("sharding rule", factors) and GSPMD (Xu et al. 2021):
/// each dimension of an op's operands and results is a product of factors; dimensions that share a
/// factor shard alike.
///
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_DIALECTS_DIST_SHARDINGRULE_H
#define ULSC_DIALECTS_DIST_SHARDINGRULE_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeRange.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace ulsc::dist {

/// What it costs to shard a factor.
enum class FactorKind {
  PassThrough, ///< free
  Sum,         ///< results become partial sums
  Max,         ///< results become partial maxima
  Internal,    ///< the op's own partitioned form communicates; results are complete
  Replicated,  ///< must stay whole
  Permutation  ///< needs neighbour exchange
};

struct Factor {
  std::string name;
  int64_t size = 1;
  FactorKind kind = FactorKind::PassThrough;
};

/// Factor indices of one dimension, major to minor. Empty: no factor, must stay whole.
using DimFactors = llvm::SmallVector<unsigned, 1>;
/// One entry per dimension.
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

struct ShardingRule {
  llvm::SmallVector<Factor> factors;
  /// One entry per operand and per result of the op. Operands that are not ranked tensors have no
  /// dimensions.
  llvm::SmallVector<TensorFactors> operands;
  llvm::SmallVector<TensorFactors> results;
  /// Operands in each of which the op is linear while the others are fixed.
  llvm::SmallBitVector linear;
  /// Linear in all `linear` operands together (addition): they must be partial alike.
  bool joint = false;

  /// Parses the text form documented at `#dist.rule`, taking factor sizes from the types. Operands
  /// or results that are not ranked tensors are written `[]`. On failure returns the reason in
  /// `error`.
  static std::optional<ShardingRule> parse(llvm::StringRef text, mlir::TypeRange operandTypes,
                                           mlir::TypeRange resultTypes, std::string &error);
  /// As `parse`, of a text that the op's own code wrote: a mistake is a bug.
  static ShardingRule get(llvm::StringRef text, mlir::Operation *op);
  /// The text form.
  std::string str() const;

  std::optional<unsigned> findFactor(llvm::StringRef name) const;
};

/// The rule of `op`: its `dist.rule` attribute, or that of its interface; nothing when it has
/// neither.
std::optional<ShardingRule> getShardingRule(mlir::Operation *op);

} // namespace ulsc::dist

#endif // ULSC_DIALECTS_DIST_SHARDINGRULE_H
