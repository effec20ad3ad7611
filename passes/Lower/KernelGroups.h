//===- KernelGroups.h - Which generics become one kernel --------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_KERNELGROUPS_H
#define ULSC_PASSES_LOWER_KERNELGROUPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ulsc::lower {

/// Generics of one block that become one kernel, in order.
struct KernelGroup {
  llvm::SmallVector<mlir::Operation *> ops;
  /// The leading dimensions that are split across threads, or, of kind columns, reduced.
  int64_t rowDims = 0;
  bool isColumns = false;
};

/// Gives each user of a cheap producer (a broadcast, indices) a copy of its own, which its group
/// absorbs.
void duplicateCheapProducers(mlir::Block &block);

/// Partitions the generics of `block`, and reorders the block so that each group's ops follow one
/// another.
llvm::SmallVector<KernelGroup> formGroups(mlir::Block &block);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_KERNELGROUPS_H
