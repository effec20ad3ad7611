//===- BufferEmitterAttention.cpp - Attention on buffers --------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/AttentionScratch.h"
#include "passes/Lower/BufferEmitter.h"
#include "passes/Lower/DecomposePatterns.h"
#include "passes/Lower/GenericOps.h"
#include "ulsc/AttentionWorkspace.h"
#include "ulsc/Random.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// What dropout adds to local indices to make them global: layer, row, head, query and key offsets;
/// and the global sizes of heads, queries and keys.
FailureOr<SmallVector<Value>> BufferEmitter::getAttentionScalars(Operation *op, Value context,
                                                                 dist::ShardAttr shard,
                                                                 ArrayAttr &sizes) {
  auto [layer, row] = getContextParts(context);
  if (!layer)
    return op->emitOpError("drops without a context"), failure();
  auto query = cast<RankedTensorType>(op->getOperand(0).getType()),
       key = cast<RankedTensorType>(op->getOperand(1).getType());
  ArrayRef<int64_t> global = shard ? shard.getGlobalShape() : query.getShape();
  Location location = op->getLoc();
  auto offset = [&](int64_t dim, int64_t scale) -> Value {
    Value begin = buildShardOffset(builder, location, shard, dim, query.getDimSize(dim) * scale);
    return begin ? begin : i64Constant(builder, location, 0);
  };
  Value firstRow = arith::AddIOp::create(builder, location, scalars.lookup(row), offset(0, 1));
  SmallVector<Value> result = {scalars.lookup(layer), firstRow, offset(2, query.getDimSize(3)),
                               offset(1, 1), i64Constant(builder, location, 0)};
  sizes = builder.getI64ArrayAttr({global[2] * global[3], global[1], key.getDimSize(1)});
  return result;
}

/// What the library asks for; kernels of a device keep what they need in the shared memory of their
/// blocks.
template <typename Op>
static int64_t getDeviceScratchBytes(Op op) {
  if (!op.getLibrary())
    return 0;
  auto query = cast<MemRefType>(op.getQ().getType()), key = cast<MemRefType>(op.getK().getType());
  return ulsc_attention_workspace_bytes(
      query.getDimSize(0), query.getDimSize(1), key.getDimSize(1), query.getDimSize(2),
      query.getDimSize(3), query.getDimSize(4), std::is_same_v<Op, exec::AttentionGradOp>);
}

/// Gives an attention the scratch that its target needs.
template <typename Op>
static void addScratch(Op op, const ModuleState &state, function_ref<Value(Type)> create) {
  int64_t bytes =
      state.isForDevice ? getDeviceScratchBytes(op) : attentionScratchBytes(op, state.threads);
  if (bytes > 0)
    op.getScratchMutable().assign(
        create(MemRefType::get({bytes}, IntegerType::get(op.getContext(), 8))));
}

namespace {
/// Attributes that attention and its gradient share.
struct AttentionAttributes {
  FloatAttr scale, rate;
  UnitAttr causal;
  IntegerAttr key;
  DenseI64ArrayAttr sizes;

  template <typename Op>
  AttentionAttributes(OpBuilder &builder, Op op, ArrayAttr sizeList) {
    scale = builder.getF32FloatAttr(op.getScale().convertToDouble());
    causal = op.getCausal() ? builder.getUnitAttr() : UnitAttr();
    if (!op.getDropoutKey())
      return;
    rate =
        builder.getF32FloatAttr(op.getDropoutRate() ? op.getDropoutRate()->convertToDouble() : 0.0);
    key = builder.getI64IntegerAttr(
        static_cast<int64_t>(ulsc_random_hash_name(op.getDropoutKey()->str().c_str())));
    SmallVector<int64_t> values;
    for (auto value : sizeList.getAsRange<IntegerAttr>())
      values.push_back(value.getInt());
    sizes = builder.getDenseI64ArrayAttr(values);
  }
};
} // namespace

/// `rest` are the values that only one of the two has, in the order of the target's operands.
template <typename Target, typename Source, typename... Values>
LogicalResult BufferEmitter::emitAttentionLike(Source op, Values... rest) {
  SmallVector<Value> numbers;
  ArrayAttr sizes;
  if (op.getDropoutKey()) {
    auto found = getAttentionScalars(op, op.getCallContext(), op.getShardAttr(), sizes);
    if (failed(found))
      return failure();
    numbers = *found;
  }
  AttentionAttributes attributes(builder, op, sizes);
  auto created = Target::create(
      builder, op.getLoc(), getBuffer(op.getQuery()), getBuffer(op.getKey()),
      getBuffer(op.getValue()), getBuffer(op.getQueryPositions()), getBuffer(op.getKeyPositions()),
      getBufferOrNull(op.getQuerySegments()), getBufferOrNull(op.getKeySegments()),
      getBuffer(op.getOutput()), getBuffer(op.getLse()), getBuffer(rest)..., Value(), numbers,
      attributes.scale, attributes.causal, attributes.rate, attributes.key, attributes.sizes,
      op->template getAttrOfType<exec::AttentionLibraryAttr>(exec::kLibraryAttrName));
  addScratch(created, state, [&](Type type) {
    return createBuffer(exec::Category::Workspaces, type, StringAttr(), op.getLoc());
  });
  return success();
}

LogicalResult BufferEmitter::emitAttention(Operation *op) {
  return emitAttentionLike<exec::AttentionOp>(cast<uls::AttentionOp>(op));
}

LogicalResult BufferEmitter::emitAttentionGrad(Operation *op) {
  auto grad = cast<uls::AttentionGradOp>(op);
  return emitAttentionLike<exec::AttentionGradOp>(grad, grad.getCotangent(), grad.getQueryGrad(),
                                                  grad.getKeyGrad(), grad.getValueGrad());
}
