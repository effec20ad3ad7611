//===- VerifyAttention.cpp - Verifiers of attention and its gradient -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"

using namespace mlir;
using namespace ulsc::exec;

/// Checks the type of one operand against the shape that the query and key imply.
static LogicalResult verifyShape(Operation *op, StringRef name, Value value,
                                 ArrayRef<int64_t> shape, Type element) {
  auto type = cast<MemRefType>(value.getType());
  if (type.getShape() == shape && type.getElementType() == element)
    return success();
  return op->emitOpError() << name << " is " << type << ", not " << MemRefType::get(shape, element);
}

/// What attention and its gradient check alike.
template <typename Op>
static LogicalResult verifyAttention(Op op) {
  auto q = cast<MemRefType>(op.getQ().getType());
  auto k = cast<MemRefType>(op.getK().getType());
  if (q.getRank() != 5 || k.getRank() != 4)
    return op.emitOpError("q is ") << q << " and k is " << k << ", not [B,S,K,G,D] and [B,T,K,D]";
  Type element = q.getElementType();
  if (!element.isF32() && !element.isBF16() && !element.isF16())
    return op.emitOpError("has element type ") << element << "; f32, bf16 and f16 are legal";
  int64_t b = q.getDimSize(0), s = q.getDimSize(1), heads = q.getDimSize(2),
          group = q.getDimSize(3), d = q.getDimSize(4), t = k.getDimSize(1);
  Type i32 = IntegerType::get(op.getContext(), 32), f32 = Float32Type::get(op.getContext());
  if (failed(verifyShape(op, "k", op.getK(), {b, t, heads, d}, element)) ||
      failed(verifyShape(op, "v", op.getV(), {b, t, heads, d}, element)) ||
      failed(verifyShape(op, "q_positions", op.getQPositions(), {b, s}, i32)) ||
      failed(verifyShape(op, "kv_positions", op.getKvPositions(), {b, t}, i32)) ||
      failed(verifyShape(op, "out", op.getOut(), {b, s, heads, group, d}, element)) ||
      failed(verifyShape(op, "lse", op.getLse(), {b, s, heads, group}, f32)))
    return failure();
  if (bool(op.getQSegments()) != bool(op.getKvSegments()))
    return op.emitOpError("has segments of queries or of keys alone");
  if (op.getQSegments() &&
      (failed(verifyShape(op, "q_segments", op.getQSegments(), {b, s}, i32)) ||
       failed(verifyShape(op, "kv_segments", op.getKvSegments(), {b, t}, i32))))
    return failure();
  if (op.getLibrary() && (element.isF32() || op.getDropoutRate() || op.getQSegments()))
    return op.emitOpError("is given to ") << stringifyAttentionLibrary(*op.getLibrary())
                                          << ", which takes bf16 and f16 without dropout or "
                                             "segments";
  if (!op.getDropoutRate())
    return success();
  if (!op.getDropoutKey() || !op.getDropoutSizes() || op.getDropoutSizes()->size() != 3 ||
      op.getScalars().size() != 5)
    return op.emitOpError(
               "drops out and so needs dropout_key, three dropout_sizes and five scalars, not ")
           << op.getScalars().size();
  return success();
}

LogicalResult AttentionOp::verify() { return verifyAttention(*this); }

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  auto q = cast<MemRefType>(getQ().getType()), k = cast<MemRefType>(getK().getType());
  Type element = q.getElementType();
  return success(succeeded(verifyShape(*this, "dout", getDout(), q.getShape(), element)) &&
                 succeeded(verifyShape(*this, "dq", getDq(), q.getShape(), element)) &&
                 succeeded(verifyShape(*this, "dk", getDk(), k.getShape(), element)) &&
                 succeeded(verifyShape(*this, "dv", getDv(), k.getShape(), element)));
}
