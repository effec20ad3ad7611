//===- ContractionShape.cpp - An einsum as a product of matrices ------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/ContractionShape.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

namespace {
/// One operand of an einsum as letters with strides.
struct LetterStrides {
  SmallVector<std::pair<char, int64_t>> strides;

  LetterStrides(StringRef letters, RankedTensorType type) {
    int64_t stride = 1;
    for (int64_t i = type.getRank() - 1; i >= 0; --i) {
      strides.insert(strides.begin(), {letters[i], stride});
      stride *= type.getDimSize(i);
    }
  }
  int64_t get(char letter) const {
    for (auto [name, stride] : strides)
      if (name == letter)
        return stride;
    llvm_unreachable("a group's letters are letters of the operand");
  }
};
} // namespace

static ContractionLetters classify(uls::EinsumOp op) {
  StringRef lhs = op.getLhsLetters(), rhs = op.getRhsLetters(), result = op.getResultLetters();
  ContractionLetters letters;
  for (char letter : result) {
    bool inLhs = lhs.contains(letter), inRhs = rhs.contains(letter);
    (inLhs && inRhs ? letters.batch : inLhs ? letters.m : letters.n) += letter;
  }
  for (char letter : lhs)
    if (rhs.contains(letter) && !result.contains(letter))
      letters.k += letter;
  return letters;
}

/// The stride of a group of letters taken as one dimension, if they can be.
static std::optional<int64_t> collapse(StringRef group, const LetterStrides &operand,
                                       uls::EinsumOp op) {
  std::optional<int64_t> inner; // of the letter before (to the right)
  int64_t extent = 1, result = 0;
  for (char letter : llvm::reverse(group)) {
    int64_t size = op.getSize(letter), stride = operand.get(letter);
    if (size == 1)
      continue;
    if (!inner)
      result = stride;
    else if (stride != *inner * extent)
      return std::nullopt;
    if (!inner)
      inner = stride;
    extent *= size;
  }
  return result;
}

static int64_t getGroupSize(StringRef group, uls::EinsumOp op) {
  int64_t size = 1;
  for (char letter : group)
    size *= op.getSize(letter);
  return size;
}

ContractionShape::ContractionShape(uls::EinsumOp op) : letters(classify(op)), op(op) {
  auto getStrides = [&](StringRef names, Value value, ArrayRef<StringRef> groups) -> Strides {
    LetterStrides operand(names, cast<RankedTensorType>(value.getType()));
    SmallVector<int64_t> strides;
    for (StringRef group : groups) {
      auto stride = collapse(group, operand, op);
      if (!stride)
        return std::nullopt;
      strides.push_back(*stride);
    }
    return strides;
  };
  const ContractionLetters &l = letters;
  lhs = getStrides(op.getLhsLetters(), op.getLhs(), {l.batch, l.m, l.k});
  rhs = getStrides(op.getRhsLetters(), op.getRhs(), {l.batch, l.k, l.n});
  result = getStrides(op.getResultLetters(), op.getOutput(), {l.batch, l.m, l.n});
}

ContractionForm ContractionShape::getForm() const {
  uls::EinsumOp einsum = op; // its accessors are not const
  ContractionForm form{einsum.getLhs(),
                       einsum.getRhs(),
                       {getGroupSize(letters.batch, op), getGroupSize(letters.m, op),
                        getGroupSize(letters.n, op), getGroupSize(letters.k, op)},
                       *lhs,
                       *rhs,
                       *result};
  // Row-major results: where rows of the result are the ones that lie together, the transposed
  // product is taken.
  form.isSwapped = form.cStrides[1] == 1 && form.cStrides[2] != 1 && form.sizes[1] > 1;
  if (form.isSwapped) {
    std::swap(form.a, form.b);
    std::swap(form.sizes[1], form.sizes[2]);
    std::swap(form.aStrides, form.bStrides);
    std::swap(form.aStrides[1], form.aStrides[2]);
    std::swap(form.bStrides[1], form.bStrides[2]);
    std::swap(form.cStrides[1], form.cStrides[2]);
  }
  return form;
}

StringAttr lower::getContractionName(uls::EinsumOp op) {
  if (auto name = op.getLoc()->findInstanceOf<NameLoc>())
    return name.getName();
  return op.getEquationAttr();
}

uls::AccumulateOp lower::getAccumulation(uls::EinsumOp op) {
  if (!op->hasOneUse())
    return {};
  auto accumulate = dyn_cast<uls::AccumulateOp>(*op->user_begin());
  if (!accumulate || accumulate.getAccumulator().getType() != op.getType() ||
      accumulate->getBlock() != op->getBlock())
    return {};
  return accumulate;
}
