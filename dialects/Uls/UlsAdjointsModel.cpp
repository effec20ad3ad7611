//===- UlsAdjointsModel.cpp - Adjoints of the named model ops ---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

/// Row statistics are by-products for the adjoint: the op is not differentiated through them.
static LogicalResult refuseStatistics(Operation *op, ArrayRef<Value> cotangents) {
  for (auto [i, cotangent] : llvm::enumerate(cotangents.drop_front()))
    if (cotangent)
      return op->emitOpError()
             << "has no adjoint through result " << i + 1
             << ", a row statistic; compute it by elementwise ops and uls.reduce instead";
  return success();
}

LogicalResult EmbeddingOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  adjoint.add(1, adjoint.create<EmbeddingGradOp>(adjoint.getCotangentType(1), getIndices(),
                                                 cotangents[0], getShardAttr()));
  return success();
}

LogicalResult RmsNormOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  if (failed(refuseStatistics(*this, cotangents)))
    return failure();
  if (!cotangents[0])
    return success();
  auto grad = RmsNormGradOp::create(adjoint.builder, adjoint.loc, getInput().getType(),
                                    adjoint.getCotangentType(1), getInput(), getWeight(), getRstd(),
                                    cotangents[0]);
  for (auto [operand, value] :
       {std::pair(0u, grad.getInputGrad()), std::pair(1u, grad.getWeightGrad())})
    if (adjoint.needs(operand))
      adjoint.addConverted(operand, value);
  return success();
}

LogicalResult LayerNormOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  if (failed(refuseStatistics(*this, cotangents)))
    return failure();
  if (!cotangents[0])
    return success();
  Type weightGrad = adjoint.getCotangentType(1);
  auto grad = LayerNormGradOp::create(adjoint.builder, adjoint.loc, getInput().getType(),
                                      weightGrad, weightGrad, getInput(), getWeight(), getMean(),
                                      getRstd(), cotangents[0]);
  for (auto [operand, value] : llvm::enumerate(grad->getResults()))
    if (adjoint.needs(operand))
      adjoint.addConverted(operand, value);
  return success();
}

LogicalResult SoftmaxOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  adjoint.addConverted(0, adjoint.create<SoftmaxGradOp>(getOutput(), cotangents[0]));
  return success();
}

/// A rotation: its transpose turns the other way.
LogicalResult RopeOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  adjoint.addConverted(0, adjoint.create<RopeOp>(cotangents[0].getType(), cotangents[0],
                                                 getPositions(), getFrequencies(), !getInverse()));
  return success();
}

LogicalResult AttentionOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  if (failed(refuseStatistics(*this, cotangents)))
    return failure();
  if (!cotangents[0])
    return success();
  auto grad = AttentionGradOp::create(
      adjoint.builder, adjoint.loc, getQuery().getType(), getKey().getType(), getValue().getType(),
      getQuery(), getKey(), getValue(), getQueryPositions(), getKeyPositions(), getQuerySegments(),
      getKeySegments(), getCallContext(), getOutput(), getLse(), cotangents[0], getScaleAttr(),
      getCausalAttr(), getDropoutKeyAttr(), getDropoutRateAttr(), getShardAttr());
  for (auto [operand, value] : llvm::enumerate(grad->getResults()))
    if (adjoint.needs(operand))
      adjoint.addConverted(operand, value);
  return success();
}

LogicalResult CrossEntropyOp::buildAdjoint(AdjointBuilder &adjoint, ArrayRef<Value> cotangents) {
  if (failed(refuseStatistics(*this, cotangents)))
    return failure();
  if (!cotangents[0])
    return success();
  adjoint.addConverted(0, adjoint.create<CrossEntropyGradOp>(
                              getLogits().getType(), getLogits(), getTargets(), getLse(),
                              cotangents[0], getVocabularyAttr(), dist::ShardAttr()));
  return success();
}
