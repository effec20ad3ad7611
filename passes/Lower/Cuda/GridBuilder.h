//===- GridBuilder.h - Code of the threads of a grid ---------------------------------*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_CUDA_GRIDBUILDER_H
#define ULSC_PASSES_LOWER_CUDA_GRIDBUILDER_H

#include "passes/Lower/CodeBuilder.h"
#include "passes/Lower/Cuda/Combiner.h"

namespace ulsc::lower {

constexpr int64_t kWarpSize = 32;
/// Threads of a block where a kernel has no reason for another number.
constexpr int64_t kBlockThreads = 256;

/// How a kernel is launched: one-dimensional blocks of a one-dimensional grid.
struct Geometry {
  int64_t blocks = 1, threads = kBlockThreads;
};

/// What threads of a CUDA kernel do beside scalar code: tell who they are, exchange values, share
/// memory. Indices are i64.
class GridBuilder {
public:
  GridBuilder(CodeBuilder &code, mlir::Operation *kernels) : code(code), kernels(kernels) {}

  CodeBuilder &code;

  mlir::Value thread(); ///< of the block
  mlir::Value block();  ///< of the grid
  mlir::Value lane();   ///< of the warp
  mlir::Value warp();   ///< of the block

  void syncBlock();
  void syncWarp();

  /// `bytes` of the block's shared memory, at least 16-byte aligned: LLVM takes that for granted,
  /// while PTX declares the alignment of the element.
  mlir::Value shared(int64_t bytes);

  /// Whether all of `pointers` are multiples of 16 bytes.
  mlir::Value areAligned(llvm::ArrayRef<mlir::Value> pointers);
  /// Tells LLVM that they are, from here on.
  void assumeAligned(llvm::ArrayRef<mlir::Value> pointers);

  /// The combination of all lanes' values, in every lane, in one order whatever the values.
  mlir::Value combineWarp(const Combiner &combiner, mlir::Value value);
  /// The combinations of all threads' values, in every thread; all threads of the block call it.
  llvm::SmallVector<mlir::Value> combineBlock(llvm::ArrayRef<Combiner> combiners,
                                              llvm::ArrayRef<mlir::Value> values, int64_t threads);

private:
  mlir::Value shuffle(mlir::Value value, int64_t offset);

  mlir::Operation *kernels; ///< the module of the device, which holds shared variables
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_CUDA_GRIDBUILDER_H
