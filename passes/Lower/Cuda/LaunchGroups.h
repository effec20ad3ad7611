//===- LaunchGroups.h - Launches that one kernel can do -------------------------------*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_CUDA_LAUNCHGROUPS_H
#define ULSC_PASSES_LOWER_CUDA_LAUNCHGROUPS_H

#include "passes/Lower/Cuda/DeviceFunctions.h"

#include "dialects/Exec/ExecOps.h"

#include "mlir/IR/SymbolTable.h"

namespace ulsc::lower {

/// A launch with all that the compiler knows of it.
struct GroupMember {
  exec::LaunchOp launch;
  exec::KernelOp kernel;
  int64_t elements; ///< of the kernel's tensors of rank 1
  /// Of inputs, then of outputs, in bytes from the arena's begin.
  llvm::SmallVector<int64_t> offsets;
  llvm::SmallVector<int64_t> scalars;
};

/// Launches of one family that may run in any order, in the order of the program.
using LaunchGroup = llvm::SmallVector<GroupMember>;

/// Launches of a block that may all run where the last one stands: none of them writes what another
/// one, or an op between them, accesses.
struct LaunchStretch {
  llvm::SmallVector<LaunchGroup> groups; ///< a family each
  /// Fills that stand between the launches and touch nothing of those behind them.
  llvm::SmallVector<exec::FillOp> fills;
};

/// All stretches of the program's entry functions, whose buffers lie at fixed offsets.
llvm::SmallVector<LaunchStretch> findLaunchStretches(mlir::ModuleOp module);

/// The kernel that does what the launches of `group` do, under a name of its own: a block of it has
/// elements of one member. Nothing where the family's kernels aren't elementwise.
struct GroupKernel {
  mlir::FlatSymbolRefAttr symbol;
  Geometry geometry;
};
std::optional<GroupKernel> emitGroupKernel(DeviceFunctions &functions, llvm::StringRef name,
                                           llvm::ArrayRef<GroupMember> group);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_CUDA_LAUNCHGROUPS_H
