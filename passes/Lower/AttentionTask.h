//===- AttentionTask.h - What attention and its gradient share in generated code -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER_ATTENTIONTASK_H
#define ULSC_PASSES_LOWER_ATTENTIONTASK_H

#include "passes/Lower/EmitKernel.h"
#include "passes/Lower/EmitRandom.h"

namespace ulsc::lower {

/// The static facts of an attention: shapes, masks, dropout.
struct AttentionShape {
  int64_t b, s, t, k, g, d, block;
  mlir::Type element;
  float scale;
  bool isCausal, hasSegments;
  std::optional<float> dropoutRate;
  uint64_t dropoutKey = 0;
  llvm::SmallVector<int64_t> dropoutSizes;

  template <typename Op>
  explicit AttentionShape(Op op);
  int64_t blocks() const { return (s + block - 1) / block; }
  bool isWide() const { return element.isF32(); }
  /// Bytes of one thread's scratch, a multiple of the alignment.
  int64_t scratchBytes(bool isGradient) const;
};

/// Emits one block of query rows: addresses, the masked scores, dropout.
class AttentionTask {
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
  /// Whether row `row` of the block sees key `key`; null if it sees all.
  mlir::Value isVisible(mlir::Value rowPosition, mlir::Value rowSegment, mlir::Value key);
  mlir::Value positionOf(mlir::Value row);
  mlir::Value segmentOf(mlir::Value row);
  /// The index into lse of a row of the block.
  mlir::Value statisticIndex(mlir::Value row);
  /// 1/(1-rate) where the element is kept and 0 where it is dropped; null without dropout.
  mlir::Value dropoutFactor(mlir::Value row, mlir::Value key);
  void gemm(bool transposeA, bool transposeB, mlir::Value m, mlir::Value n, mlir::Value k,
            float alpha, mlir::Value a, mlir::Value lda, mlir::Value b, mlir::Value ldb, float beta,
            mlir::Value c, mlir::Value ldc);
  /// Copies between an f32 matrix of T rows and the layout of k.
  void widenKeys(mlir::Value pointer, mlir::Value to);
  void narrowKeys(mlir::Value from, mlir::Value pointer);
  void zeroKeys(mlir::Value pointer, mlir::Value stride);
  mlir::Value keyBase(mlir::Value pointer);

  CodeBuilder &code;
  const AttentionShape &shape;
  mlir::LLVM::LLVMFuncOp function;
  mlir::Value q, k, v, qPositions, kvPositions, qSegments, kvSegments;
  llvm::SmallVector<mlir::Value> extra, scalars;
  mlir::Value scratch;
  mlir::Value batch, head, group, firstRow, rows, count; ///< `count`: keys that the block may see
  mlir::Value kMatrix, vMatrix, kStride, qMatrix, qStride;

private:
  mlir::Value control(llvm::StringRef field);
  void setCount();
  mlir::Value queryIndex(mlir::Value row);
  mlir::Value threshold, factor;
  std::optional<RandomStream> stream;
  mlir::Value wideK, wideV, wideQ;
  int64_t taken = 0;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_ATTENTIONTASK_H
