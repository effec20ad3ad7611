//===- UlsFolds.cpp - Folds and canonical forms of the uls ops --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ulsc::uls;

static RankedTensorType typeOf(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

/// Whether every value of `narrow` is one of `wide`.
static bool contains(FloatType wide, FloatType narrow) {
  return llvm::APFloat::isRepresentableBy(narrow.getFloatSemantics(), wide.getFloatSemantics());
}

/// A conversion to the same type, or there and back through a wider one.
OpFoldResult ConvertOp::fold(FoldAdaptor) {
  if (getInput().getType() == getOutput().getType())
    return getInput();
  auto inner = getInput().getDefiningOp<ConvertOp>();
  if (!inner || inner.getInput().getType() != getOutput().getType())
    return {};
  auto wide = llvm::dyn_cast<FloatType>(typeOf(getInput()).getElementType());
  auto narrow = llvm::dyn_cast<FloatType>(typeOf(getOutput()).getElementType());
  return wide && narrow && contains(wide, narrow) ? inner.getInput() : Value();
}

/// Whether an elementwise op's constant operand is `value` throughout.
static bool isSplat(Attribute attr, double value) {
  auto elements = llvm::dyn_cast_or_null<DenseElementsAttr>(attr);
  return elements && elements.isSplat() && llvm::isa<FloatType>(elements.getElementType()) &&
         elements.getSplatValue<APFloat>().isExactlyValue(value);
}

/// The other operand when one is `neutral`, unless that one gave the result its shape.
template <typename Op, typename Adaptor>
static OpFoldResult foldNeutral(Op op, Adaptor adaptor, double neutral) {
  if (isSplat(adaptor.getRhs(), neutral) && op.getLhs().getType() == op.getType())
    return op.getLhs();
  if (isSplat(adaptor.getLhs(), neutral) && op.getRhs().getType() == op.getType())
    return op.getRhs();
  return {};
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) { return foldNeutral(*this, adaptor, 0.0); }
OpFoldResult MulOp::fold(FoldAdaptor adaptor) { return foldNeutral(*this, adaptor, 1.0); }

//===---------------------------------------------------------------------------------------===//
// Changes of shape
//===---------------------------------------------------------------------------------------===//

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  return getDims().empty() && getInput().getType() == getType() ? getInput() : Value();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : Value();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getPermutation().size())))
    return getInput();
  if (auto inner = getInput().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t dim : getPermutation())
      composed.push_back(inner.getPermutation()[dim]);
    setPermutation(composed);
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return {};
}

/// All of a value, exactly what a pad enclosed, or exactly one part of a concatenation.
OpFoldResult SliceOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto pad = getInput().getDefiningOp<PadOp>();
  if (pad && pad.getDim() == getDim() && pad.getLow() == getOffset() &&
      pad.getInput().getType() == getType())
    return pad.getInput();
  auto concat = getInput().getDefiningOp<ConcatOp>();
  if (!concat || concat.getDim() != getDim())
    return {};
  int64_t offset = 0;
  for (Value part : concat.getInputs()) {
    if (offset == int64_t(getOffset()) && part.getType() == getType())
      return part;
    offset += typeOf(part).getDimSize(getDim());
  }
  return {};
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : Value();
}

/// One operand, or slices that put a value together again.
OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1)
    return getInputs()[0];
  Value whole;
  int64_t offset = 0;
  for (Value part : getInputs()) {
    auto slice = part.getDefiningOp<SliceOp>();
    if (!slice || slice.getDim() != getDim() || int64_t(slice.getOffset()) != offset ||
        (whole && slice.getInput() != whole))
      return {};
    whole = slice.getInput();
    offset += typeOf(part).getDimSize(getDim());
  }
  return whole.getType() == getType() ? whole : Value();
}

namespace {
/// A sum of pads that tile a dimension is a concatenation. So the cotangent of a fused weight,
/// whose slices are used apart, is put together once instead of being added up from padded copies.
struct PadsToConcat : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp root, PatternRewriter &rewriter) const override {
    // Only the outermost addition knows all parts.
    if (root->hasOneUse() && llvm::isa<AddOp>(*root->getUsers().begin()))
      return failure();
    SmallVector<PadOp> pads;
    if (!collect(root.getLhs(), pads) || !collect(root.getRhs(), pads))
      return failure();
    llvm::sort(pads, [](PadOp a, PadOp b) { return a.getLow() < b.getLow(); });
    int64_t dim = pads.front().getDim(), offset = 0;
    SmallVector<Value> parts;
    for (PadOp pad : pads) {
      if (int64_t(pad.getDim()) != dim || int64_t(pad.getLow()) != offset ||
          pad.getType() != root.getType())
        return failure();
      parts.push_back(pad.getInput());
      offset += typeOf(pad.getInput()).getDimSize(dim);
    }
    if (offset != typeOf(root.getResult()).getDimSize(dim))
      return failure();
    rewriter.replaceOpWithNewOp<ConcatOp>(root, root.getType(), parts, dim);
    return success();
  }

  static bool collect(Value value, SmallVectorImpl<PadOp> &pads) {
    if (auto pad = value.getDefiningOp<PadOp>()) {
      pads.push_back(pad);
      return true;
    }
    auto add = value.getDefiningOp<AddOp>();
    return add && add->hasOneUse() && collect(add.getLhs(), pads) && collect(add.getRhs(), pads);
  }
};
} // namespace

void AddOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<PadsToConcat>(context);
}
