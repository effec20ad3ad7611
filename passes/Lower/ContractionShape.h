//===- ContractionShape.h - An einsum as a product of matrices --------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_CONTRACTIONSHAPE_H
#define ULSC_PASSES_LOWER_CONTRACTIONSHAPE_H

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"

namespace ulsc::lower {

/// The letters of an einsum by the part they play in a product of matrices, each group in one order
/// for all operands: that of the result.
struct ContractionLetters {
  std::string batch, m, n, k;
};

/// What an exec.contract is given of an einsum.
struct ContractionForm {
  mlir::Value a, b;
  llvm::SmallVector<int64_t> sizes, aStrides, bStrides, cStrides;
  /// Whether a is the einsum's rhs, so that its m are the letters n of the einsum.
  bool isSwapped = false;
};

/// The strides of an einsum's operands and result as matrices.
class ContractionShape {
public:
  explicit ContractionShape(uls::EinsumOp op);

  /// None for a tensor in which the letters of one group don't lie as one dimension would.
  using Strides = std::optional<llvm::SmallVector<int64_t>>;
  ContractionLetters letters;
  Strides lhs;    ///< batch, m, k
  Strides rhs;    ///< batch, k, n
  Strides result; ///< batch, m, n

  bool hasStrides() const { return lhs && rhs && result; }
  /// The product with c by rows where one of its two dimensions lies together; needs all strides.
  ContractionForm getForm() const;

private:
  uls::EinsumOp op;
};

/// The einsum's name in the model, or its equation.
mlir::StringAttr getContractionName(uls::EinsumOp op);

/// The accumulation that alone uses the einsum's result and has its type: the product adds to the
/// accumulator itself.
uls::AccumulateOp getAccumulation(uls::EinsumOp op);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_CONTRACTIONSHAPE_H
