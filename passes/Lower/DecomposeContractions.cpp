//===- DecomposeContractions.cpp - Einsum to strided matrix products --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/DecomposePatterns.h"
#include "passes/Lower/GenericOps.h"

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
  std::optional<int64_t> get(char letter) const {
    for (auto [name, stride] : strides)
      if (name == letter)
        return stride;
    return std::nullopt;
  }
};

/// The letters of an einsum by the part they play in a product of matrices, each group in one order
/// for all operands.
struct Roles {
  std::string batch, m, n, k;
};

Roles classify(uls::EinsumOp op) {
  StringRef lhs = op.getLhsLetters(), rhs = op.getRhsLetters(), result = op.getResultLetters();
  Roles roles;
  for (char letter : result) {
    bool inLhs = lhs.contains(letter), inRhs = rhs.contains(letter);
    (inLhs && inRhs ? roles.batch : inLhs ? roles.m : roles.n) += letter;
  }
  for (char letter : lhs)
    if (rhs.contains(letter) && !result.contains(letter))
      roles.k += letter;
  return roles;
}

/// The stride of a group of letters taken as one dimension, if they can be.
std::optional<int64_t> collapse(StringRef group, const LetterStrides &operand, uls::EinsumOp op) {
  std::optional<int64_t> inner; // of the letter before (to the right)
  int64_t extent = 1, result = 0;
  for (char letter : llvm::reverse(group)) {
    int64_t size = op.getSize(letter), stride = *operand.get(letter);
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

int64_t getGroupSize(StringRef group, uls::EinsumOp op) {
  int64_t size = 1;
  for (char letter : group)
    size *= op.getSize(letter);
  return size;
}

struct DecomposeEinsum : OpRewritePattern<uls::EinsumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(uls::EinsumOp op, PatternRewriter &rewriter) const override {
    if (unifyTypes(op, rewriter))
      return success();
    Roles roles = classify(op);
    // The groups' order follows the result; where an operand disagrees, it is transposed to fit and
    // tried again.
    LetterStrides a(op.getLhsLetters(), cast<RankedTensorType>(op.getLhs().getType()));
    LetterStrides b(op.getRhsLetters(), cast<RankedTensorType>(op.getRhs().getType()));
    LetterStrides c(op.getResultLetters(), cast<RankedTensorType>(op.getType()));
    auto strides = [&](const LetterStrides &operand, StringRef x, StringRef y,
                       StringRef z) -> std::optional<SmallVector<int64_t>> {
      auto first = collapse(x, operand, op), second = collapse(y, operand, op),
           third = collapse(z, operand, op);
      if (!first || !second || !third)
        return std::nullopt;
      return SmallVector<int64_t>{*first, *second, *third};
    };
    auto aStrides = strides(a, roles.batch, roles.m, roles.k);
    auto bStrides = strides(b, roles.batch, roles.k, roles.n);
    auto cStrides = strides(c, roles.batch, roles.m, roles.n);
    if (!aStrides)
      return transposeOperand(op, rewriter, 0, roles.batch + roles.m + roles.k);
    if (!bStrides)
      return transposeOperand(op, rewriter, 1, roles.batch + roles.k + roles.n);
    if (!cStrides)
      return transposeResult(op, rewriter, roles.batch + roles.m + roles.n);
    return buildContract(op, rewriter, roles, *aStrides, *bStrides, *cStrides);
  }

private:
  /// Products have operands of one type: converts the narrower. Whether it had to.
  static bool unifyTypes(uls::EinsumOp op, PatternRewriter &rewriter) {
    auto lhs = cast<RankedTensorType>(op.getLhs().getType()),
         rhs = cast<RankedTensorType>(op.getRhs().getType());
    if (lhs.getElementType() == rhs.getElementType())
      return false;
    bool isLhsNarrow = lhs.getElementTypeBitWidth() < rhs.getElementTypeBitWidth();
    unsigned index = isLhsNarrow ? 0 : 1;
    auto narrow = isLhsNarrow ? lhs : rhs;
    Type wide = narrow.clone((isLhsNarrow ? rhs : lhs).getElementType());
    Value converted = uls::ConvertOp::create(rewriter, op.getLoc(), wide, op->getOperand(index));
    rewriter.modifyOpInPlace(op, [&] { op->setOperand(index, converted); });
    return true;
  }

  static Value buildTranspose(PatternRewriter &rewriter, Location location, Value value,
                              StringRef from, StringRef to) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> permutation, shape;
    for (char letter : to) {
      permutation.push_back(from.find(letter));
      shape.push_back(type.getDimSize(permutation.back()));
    }
    return uls::TransposeOp::create(rewriter, location, type.clone(shape), value, permutation);
  }

  static void setEquation(uls::EinsumOp op, StringRef lhs, StringRef rhs, StringRef result) {
    op.setEquation((lhs + "," + rhs + "->" + result).str());
  }

  static LogicalResult transposeOperand(uls::EinsumOp op, PatternRewriter &rewriter, unsigned index,
                                        StringRef letters) {
    std::string from = (index == 0 ? op.getLhsLetters() : op.getRhsLetters()).str();
    Value transposed = buildTranspose(rewriter, op.getLoc(), op->getOperand(index), from, letters);
    rewriter.modifyOpInPlace(op, [&] {
      std::string lhs = op.getLhsLetters().str(), rhs = op.getRhsLetters().str();
      (index == 0 ? lhs : rhs) = letters.str();
      op->setOperand(index, transposed);
      setEquation(op, lhs, rhs, op.getResultLetters().str());
    });
    return success();
  }

  static LogicalResult transposeResult(uls::EinsumOp op, PatternRewriter &rewriter,
                                       StringRef letters) {
    SmallVector<int64_t> shape;
    for (char letter : letters)
      shape.push_back(op.getSize(letter));
    auto type = cast<RankedTensorType>(op.getType()).clone(shape);
    std::string equation = (op.getLhsLetters() + "," + op.getRhsLetters() + "->" + letters).str();
    Value product =
        uls::EinsumOp::create(rewriter, op.getLoc(), type, equation, op.getLhs(), op.getRhs());
    rewriter.replaceOp(
        op, buildTranspose(rewriter, op.getLoc(), product, letters, op.getResultLetters()));
    return success();
  }

  /// Where the one use adds the product to an accumulator of its type, the product adds to it
  /// itself.
  static uls::AccumulateOp getAccumulation(uls::EinsumOp op) {
    if (!op->hasOneUse())
      return {};
    auto accumulate = dyn_cast<uls::AccumulateOp>(*op->user_begin());
    if (!accumulate || accumulate.getAccumulator().getType() != op.getType() ||
        accumulate->getBlock() != op->getBlock())
      return {};
    return accumulate;
  }

  static LogicalResult buildContract(uls::EinsumOp op, PatternRewriter &rewriter,
                                     const Roles &roles, SmallVector<int64_t> a,
                                     SmallVector<int64_t> b, SmallVector<int64_t> c) {
    SmallVector<int64_t> sizes = {getGroupSize(roles.batch, op), getGroupSize(roles.m, op),
                                  getGroupSize(roles.n, op), getGroupSize(roles.k, op)};
    Value lhs = op.getLhs(), rhs = op.getRhs();
    // Row-major results: where rows of the result are the ones that lie together, the transposed
    // product is taken.
    if (c[1] == 1 && c[2] != 1 && sizes[1] > 1) {
      std::swap(lhs, rhs);
      std::swap(sizes[1], sizes[2]);
      std::swap(a, b);
      std::swap(a[1], a[2]);
      std::swap(b[1], b[2]);
      std::swap(c[1], c[2]);
    }
    uls::AccumulateOp accumulate = getAccumulation(op);
    if (accumulate && !isDefinedBefore(accumulate.getAccumulator(), op))
      rewriter.setInsertionPoint(accumulate);
    auto product =
        exec::ContractOp::create(rewriter, op.getLoc(), op.getType(), Type(), getName(op), lhs, rhs,
                                 accumulate ? accumulate.getAccumulator() : Value(), sizes, a, b, c,
                                 exec::EpilogueAttr(), Value());
    if (accumulate) {
      rewriter.replaceOp(accumulate, product.getResult());
      rewriter.eraseOp(op);
    } else {
      rewriter.replaceOp(op, product.getResult());
    }
    return success();
  }

  /// The source op's name in the model, or the equation.
  static StringAttr getName(uls::EinsumOp op) {
    if (auto name = op.getLoc()->findInstanceOf<NameLoc>())
      return name.getName();
    return op.getEquationAttr();
  }
};

/// Accumulating a concatenation of outermost parts accumulates the parts: products add to the
/// accumulator itself.
struct SplitAccumulateConcat : OpRewritePattern<uls::AccumulateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::AccumulateOp op, PatternRewriter &rewriter) const override {
    auto concat = op.getValue().getDefiningOp<uls::ConcatOp>();
    auto type = cast<RankedTensorType>(op.getType());
    if (!concat || !concat->hasOneUse() || !isOutermost(type, concat.getDim()))
      return failure();
    // All slices first: the whole accumulator is dead when the first part is added to.
    SmallVector<Value> slices, parts;
    int64_t offset = 0;
    for (Value input : concat.getInputs()) {
      auto part = type.clone(cast<RankedTensorType>(input.getType()).getShape());
      slices.push_back(uls::SliceOp::create(rewriter, op.getLoc(), part, op.getAccumulator(),
                                            concat.getDim(), offset));
      offset += part.getDimSize(concat.getDim());
    }
    for (auto [slice, input] : llvm::zip_equal(slices, concat.getInputs()))
      parts.push_back(
          uls::AccumulateOp::create(rewriter, op.getLoc(), slice.getType(), slice, input));
    rewriter.replaceOpWithNewOp<uls::ConcatOp>(op, type, parts, concat.getDim());
    rewriter.eraseOp(concat);
    return success();
  }
};

} // namespace

void lower::populateAccumulationPatterns(RewritePatternSet &patterns) {
  patterns.add<SplitAccumulateConcat>(patterns.getContext());
}

void lower::populateContractionPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeEinsum>(patterns.getContext());
}
