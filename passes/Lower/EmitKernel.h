//===- EmitKernel.h - Loops of the kinds of kernels -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER_EMITKERNEL_H
#define ULSC_PASSES_LOWER_EMITKERNEL_H

#include "passes/Lower/KernelValues.h"

namespace ulsc::lower {

// Each fills in the part [begin, end) of the launch's extent.
void emitRowKernel(CodeBuilder &code, KernelPlan &plan, KernelValues &values, mlir::Value begin,
                   mlir::Value end);
void emitColumnKernel(CodeBuilder &code, KernelPlan &plan, KernelValues &values, mlir::Value begin,
                      mlir::Value end);
/// Which rows of a scattered table are meant: of every `count` in turn number `index`.
struct TableRows {
  mlir::Value index; ///< null for all
  int64_t count = 1; ///< a power of two
};
void emitScatterKernel(CodeBuilder &code, KernelPlan &plan, KernelValues &values, mlir::Value begin,
                       mlir::Value end, TableRows rows = {});
void emitTransposeKernel(CodeBuilder &code, exec::KernelOp kernel, KernelValues &values,
                         mlir::Value begin, mlir::Value end);

/// What a launch of a transposing kernel splits.
int64_t getTransposeExtent(exec::KernelOp kernel);

/// Sets in `dims` the index values of `loops` (outermost first) at the flat `index`.
void decompose(CodeBuilder &code, mlir::Value index, llvm::ArrayRef<LoopDim> loops,
               llvm::MutableArrayRef<mlir::Value> dims);

/// The function `name` that runs part of a kernel, empty but for its entry block.
mlir::LLVM::LLVMFuncOp createKernelFunction(mlir::OpBuilder &builder, mlir::Location loc,
                                            llvm::StringRef name);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_EMITKERNEL_H
