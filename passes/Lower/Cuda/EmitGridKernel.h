//===- EmitGridKernel.h - Kinds of kernels on a grid of threads ----------------------*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_CUDA_EMITGRIDKERNEL_H
#define ULSC_PASSES_LOWER_CUDA_EMITGRIDKERNEL_H

#include "passes/Lower/Cuda/GridBuilder.h"
#include "passes/Lower/KernelValues.h"

#include <optional>

namespace ulsc::lower {

// Each fills in the function of a kernel and says how it is launched; those that return nothing
// have emitted nothing and leave the kernel to `emitSerialKernel`.

/// Elementwise: a thread has the elements of 16 bytes of the narrowest tensor.
std::optional<Geometry> emitElementKernel(GridBuilder &grid, KernelPlan &plan,
                                          KernelValues &values);
/// Reductions inside of rows: a row is a warp's or, where it is long, a block's.
std::optional<Geometry> emitWideRowKernel(GridBuilder &grid, KernelPlan &plan,
                                          KernelValues &values);
/// Reductions over rows: a block has 8 to 32 neighbouring columns, its threads take turns at the
/// rows.
std::optional<Geometry> emitWideColumnKernel(GridBuilder &grid, KernelPlan &plan,
                                             KernelValues &values);
/// Permutations of dimensions, through tiles in shared memory.
Geometry emitTileTranspose(GridBuilder &grid, exec::KernelOp kernel, KernelValues &values);
/// Sums of rows at indices: a block has neighbouring columns, and of the table every so manieth
/// row. It walks all rows in order, so that sums are formed as by one.
std::optional<Geometry> emitWideScatterKernel(GridBuilder &grid, KernelPlan &plan,
                                              KernelValues &values);
/// Any other kernel: a thread has a row, column or element to itself and does what one of a CPU
/// does.
Geometry emitSerialKernel(GridBuilder &grid, KernelPlan &plan, KernelValues &values);

/// Whether `emitElementKernel` takes the kernel.
bool isElementKernel(const KernelPlan &plan);
/// The elements of such a kernel that block number `block` has, of [0, `end`): each thread `width`
/// neighbours.
void emitElements(GridBuilder &grid, KernelPlan &plan, KernelValues &values, int64_t width,
                  mlir::Value block, mlir::Value end);

/// How many elements of the narrowest tensor of `kernel` make up 16 bytes, at most 8.
int64_t getVectorWidth(exec::KernelOp kernel);

/// Elements that the loops walk.
int64_t countElements(llvm::ArrayRef<LoopDim> loops);

/// Values of neighbouring points of a kernel's space, all computed before any is stored: so that
/// results may lie where inputs lie, and loads and stores of neighbours become one.
class PointEmitter {
public:
  /// `dims` has a place for each dimension of the space, those that `loops` don't walk set.
  PointEmitter(CodeBuilder &code, KernelPlan &plan, KernelValues &values, LoopGroup &group,
               llvm::ArrayRef<LoopDim> loops, llvm::SmallVector<mlir::Value> dims, unsigned rowDims)
      : code(code), plan(plan), values(values), group(group), loops(loops), dims(std::move(dims)),
        rowDims(rowDims) {}

  /// Elements [index, index + count) of the space; they lie in one run of the innermost loop.
  /// Takes the accumulators of the group's reductions and returns their next values.
  llvm::SmallVector<mlir::Value> emit(mlir::Value index, int64_t count, mlir::ValueRange carried);

private:
  CodeBuilder &code;
  KernelPlan &plan;
  KernelValues &values;
  LoopGroup &group;
  llvm::ArrayRef<LoopDim> loops;
  llvm::SmallVector<mlir::Value> dims;
  unsigned rowDims;
};

/// Stores `value`, which stands for `tensor` at `at` of the current point, to the results of the
/// kernel that are `tensor`.
void storeYields(KernelPlan &plan, KernelValues &values, mlir::Value tensor, mlir::Value value,
                 mlir::AffineMap at);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_CUDA_EMITGRIDKERNEL_H
