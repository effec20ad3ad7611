//===- UlsAdjointsElementwise.cpp - Adjoints of the elementwise ops ---------------------===//
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

//===---------------------------------------------------------------------------------------===//
// What all adjoints are built with
//===---------------------------------------------------------------------------------------===//

void AdjointBuilder::addConverted(unsigned operand, Value cotangent) {
  RankedTensorType type = getCotangentType(operand);
  if (cotangent.getType() != type)
    cotangent = create<ConvertOp>(type, cotangent);
  add(operand, cotangent);
}

void AdjointBuilder::addReduced(unsigned operand, Value cotangent) {
  RankedTensorType type = getCotangentType(operand);
  int64_t rank = typeOf(cotangent).getRank();
  if (type.getRank() != 0 || rank == 0)
    return addConverted(operand, cotangent);
  // The reduction rounds once to the type that is asked for: no conversion after it.
  add(operand, create<ReduceOp>(type, ReduceKind::Sum, cotangent,
                                llvm::to_vector(llvm::seq<int64_t>(0, rank))));
}

/// A scalar constant of the element type of `like`; it applies to every element of an elementwise
/// op.
static Value scalar(AdjointBuilder &adjoint, Value like, double value) {
  Type element = typeOf(like).getElementType();
  auto type = RankedTensorType::get({}, element);
  auto splat = DenseElementsAttr::get(type, Attribute(FloatAttr::get(element, value)));
  return adjoint.create<ConstantOp>(type, splat);
}

//===---------------------------------------------------------------------------------------===//
// One operand
//===---------------------------------------------------------------------------------------===//

LogicalResult NegOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  adjoint.addConverted(0, adjoint.create<NegOp>(cotangents[0]));
  return success();
}

LogicalResult ExpOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  adjoint.addConverted(0, adjoint.create<MulOp>(cotangents[0], getOutput()));
  return success();
}

LogicalResult LogOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  adjoint.addConverted(0, adjoint.create<DivOp>(cotangents[0], getInput()));
  return success();
}

LogicalResult SqrtOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  Value half = adjoint.create<MulOp>(cotangents[0], scalar(adjoint, cotangents[0], 0.5));
  adjoint.addConverted(0, adjoint.create<DivOp>(half, getOutput()));
  return success();
}

/// The derivative of x^(-1/2) is −y³/2.
LogicalResult RsqrtOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  Value square = adjoint.create<MulOp>(getOutput(), getOutput());
  Value cube = adjoint.create<MulOp>(square, getOutput());
  Value product = adjoint.create<MulOp>(cotangents[0], cube);
  adjoint.addConverted(0, adjoint.create<MulOp>(product, scalar(adjoint, product, -0.5)));
  return success();
}

LogicalResult TanhOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  Value square = adjoint.create<MulOp>(getOutput(), getOutput());
  Value slope = adjoint.create<SubOp>(scalar(adjoint, square, 1.0), square);
  adjoint.addConverted(0, adjoint.create<MulOp>(cotangents[0], slope));
  return success();
}

LogicalResult SiluOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  adjoint.addConverted(0, adjoint.create<SiluGradOp>(getInput(), cotangents[0]));
  return success();
}

LogicalResult GeluOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  adjoint.addConverted(0, adjoint.create<GeluGradOp>(getInput().getType(), getApproximation(),
                                                     getInput(), cotangents[0]));
  return success();
}

LogicalResult ConvertOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  adjoint.addConverted(0, cotangents[0]);
  return success();
}

/// Linear, with the mask of the forward op: the key makes it again.
LogicalResult DropoutOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  adjoint.addConverted(0, adjoint.create<DropoutOp>(cotangents[0].getType(), cotangents[0],
                                                    getCallContext(), getKeyAttr(), getRateAttr(),
                                                    getShardAttr()));
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Two operands, either of which may be a scalar
//===---------------------------------------------------------------------------------------===//

LogicalResult AddOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  for (unsigned operand : {0u, 1u})
    if (adjoint.needs(operand))
      adjoint.addReduced(operand, cotangents[0]);
  return success();
}

LogicalResult SubOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  if (adjoint.needs(0))
    adjoint.addReduced(0, cotangents[0]);
  if (adjoint.needs(1))
    adjoint.addReduced(1, adjoint.create<NegOp>(cotangents[0]));
  return success();
}

LogicalResult MulOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  if (adjoint.needs(0))
    adjoint.addReduced(0, adjoint.create<MulOp>(cotangents[0], getRhs()));
  if (adjoint.needs(1))
    adjoint.addReduced(1, adjoint.create<MulOp>(cotangents[0], getLhs()));
  return success();
}

/// y = a/b: da = dy/b, db = −(dy/b)·y.
LogicalResult DivOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  Value quotient = adjoint.create<DivOp>(cotangents[0], getRhs());
  if (adjoint.needs(0))
    adjoint.addReduced(0, quotient);
  if (adjoint.needs(1))
    adjoint.addReduced(1, adjoint.create<NegOp>(adjoint.create<MulOp>(quotient, getOutput())));
  return success();
}

/// The cotangent goes where an operand won; the lhs wins ties.
template <typename Op>
static LogicalResult buildSelection(Op op, AdjointBuilder &adjoint, Value cotangent,
                                    Comparison lhsWins, Comparison rhsWins) {
  for (auto [operand, wins] : {std::pair(0u, lhsWins), std::pair(1u, rhsWins)})
    if (adjoint.needs(operand))
      adjoint.addReduced(operand, adjoint.create<MaskOp>(cotangent.getType(), wins, op.getLhs(),
                                                         op.getRhs(), cotangent));
  return success();
}

LogicalResult MaximumOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  return buildSelection(*this, adjoint, cotangents[0], Comparison::Ge, Comparison::Lt);
}

LogicalResult MinimumOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  return buildSelection(*this, adjoint, cotangents[0], Comparison::Le, Comparison::Gt);
}
