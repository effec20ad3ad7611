//===- KernelPlan.h - How a kernel's ops are arranged in loops -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER_KERNELPLAN_H
#define ULSC_PASSES_LOWER_KERNELPLAN_H

#include "dialects/Exec/ExecOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

namespace ulsc::lower {

/// One dimension of a loop nest: a run of iteration dimensions that all accesses walk as one. The
/// last of them carries the index; the others count as zero.
struct LoopDim {
  unsigned first, last;
  int64_t size;
};

/// Ops of one column loop: reductions that complete in it and elementwise ops that it stores.
struct LoopGroup {
  int64_t stage = 0;
  llvm::SmallVector<int64_t> sizes; ///< of all iteration dimensions, rows first
  llvm::SmallVector<mlir::utils::IteratorType> iterators;
  llvm::SmallVector<mlir::linalg::GenericOp> roots;
  llvm::SmallVector<LoopDim> columns; ///< outermost first
  /// Elementwise ops whose values this loop keeps in a row buffer for later loops.
  llvm::SmallVector<mlir::linalg::GenericOp> kept;
};

/// The loops of a kernel. Rows are walked outside, and inside a row the groups in order.
struct KernelPlan {
  explicit KernelPlan(exec::KernelOp kernel);

  exec::KernelOp kernel;
  llvm::SmallVector<LoopDim> rows;
  int64_t extent = 1; ///< what a launch splits: rows, columns or elements
  int64_t grain = 1;
  /// All ops are elementwise over one flat index: the rows are elements and there is one loop over
  /// them.
  bool flat = false;
  llvm::SmallVector<LoopGroup, 0> groups;
  llvm::DenseMap<mlir::Operation *, int64_t> stages;

private:
  void planRows();
  void planColumns();
  void planElementwise();
  void formGroups();
  void chooseKept();
};

/// Whether `op` has no reduced dimension.
bool isElementwise(mlir::linalg::GenericOp op);

/// The generic that makes `value`, or null.
mlir::linalg::GenericOp getGeneric(mlir::Value value);

/// Splits dimensions [begin, end) into runs that every map of `ops` walks as one.
llvm::SmallVector<LoopDim> collapse(llvm::ArrayRef<mlir::linalg::GenericOp> ops, unsigned begin,
                                    unsigned end, llvm::ArrayRef<int64_t> sizes,
                                    llvm::ArrayRef<mlir::utils::IteratorType> iterators);

/// The input and output element permutation of a kernel that only transposes, if `kernel` is one.
bool isTranspose(exec::KernelOp kernel);

/// Whether output `output` of `kernel` may be the memory of input `input`: each element is read
/// before it is written, and by nobody after.
bool mayWriteInPlace(exec::KernelOp kernel, unsigned input, unsigned output);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_KERNELPLAN_H
