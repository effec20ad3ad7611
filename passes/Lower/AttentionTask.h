//===- AttentionTask.h - What attention and its gradient share in generated code -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER_ATTENTIONTASK_H
#define ULSC_PASSES_LOWER_ATTENTIONTASK_H

#include "passes/Lower/AttentionOperands.h"
#include "passes/Lower/EmitKernel.h"

namespace ulsc::lower {

/// Emits one block of query rows: addresses, the masked scores, dropout.
class AttentionTask : public AttentionOperands {
public:
  AttentionTask(CodeBuilder &code, const AttentionShape &shape, mlir::LLVM::LLVMFuncOp function);

  /// Reads the arguments: q, k, v, positions, segments, then `buffers` more, then the scalars.
  void loadArguments(unsigned buffers);
  /// Takes `elements` floats of this thread's scratch, at the pointer `scratch`.
  mlir::Value takeScratch(int64_t elements);
  /// Sets the head; K and V become f32 matrices of T rows.
  void setHead(mlir::Value batch, mlir::Value head);
  /// Sets the group and the first row; returns nothing but fills in the members below.
  void setBlock(mlir::Value groupIndex, mlir::Value blockIndex);
  /// f32 rows of the block at `pointer` in the layout of q, through `scratch` where they are
  /// narrow.
  std::pair<mlir::Value, mlir::Value> widenRows(mlir::Value pointer, mlir::Value scratch);
  /// Writes f32 rows of the block to `pointer` in the layout of q, each times `factors[row]` if not
  /// null.
  void narrowRows(mlir::Value from, mlir::Value stride, mlir::Value pointer, mlir::Value factors);
  /// scores = scale * Q K^T of the block, `count` keys.
  void emitScores(mlir::Value scores);
  void gemm(bool transposeA, bool transposeB, mlir::Value m, mlir::Value n, mlir::Value k,
            float alpha, mlir::Value a, mlir::Value lda, mlir::Value b, mlir::Value ldb, float beta,
            mlir::Value c, mlir::Value ldc);
  /// Copies between an f32 matrix of T rows and the layout of k.
  void widenKeys(mlir::Value pointer, mlir::Value to);
  void narrowKeys(mlir::Value from, mlir::Value pointer);
  void zeroKeys(mlir::Value pointer, mlir::Value stride);

  mlir::LLVM::LLVMFuncOp function;
  mlir::Value scratch;
  mlir::Value rows, count; ///< `count`: keys that the block may see
  mlir::Value kMatrix, vMatrix, kStride, qMatrix, qStride;

private:
  void setCount();
  mlir::Value wideK, wideV, wideQ;
  int64_t taken = 0;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_ATTENTIONTASK_H
