//===- Flops.cpp - What an op computes --------------------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Cost/Flops.h"

#include "dialects/Uls/Uls.h"

using namespace mlir;
using namespace ulsc;

/// A multiplication and an addition for each combination of the letters' positions.
static double countEinsum(uls::EinsumOp op) {
  double flops = 2;
  std::string letters = (op.getLhsLetters() + op.getRhsLetters()).str();
  for (size_t i = 0; i < letters.size(); ++i)
    if (letters.find(letters[i]) == i)
      flops *= double(op.getSize(letters[i]));
  return flops;
}

/// Two products, scores and values.
static double countAttention(uls::AttentionOp op) {
  auto query = llvm::cast<RankedTensorType>(op.getQuery().getType());
  auto key = llvm::cast<RankedTensorType>(op.getKey().getType());
  double products = double(query.getNumElements()) * double(key.getDimSize(1));
  return (op.getCausal() ? 2.0 : 4.0) * products;
}

double ulsc::cost::countFlops(Operation *op) {
  if (auto einsum = llvm::dyn_cast<uls::EinsumOp>(op))
    return countEinsum(einsum);
  if (auto attention = llvm::dyn_cast<uls::AttentionOp>(op))
    return countAttention(attention);
  return 0;
}
