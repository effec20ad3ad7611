//===- AttentionOperands.h - What attentions of all targets share --------------------*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER_ATTENTIONOPERANDS_H
#define ULSC_PASSES_LOWER_ATTENTIONOPERANDS_H

#include "dialects/Exec/ExecOps.h"
#include "passes/Lower/CodeBuilder.h"
#include "passes/Lower/EmitRandom.h"

#include <optional>

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

/// The buffers of an attention in generated code, and what elements of its scores depend on: masks,
/// dropout. Rows are those of a block of queries of one head.
class AttentionOperands {
public:
  AttentionOperands(CodeBuilder &code, const AttentionShape &shape) : code(code), shape(shape) {}

  /// Operands in order: q, k, v, positions, segments, then what only one of forward and gradient
  /// has; the scalars of dropout; the address of `ulsc_control`.
  void bind(llvm::ArrayRef<mlir::Value> pointers, llvm::ArrayRef<mlir::Value> scalars,
            mlir::Value controlBlock);
  /// How many pointers come before those that only one of forward and gradient has.
  static unsigned countShared(const AttentionShape &shape) { return shape.hasSegments ? 7 : 5; }
  static unsigned countScalars(const AttentionShape &shape) { return shape.dropoutRate ? 5 : 0; }

  /// Where the head's first key lies in a buffer of k's layout.
  mlir::Value keyBase(mlir::Value pointer);
  /// Whether row `row` of the block sees key `key`; null if it sees all.
  mlir::Value isVisible(mlir::Value rowPosition, mlir::Value rowSegment, mlir::Value key);
  mlir::Value positionOf(mlir::Value row);
  mlir::Value segmentOf(mlir::Value row);
  /// The index into lse of a row of the block.
  mlir::Value statisticIndex(mlir::Value row);
  /// 1/(1-rate) where the element is kept and 0 where it is dropped; null without dropout.
  mlir::Value dropoutFactor(mlir::Value row, mlir::Value key);

  CodeBuilder &code;
  const AttentionShape &shape;
  mlir::Value q, k, v, qPositions, kvPositions, qSegments, kvSegments;
  llvm::SmallVector<mlir::Value> extra;
  mlir::Value batch, head, group, firstRow;

private:
  mlir::Value control(mlir::Value block, llvm::StringRef field);
  mlir::Value queryIndex(mlir::Value row);

  llvm::SmallVector<mlir::Value> scalars;
  mlir::Value threshold, factor;
  std::optional<RandomStream> stream;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_ATTENTIONOPERANDS_H
