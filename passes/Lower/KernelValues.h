//===- KernelValues.h - Values of a kernel's tensors at a point of its loops -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER_KERNELVALUES_H
#define ULSC_PASSES_LOWER_KERNELVALUES_H

#include "passes/Lower/CodeBuilder.h"
#include "passes/Lower/EmitRandom.h"
#include "passes/Lower/KernelPlan.h"

namespace ulsc::lower {

/// Where a value lives that an earlier loop computed: elements of the register type, over the
/// columns.
struct KeptValue {
  mlir::Value pointer;
  unsigned rowDims; ///< leading dimensions that the buffer doesn't have
};

/// What a kernel finds in the function that it becomes.
struct KernelInterface {
  mlir::LLVM::LLVMFuncOp function;
  llvm::SmallVector<mlir::Value> pointers; ///< of tensor arguments, then of results
  llvm::SmallVector<mlir::Value> scalars;  ///< i64, in order
  mlir::Value controlBlock;                ///< the address of `ulsc_control`
};

/// Computes elements of a kernel's tensors, pulling in producers on demand: each elementwise op is
/// computed where it is used, once per point; what depends on the row alone is computed before the
/// column loop.
class KernelValues {
public:
  KernelValues(CodeBuilder &code, exec::KernelOp kernel, KernelInterface interface);

  /// The index values of the current space; null counts as zero. The first `rowDims` are constant
  /// in a row.
  void setSpace(llvm::ArrayRef<mlir::Value> dims, unsigned rowDims);
  /// What depends on the row alone is placed before this op, if not null.
  void setRowPoint(mlir::Operation *op) { rowPoint = op; }
  void startRow() { rowMemo.clear(); }
  void startLoop() { loopMemo.clear(); }

  /// The element of `tensor` at the affine image `at` of the current point.
  mlir::Value valueAt(mlir::Value tensor, mlir::AffineMap at);
  /// The results of `op`'s body at the point `dims` of its own space; `accumulators` stand for its
  /// outputs.
  llvm::SmallVector<mlir::Value> bodyAt(mlir::linalg::GenericOp op, mlir::AffineMap dims,
                                        mlir::ValueRange accumulators);
  /// Stores to result `result` of the kernel.
  void storeResult(unsigned result, mlir::Value value, mlir::AffineMap at);
  /// The index of `at` in row-major order over `shape`, split at the row.
  mlir::Value linearIndex(llvm::ArrayRef<mlir::AffineExpr> at, llvm::ArrayRef<int64_t> shape);
  mlir::Value pointerOf(unsigned argument) { return interface.pointers[argument]; }
  llvm::ArrayRef<mlir::Value> getPointers() { return interface.pointers; }
  mlir::Value scalarOf(mlir::Value value);
  mlir::AffineMap identity() {
    return mlir::AffineMap::getMultiDimIdentityMap(dimValues.size(), context);
  }

  llvm::DenseMap<mlir::Value, mlir::Value> reduced; ///< results of reductions over all columns
  llvm::DenseMap<mlir::Value, KeptValue> kept;

private:
  using Key = std::pair<mlir::Value, mlir::AffineMap>;
  bool isRowOnly(mlir::AffineMap map);
  mlir::Value computeAt(mlir::Value tensor, mlir::AffineMap at);
  mlir::Value loadAt(mlir::Value pointer, mlir::Type element, llvm::ArrayRef<int64_t> shape,
                     mlir::AffineMap at);
  mlir::Value emitExpr(mlir::AffineExpr expr);
  mlir::Value emitOp(mlir::Operation &op, llvm::DenseMap<mlir::Value, mlir::Value> &values,
                     mlir::AffineMap dims);
  mlir::Value emitConvert(mlir::Operation &op, mlir::Value x);
  mlir::Value emitGenericOp(mlir::Operation &op, llvm::ArrayRef<mlir::Value> operands);
  mlir::Value control(llvm::StringRef field);
  template <typename Callback>
  auto atRowPoint(Callback callback);

  CodeBuilder &code;
  mlir::MLIRContext *context;
  exec::KernelOp kernel;
  KernelInterface interface;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;
  llvm::StringMap<mlir::Value> controls;
  llvm::SmallVector<mlir::Value> dimValues;
  unsigned rowDims = 0;
  mlir::Operation *rowPoint = nullptr;
  llvm::DenseMap<Key, mlir::Value> rowMemo, loopMemo;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_KERNELVALUES_H
