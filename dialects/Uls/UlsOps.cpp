//===- UlsOps.cpp - Generated bodies and builders of the uls ops ------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/ExternalAdjoints.h"
#include "dialects/Uls/Uls.h"

using namespace mlir;
using namespace ulsc::uls;

#define GET_OP_CLASSES
#include "dialects/Uls/UlsOps.cpp.inc"

void UlsDialect::initialize() {
  registerAttrs();
  addOperations<
#define GET_OP_LIST
#include "dialects/Uls/UlsOps.cpp.inc"
      >();
  attachExternalAdjoints(*getContext());
}

/// The operand with dimensions, or the lhs when both are scalars.
template <typename Op>
static LogicalResult inferBinary(ValueRange operands, SmallVectorImpl<Type> &types) {
  auto lhs = llvm::dyn_cast<RankedTensorType>(operands[0].getType());
  auto rhs = llvm::dyn_cast<RankedTensorType>(operands[1].getType());
  if (!lhs || !rhs)
    return failure();
  types.push_back(lhs.getRank() == 0 ? rhs : lhs);
  return success();
}

#define ULSC_INFER_BINARY(Op)                                                                      \
  LogicalResult Op::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,  \
                                     DictionaryAttr, OpaqueProperties, RegionRange,                \
                                     SmallVectorImpl<Type> &types) {                               \
    return inferBinary<Op>(operands, types);                                                       \
  }
ULSC_INFER_BINARY(AddOp)
ULSC_INFER_BINARY(SubOp)
ULSC_INFER_BINARY(MulOp)
ULSC_INFER_BINARY(DivOp)
ULSC_INFER_BINARY(MaximumOp)
ULSC_INFER_BINARY(MinimumOp)
#undef ULSC_INFER_BINARY

static RankedTensorType statisticsType(Value input) {
  auto type = llvm::cast<RankedTensorType>(input.getType());
  return RankedTensorType::get(type.getShape().drop_back(), Float32Type::get(type.getContext()));
}

void RmsNormOp::build(OpBuilder &builder, OperationState &state, Value input, Value weight,
                      double epsilon) {
  build(builder, state, input.getType(), statisticsType(input), input, weight,
        builder.getF64FloatAttr(epsilon));
}

void LayerNormOp::build(OpBuilder &builder, OperationState &state, Value input, Value weight,
                        Value bias, double epsilon) {
  Type statistics = statisticsType(input);
  build(builder, state, input.getType(), statistics, statistics, input, weight, bias,
        builder.getF64FloatAttr(epsilon));
}
