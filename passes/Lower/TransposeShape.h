//===- TransposeShape.h - What a kernel that permutes dimensions moves ---------------*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_TRANSPOSESHAPE_H
#define ULSC_PASSES_LOWER_TRANSPOSESHAPE_H

#include "passes/Lower/KernelPlan.h"

namespace ulsc::lower {

/// Two dimensions of the output matter: `a`, along which the input is contiguous, and `q`, the
/// last, along which the output is.
struct TransposeShape {
  mlir::Type element;
  llvm::SmallVector<int64_t> sizes;                 ///< of the output
  llvm::SmallVector<int64_t> inStrides, outStrides; ///< per output dimension
  unsigned a, q;
  llvm::SmallVector<LoopDim> others;
  int64_t otherCount = 1;

  /// `kernel` is one for which `isTranspose` holds.
  explicit TransposeShape(exec::KernelOp kernel) {
    auto op = *kernel.getBody().front().getOps<mlir::linalg::GenericOp>().begin();
    element = llvm::cast<mlir::RankedTensorType>(op.getResultTypes()[0]).getElementType();
    sizes = op.getStaticLoopRanges();
    mlir::AffineMap from = op.getIndexingMapsArray()[0];
    inStrides.resize(sizes.size());
    outStrides.resize(sizes.size());
    int64_t inStride = 1, outStride = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
      inStrides[from.getDimPosition(i)] = inStride;
      inStride *= sizes[from.getDimPosition(i)];
      outStrides[i] = outStride;
      outStride *= sizes[i];
    }
    a = from.getDimPosition(sizes.size() - 1);
    q = sizes.size() - 1;
    for (unsigned d = 0; d < sizes.size(); ++d)
      if (d != a && d != q) {
        others.push_back({d, d, sizes[d]});
        otherCount *= sizes[d];
      }
  }
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_TRANSPOSESHAPE_H
