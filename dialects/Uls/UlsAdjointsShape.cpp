//===- UlsAdjointsShape.cpp - Adjoints of contractions and shape ops --------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

static RankedTensorType typeOf(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

/// `shape` in the element type of `value`.
static RankedTensorType withShapeOf(Value value, Value shape) {
  return typeOf(value).clone(typeOf(shape).getShape());
}

static Value convertTo(AdjointBuilder &adjoint, Value value, Type element) {
  if (typeOf(value).getElementType() == element)
    return value;
  return adjoint.create<ConvertOp>(typeOf(value).clone(element), value);
}

/// Dimensions below `rank` that are not in `dims`.
static SmallVector<int64_t> otherDims(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      others.push_back(dim);
  return others;
}

/// Each operand's cotangent is the contraction of the others, in the order of the operand's own
/// dimensions and rounded once to its dtype. A letter of one operand only is in the result, so
/// every equation is well formed.
LogicalResult EinsumOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  std::string lhs = getLhsLetters().str(), rhs = getRhsLetters().str(),
              out = getResultLetters().str();
  auto equation = [&](const std::string &text) { return adjoint.builder.getStringAttr(text); };
  if (adjoint.needs(0))
    adjoint.add(0, adjoint.create<EinsumOp>(adjoint.getCotangentType(0),
                                            equation(out + "," + rhs + "->" + lhs), cotangents[0],
                                            getRhs()));
  if (adjoint.needs(1))
    adjoint.add(1, adjoint.create<EinsumOp>(adjoint.getCotangentType(1),
                                            equation(lhs + "," + out + "->" + rhs), getLhs(),
                                            cotangents[0]));
  return success();
}

LogicalResult ReduceOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  RankedTensorType type = adjoint.getCotangentType(0), input = typeOf(getInput());
  if (getKind() == ReduceKind::Sum) {
    // Converted while it is small.
    Value cotangent = convertTo(adjoint, cotangents[0], type.getElementType());
    adjoint.add(0,
                adjoint.create<BroadcastOp>(type, cotangent, otherDims(type.getRank(), getDims())));
    return success();
  }
  Value max = convertTo(adjoint, getOutput(), input.getElementType());
  Value cotangent = convertTo(adjoint, cotangents[0], input.getElementType());
  adjoint.addConverted(
      0, adjoint.create<ReduceMaxGradOp>(input, getInput(), max, cotangent, getDims()));
  return success();
}

LogicalResult BroadcastOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  SmallVector<int64_t> repeated = otherDims(typeOf(getOutput()).getRank(), getDims());
  if (repeated.empty())
    adjoint.addConverted(0, cotangents[0]);
  else
    adjoint.add(0, adjoint.create<ReduceOp>(adjoint.getCotangentType(0), ReduceKind::Sum,
                                            cotangents[0], repeated));
  return success();
}

LogicalResult ReshapeOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  adjoint.addConverted(
      0, adjoint.create<ReshapeOp>(withShapeOf(cotangents[0], getInput()), cotangents[0]));
  return success();
}

LogicalResult TransposeOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    inverse[dim] = i;
  adjoint.addConverted(0, adjoint.create<TransposeOp>(withShapeOf(cotangents[0], getInput()),
                                                      cotangents[0], inverse));
  return success();
}

LogicalResult SliceOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  adjoint.addConverted(0, adjoint.create<PadOp>(withShapeOf(cotangents[0], getInput()),
                                                cotangents[0], getDim(), getOffset()));
  return success();
}

LogicalResult PadOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  adjoint.addConverted(0, adjoint.create<SliceOp>(withShapeOf(cotangents[0], getInput()),
                                                  cotangents[0], getDim(), getLow()));
  return success();
}

LogicalResult ConcatOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  int64_t offset = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    if (adjoint.needs(i))
      adjoint.addConverted(i, adjoint.create<SliceOp>(withShapeOf(cotangents[0], input),
                                                      cotangents[0], getDim(), offset));
    offset += typeOf(input).getDimSize(getDim());
  }
  return success();
}
