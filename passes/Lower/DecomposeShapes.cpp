//===- DecomposeShapes.cpp - Reductions and changes of shape to generics ----------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"
#include "passes/Lower/DecomposePatterns.h"
#include "passes/Lower/GenericOps.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

namespace {

Value asIndex(OpBuilder &b, Location l, Value value) {
  return arith::IndexCastOp::create(b, l, b.getIndexType(), value);
}

struct DecomposeReduce : OpRewritePattern<uls::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(uls::ReduceOp op, PatternRewriter &rewriter) const override {
    auto input = cast<RankedTensorType>(op.getInput().getType());
    Combiner combiner = op.getKind() == uls::ReduceKind::Sum ? Combiner::Sum : Combiner::Max;
    auto element = [](OpBuilder &, Location, ValueRange v) { return v[0]; };
    Value result;
    if (static_cast<int64_t>(op.getDims().size()) == input.getRank()) {
      result = buildFullReduction(rewriter, op.getLoc(), input.getNumElements(), combiner,
                                  {op.getInput()}, "reduce", element);
    } else {
      SmallVector<int64_t> order = getLoopOrder(op);
      result = buildLoops(rewriter, op, order, combiner, element);
    }
    if (result.getType() != op.getType())
      result = uls::ConvertOp::create(rewriter, op.getLoc(), op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  /// Dimensions of the operand in the order of the loops: as they are where the leading ones are
  /// reduced (a kernel of kind columns), else kept ones first (rows).
  static SmallVector<int64_t> getLoopOrder(uls::ReduceOp op) {
    auto input = cast<RankedTensorType>(op.getInput().getType());
    auto isReduced = [&](int64_t dim) { return llvm::is_contained(op.getDims(), dim); };
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, input.getRank()));
    int64_t count = op.getDims().size();
    if (llvm::all_of(llvm::seq<int64_t>(0, count), isReduced))
      return order;
    llvm::stable_sort(order, [&](int64_t a, int64_t b) { return isReduced(a) < isReduced(b); });
    return order;
  }

  static Value buildLoops(PatternRewriter &rewriter, uls::ReduceOp op, ArrayRef<int64_t> order,
                          Combiner combiner, ElementBody element) {
    auto input = cast<RankedTensorType>(op.getInput().getType());
    SmallVector<int64_t> sizes, loopOfDim(order.size());
    SmallVector<bool> reduced;
    for (auto [loop, dim] : llvm::enumerate(order)) {
      sizes.push_back(input.getDimSize(dim));
      reduced.push_back(llvm::is_contained(op.getDims(), dim));
      loopOfDim[dim] = loop;
    }
    AffineMap map = someDims(rewriter.getContext(), order.size(), loopOfDim);
    return buildReduction(rewriter, op.getLoc(), sizes, reduced, combiner, {{op.getInput(), map}},
                          "reduce", element);
  }
};

/// `cotangent` at the first element of each group that is its maximum. Groups become rows; the
/// first such column is found by a maximum over negated columns, which f32 holds exactly.
struct DecomposeReduceMaxGrad : OpRewritePattern<uls::ReduceMaxGradOp> {
  using OpRewritePattern::OpRewritePattern;
  static constexpr int64_t kMostColumns = int64_t(1) << 24;

  LogicalResult matchAndRewrite(uls::ReduceMaxGradOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    SmallVector<int64_t> order, shape, inverse(type.getRank());
    for (bool isReduced : {false, true})
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (llvm::is_contained(op.getDims(), dim) == isReduced) {
          inverse[dim] = order.size();
          order.push_back(dim);
          shape.push_back(type.getDimSize(dim));
        }
    int64_t rows = cast<RankedTensorType>(op.getMax().getType()).getNumElements(),
            columns = type.getNumElements() / rows;
    if (columns > kMostColumns)
      return rewriter.notifyMatchFailure(op, "has too many elements in a group");
    Location location = op.getLoc();
    Value input =
        uls::TransposeOp::create(rewriter, location, type.clone(shape), op.getInput(), order);
    Value result =
        buildGradient(rewriter, location, buildReshape(rewriter, location, input, {rows, columns}),
                      buildReshape(rewriter, location, op.getMax(), {rows}),
                      buildReshape(rewriter, location, op.getCotangent(), {rows}));
    result = buildReshape(rewriter, location, result, shape);
    rewriter.replaceOpWithNewOp<uls::TransposeOp>(op, type, result, inverse);
    return success();
  }

private:
  static Value negatedColumn(OpBuilder &b, Location l) {
    Value column = linalg::IndexOp::create(b, l, 1);
    column = arith::IndexCastOp::create(b, l, b.getI64Type(), column);
    return arith::NegFOp::create(b, l, convertElement(b, l, column, b.getF32Type()));
  }

  static Value buildGradient(OpBuilder &builder, Location location, Value input, Value max,
                             Value cotangent) {
    MLIRContext *context = builder.getContext();
    auto type = cast<RankedTensorType>(input.getType());
    AffineMap all = allDims(context, 2), row = leadingDims(context, 2, 1);
    auto isEqual = [](OpBuilder &b, Location l, Value x, Value y) -> Value {
      return arith::CmpFOp::create(b, l, arith::CmpFPredicate::OEQ, x, y);
    };
    Value first = buildReduction(builder, location, type.getShape(), {false, true}, Combiner::Max,
                                 {{input, all}, {max, row}}, "reduce_max_grad",
                                 [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                                   Value none =
                                       f32Constant(b, l, -std::numeric_limits<double>::infinity());
                                   return arith::SelectOp::create(b, l, isEqual(b, l, v[0], v[1]),
                                                                  negatedColumn(b, l), none);
                                 });
    return buildElementwise(
        builder, location, type, {{first, row}, {cotangent, row}}, "reduce_max_grad",
        [&](OpBuilder &b, Location l, ValueRange v) -> Value {
          Value isFirst = isEqual(b, l, negatedColumn(b, l), v[0]);
          return arith::SelectOp::create(b, l, isFirst, v[1], f32Constant(b, l, 0));
        });
  }
};

struct DecomposeBroadcast : OpRewritePattern<uls::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::BroadcastOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    AffineMap map = someDims(getContext(), type.getRank(), op.getDims());
    rewriter.replaceOp(
        op, buildElementwise(rewriter, op.getLoc(), type, {{op.getInput(), map}}, "broadcast",
                             [](OpBuilder &, Location, ValueRange v) { return v[0]; }));
    return success();
  }
};

struct DecomposeTranspose : OpRewritePattern<uls::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::TransposeOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    auto input = cast<RankedTensorType>(op.getInput().getType());
    // A permutation that moves only dimensions of size 1 is a view.
    SmallVector<int64_t> moved;
    for (int64_t dim : op.getPermutation())
      if (input.getDimSize(dim) != 1)
        moved.push_back(dim);
    if (llvm::is_sorted(moved)) {
      rewriter.replaceOp(op, buildReshape(rewriter, op.getLoc(), op.getInput(), type.getShape()));
      return success();
    }
    SmallVector<int64_t> loopOfDim(type.getRank());
    for (auto [loop, dim] : llvm::enumerate(op.getPermutation()))
      loopOfDim[dim] = loop;
    AffineMap map = someDims(getContext(), type.getRank(), loopOfDim);
    rewriter.replaceOp(
        op, buildElementwise(rewriter, op.getLoc(), type, {{op.getInput(), map}}, "transpose",
                             [](OpBuilder &, Location, ValueRange v) { return v[0]; }));
    return success();
  }
};

/// The elements of `input` from index `low` along `dim` on. Read by index: a shifted map would
/// claim the operand's whole dimension.
Value buildSlice(OpBuilder &builder, Location location, RankedTensorType type, Value input,
                 int64_t dim, StringRef source, function_ref<Value(OpBuilder &)> low) {
  return buildElementwise(
      builder, location, type, {}, source, [&](OpBuilder &b, Location l, ValueRange) -> Value {
        SmallVector<Value> indices;
        for (int64_t i = 0; i < type.getRank(); ++i)
          indices.push_back(linalg::IndexOp::create(b, l, i));
        indices[dim] = arith::AddIOp::create(b, l, indices[dim], low(b));
        Value element = tensor::ExtractOp::create(b, l, input, indices);
        return convertElement(b, l, element, getComputeType(type.getElementType()));
      });
}

/// Contiguous slices and concatenations stay: they are views.
struct DecomposeSlice : OpRewritePattern<uls::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::SliceOp op, PatternRewriter &rewriter) const override {
    if (isOutermost(cast<RankedTensorType>(op.getInput().getType()), op.getDim()))
      return failure();
    auto low = [&](OpBuilder &b) -> Value {
      return arith::ConstantOp::create(b, op.getLoc(), b.getIndexAttr(op.getOffset()));
    };
    rewriter.replaceOp(op, buildSlice(rewriter, op.getLoc(), cast<RankedTensorType>(op.getType()),
                                      op.getInput(), op.getDim(), "slice", low));
    return success();
  }
};

struct DecomposeLocalSlice : OpRewritePattern<dist::LocalSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dist::LocalSliceOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getOutput().getType());
    auto axes = llvm::to_vector(op.getAxes().getAsRange<StringAttr>());
    Value position = buildPosition(rewriter, op.getLoc(), op.getMeshAttr(), axes);
    auto low = [&](OpBuilder &b) -> Value {
      Value size = i64Constant(b, op.getLoc(), type.getDimSize(op.getDim()));
      return asIndex(b, op.getLoc(), arith::MulIOp::create(b, op.getLoc(), position, size));
    };
    rewriter.replaceOp(op, buildSlice(rewriter, op.getLoc(), type, op.getInput(), op.getDim(),
                                      "local_slice", low));
    return success();
  }
};

/// Reads element `indices` of `tensor` with the index along `dim` less `low`, where that exists,
/// else `other`.
Value buildClampedRead(OpBuilder &b, Location l, Value tensor, int64_t dim, int64_t low,
                       Value other) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<Value> indices;
  for (int64_t i = 0; i < type.getRank(); ++i)
    indices.push_back(linalg::IndexOp::create(b, l, i));
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(b, l, b.getIndexAttr(v));
  };
  Value at = arith::SubIOp::create(b, l, indices[dim], constant(low));
  Value inside =
      arith::CmpIOp::create(b, l, arith::CmpIPredicate::ult, at, constant(type.getDimSize(dim)));
  indices[dim] = arith::SelectOp::create(b, l, inside, at, constant(0));
  Value element = tensor::ExtractOp::create(b, l, tensor, indices);
  element = convertElement(b, l, element, getComputeType(type.getElementType()));
  return arith::SelectOp::create(b, l, inside, element, other);
}

struct DecomposePad : OpRewritePattern<uls::PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::PadOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    rewriter.replaceOp(
        op, buildElementwise(rewriter, op.getLoc(), type, {}, "pad",
                             [&](OpBuilder &b, Location l, ValueRange) -> Value {
                               Value zero = arith::ConstantOp::create(
                                   b, l, b.getZeroAttr(getComputeType(type.getElementType())));
                               return buildClampedRead(b, l, op.getInput(), op.getDim(),
                                                       op.getLow(), zero);
                             }));
    return success();
  }
};

struct DecomposeConcat : OpRewritePattern<uls::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::ConcatOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (isOutermost(type, op.getDim()))
      return failure();
    rewriter.replaceOp(
        op,
        buildElementwise(rewriter, op.getLoc(), type, {}, "concat",
                         [&](OpBuilder &b, Location l, ValueRange) -> Value {
                           Value element = arith::ConstantOp::create(
                               b, l, b.getZeroAttr(getComputeType(type.getElementType())));
                           int64_t low = 0;
                           for (Value input : op.getInputs()) {
                             element = buildClampedRead(b, l, input, op.getDim(), low, element);
                             low += cast<RankedTensorType>(input.getType()).getDimSize(op.getDim());
                           }
                           return element;
                         }));
    return success();
  }
};

struct DecomposeIota : OpRewritePattern<uls::IotaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::IotaOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    Value offset = buildShardOffset(rewriter, op.getLoc(), op.getShardAttr(), op.getDim(),
                                    type.getDimSize(op.getDim()));
    rewriter.replaceOp(
        op, buildElementwise(rewriter, op.getLoc(), type, {}, "iota",
                             [&](OpBuilder &b, Location l, ValueRange) -> Value {
                               Value index = linalg::IndexOp::create(b, l, op.getDim());
                               index = arith::IndexCastOp::create(b, l, b.getI64Type(), index);
                               if (offset)
                                 index = arith::AddIOp::create(b, l, index, offset);
                               return convertElement(b, l, index,
                                                     getComputeType(type.getElementType()));
                             }));
    return success();
  }
};

struct DecomposeAxisIndex : OpRewritePattern<dist::AxisIndexOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dist::AxisIndexOp op, PatternRewriter &rewriter) const override {
    auto axes = llvm::to_vector(op.getAxes().getAsRange<StringAttr>());
    Value position = buildPosition(rewriter, op.getLoc(), op.getMeshAttr(), axes);
    if (!position)
      position = i64Constant(rewriter, op.getLoc(), 0);
    auto type = cast<RankedTensorType>(op.getPosition().getType());
    rewriter.replaceOp(
        op, buildElementwise(rewriter, op.getLoc(), type, {}, "axis_index",
                             [&](OpBuilder &, Location, ValueRange) { return position; }));
    return success();
  }
};

} // namespace

void lower::populateShapePatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeReduce, DecomposeReduceMaxGrad, DecomposeBroadcast, DecomposeTranspose,
               DecomposeSlice, DecomposePad, DecomposeConcat, DecomposeIota, DecomposeLocalSlice,
               DecomposeAxisIndex>(patterns.getContext());
}
