//===- DecomposeContractions.cpp - Einsum to strided matrix products --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/ContractionShape.h"
#include "passes/Lower/DecomposePatterns.h"
#include "passes/Lower/GenericOps.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

namespace {

struct DecomposeEinsum : OpRewritePattern<uls::EinsumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(uls::EinsumOp op, PatternRewriter &rewriter) const override {
    if (unifyTypes(op, rewriter))
      return success();
    // The groups' order follows the result; where an operand disagrees, it is transposed to fit and
    // tried again.
    ContractionShape shape(op);
    const ContractionLetters &letters = shape.letters;
    if (!shape.lhs)
      return transposeOperand(op, rewriter, 0, letters.batch + letters.m + letters.k);
    if (!shape.rhs)
      return transposeOperand(op, rewriter, 1, letters.batch + letters.k + letters.n);
    if (!shape.result)
      return transposeResult(op, rewriter, letters.batch + letters.m + letters.n);
    return buildContract(op, rewriter, shape.getForm());
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

  static LogicalResult buildContract(uls::EinsumOp op, PatternRewriter &rewriter,
                                     const ContractionForm &form) {
    uls::AccumulateOp accumulate = getAccumulation(op);
    if (accumulate && !isDefinedBefore(accumulate.getAccumulator(), op))
      rewriter.setInsertionPoint(accumulate);
    auto product = exec::ContractOp::create(
        rewriter, op.getLoc(), op.getType(), Type(), getContractionName(op), form.a, form.b,
        accumulate ? accumulate.getAccumulator() : Value(), form.sizes, form.aStrides,
        form.bStrides, form.cStrides, exec::EpilogueAttr(), Value());
    if (accumulate) {
      rewriter.replaceOp(accumulate, product.getResult());
      rewriter.eraseOp(op);
    } else {
      rewriter.replaceOp(op, product.getResult());
    }
    return success();
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
