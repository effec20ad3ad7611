//===- DecomposeNorms.cpp - Normalisations and softmax to generics ----------------------------===//
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

/// The space of a row op: leading dimensions are rows, the last one is inside a row.
class RowSpace {
public:
  RowSpace(PatternRewriter &rewriter, Location location, Value like, StringRef source)
      : rewriter(rewriter), location(location), type(cast<RankedTensorType>(like.getType())),
        source(source) {}

  int64_t getColumns() const { return type.getShape().back(); }
  RankedTensorType getType() const { return type; }

  Operand whole(Value value) const { return {value, allDims(type.getContext(), type.getRank())}; }
  Operand perRow(Value value) const {
    return {value, leadingDims(type.getContext(), type.getRank(), type.getRank() - 1)};
  }
  Operand perColumn(Value value) const {
    return {value, lastDim(type.getContext(), type.getRank())};
  }

  /// One f32 per row.
  Value reduceRow(Combiner combiner, ArrayRef<Operand> operands, ElementBody body) const {
    SmallVector<bool> reduced(type.getRank(), false);
    reduced.back() = true;
    return buildReduction(rewriter, location, type.getShape(), reduced, combiner, operands, source,
                          body);
  }

  /// Sums over all rows, in `result`'s type.
  Value sumColumns(RankedTensorType result, ArrayRef<Operand> operands, ElementBody body) const {
    SmallVector<bool> reduced(type.getRank(), true);
    reduced.back() = false;
    Value sum = buildReduction(rewriter, location, type.getShape(), reduced, Combiner::Sum,
                               operands, source, body);
    if (sum.getType() == result)
      return sum;
    return uls::ConvertOp::create(rewriter, location, result, sum);
  }

  Value elementwise(ArrayRef<Operand> operands, ElementBody body) const {
    return buildElementwise(rewriter, location, type, operands, source, body);
  }

  /// A value per row from values per row.
  Value rowwise(ArrayRef<Value> values, ElementBody body) const {
    auto rows = RankedTensorType::get(type.getShape().drop_back(), rewriter.getF32Type());
    SmallVector<Operand> operands;
    for (Value value : values)
      operands.push_back({value, allDims(type.getContext(), rows.getRank())});
    return buildElementwise(rewriter, location, rows, operands, source, body);
  }

private:
  PatternRewriter &rewriter;
  Location location;
  RankedTensorType type;
  StringRef source;
};

Value add(OpBuilder &b, Location l, Value x, Value y) { return arith::AddFOp::create(b, l, x, y); }
Value sub(OpBuilder &b, Location l, Value x, Value y) { return arith::SubFOp::create(b, l, x, y); }
Value mul(OpBuilder &b, Location l, Value x, Value y) { return arith::MulFOp::create(b, l, x, y); }

/// rsqrt(sum / columns + epsilon).
Value buildRstd(const RowSpace &space, Value sum, double epsilon) {
  int64_t columns = space.getColumns();
  return space.rowwise({sum}, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
    Value mean = mul(b, l, v[0], f32Constant(b, l, 1.0 / columns));
    return math::RsqrtOp::create(b, l, add(b, l, mean, f32Constant(b, l, epsilon)));
  });
}

struct DecomposeRmsNorm : OpRewritePattern<uls::RmsNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::RmsNormOp op, PatternRewriter &rewriter) const override {
    RowSpace space(rewriter, op.getLoc(), op.getInput(), "rms_norm");
    Value x = op.getInput();
    Value sum = space.reduceRow(
        Combiner::Sum, {space.whole(x)},
        [](OpBuilder &b, Location l, ValueRange v) { return mul(b, l, v[0], v[0]); });
    Value rstd = buildRstd(space, sum, op.getEpsilon().convertToDouble());
    Value output =
        space.elementwise({space.whole(x), space.perRow(rstd), space.perColumn(op.getWeight())},
                          [](OpBuilder &b, Location l, ValueRange v) {
                            return mul(b, l, mul(b, l, v[0], v[1]), v[2]);
                          });
    rewriter.replaceOp(op, {output, rstd});
    return success();
  }
};

struct DecomposeRmsNormGrad : OpRewritePattern<uls::RmsNormGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::RmsNormGradOp op, PatternRewriter &rewriter) const override {
    RowSpace space(rewriter, op.getLoc(), op.getInput(), "rms_norm_grad");
    Operand x = space.whole(op.getInput()), dy = space.whole(op.getCotangent());
    Operand weight = space.perColumn(op.getWeight()), rstd = space.perRow(op.getRstd());
    int64_t columns = space.getColumns();
    // mean(g · n) without its division, then everything of a row at once.
    Value dot = space.reduceRow(Combiner::Sum, {x, dy, weight, rstd},
                                [](OpBuilder &b, Location l, ValueRange v) {
                                  return mul(b, l, mul(b, l, v[1], v[2]), mul(b, l, v[0], v[3]));
                                });
    Value dx = space.elementwise({x, dy, weight, rstd, space.perRow(dot)},
                                 [&](OpBuilder &b, Location l, ValueRange v) {
                                   Value mean = mul(b, l, v[4], f32Constant(b, l, 1.0 / columns));
                                   Value n = mul(b, l, v[0], v[3]), g = mul(b, l, v[1], v[2]);
                                   return mul(b, l, v[3], sub(b, l, g, mul(b, l, n, mean)));
                                 });
    Value dw = space.sumColumns(cast<RankedTensorType>(op.getWeightGrad().getType()), {x, dy, rstd},
                                [](OpBuilder &b, Location l, ValueRange v) {
                                  return mul(b, l, v[1], mul(b, l, v[0], v[2]));
                                });
    rewriter.replaceOp(op, {dx, dw});
    return success();
  }
};

struct DecomposeLayerNorm : OpRewritePattern<uls::LayerNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::LayerNormOp op, PatternRewriter &rewriter) const override {
    RowSpace space(rewriter, op.getLoc(), op.getInput(), "layer_norm");
    Operand x = space.whole(op.getInput());
    int64_t columns = space.getColumns();
    Value sum = space.reduceRow(Combiner::Sum, {x},
                                [](OpBuilder &, Location, ValueRange v) { return v[0]; });
    Value mean = space.rowwise({sum}, [&](OpBuilder &b, Location l, ValueRange v) {
      return mul(b, l, v[0], f32Constant(b, l, 1.0 / columns));
    });
    // The variance of what is centred first: no cancellation.
    Value square = space.reduceRow(Combiner::Sum, {x, space.perRow(mean)},
                                   [](OpBuilder &b, Location l, ValueRange v) {
                                     Value centred = sub(b, l, v[0], v[1]);
                                     return mul(b, l, centred, centred);
                                   });
    Value rstd = buildRstd(space, square, op.getEpsilon().convertToDouble());
    Value output =
        space.elementwise({x, space.perRow(mean), space.perRow(rstd),
                           space.perColumn(op.getWeight()), space.perColumn(op.getBias())},
                          [](OpBuilder &b, Location l, ValueRange v) {
                            Value n = mul(b, l, sub(b, l, v[0], v[1]), v[2]);
                            return add(b, l, mul(b, l, n, v[3]), v[4]);
                          });
    rewriter.replaceOp(op, {output, mean, rstd});
    return success();
  }
};

struct DecomposeLayerNormGrad : OpRewritePattern<uls::LayerNormGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::LayerNormGradOp op, PatternRewriter &rewriter) const override {
    RowSpace space(rewriter, op.getLoc(), op.getInput(), "layer_norm_grad");
    Operand x = space.whole(op.getInput()), dy = space.whole(op.getCotangent());
    Operand weight = space.perColumn(op.getWeight());
    Operand mean = space.perRow(op.getMean()), rstd = space.perRow(op.getRstd());
    int64_t columns = space.getColumns();
    auto normal = [](OpBuilder &b, Location l, Value x, Value mean, Value rstd) {
      return mul(b, l, sub(b, l, x, mean), rstd);
    };
    Value sum =
        space.reduceRow(Combiner::Sum, {dy, weight}, [](OpBuilder &b, Location l, ValueRange v) {
          return mul(b, l, v[0], v[1]);
        });
    Value dot = space.reduceRow(
        Combiner::Sum, {dy, weight, x, mean, rstd}, [&](OpBuilder &b, Location l, ValueRange v) {
          return mul(b, l, mul(b, l, v[0], v[1]), normal(b, l, v[2], v[3], v[4]));
        });
    Value dx = space.elementwise(
        {dy, weight, x, mean, rstd, space.perRow(sum), space.perRow(dot)},
        [&](OpBuilder &b, Location l, ValueRange v) {
          Value inverse = f32Constant(b, l, 1.0 / columns);
          Value g = mul(b, l, v[0], v[1]), n = normal(b, l, v[2], v[3], v[4]);
          Value centred = sub(b, l, g, mul(b, l, v[5], inverse));
          return mul(b, l, v[4], sub(b, l, centred, mul(b, l, n, mul(b, l, v[6], inverse))));
        });
    auto parameter = cast<RankedTensorType>(op.getWeightGrad().getType());
    Value dw = space.sumColumns(parameter, {dy, x, mean, rstd},
                                [&](OpBuilder &b, Location l, ValueRange v) {
                                  return mul(b, l, v[0], normal(b, l, v[1], v[2], v[3]));
                                });
    Value db =
        space.sumColumns(parameter, {dy}, [](OpBuilder &, Location, ValueRange v) { return v[0]; });
    rewriter.replaceOp(op, {dx, dw, db});
    return success();
  }
};

struct DecomposeSoftmax : OpRewritePattern<uls::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::SoftmaxOp op, PatternRewriter &rewriter) const override {
    RowSpace space(rewriter, op.getLoc(), op.getInput(), "softmax");
    Operand x = space.whole(op.getInput());
    Value max = space.reduceRow(Combiner::Max, {x},
                                [](OpBuilder &, Location, ValueRange v) { return v[0]; });
    // A row that is -inf throughout: subtract 0 instead, so that all its exponentials are 0.
    Value shift = space.rowwise({max}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
      Value lowest = f32Constant(b, l, -std::numeric_limits<double>::infinity());
      Value masked = arith::CmpFOp::create(b, l, arith::CmpFPredicate::OEQ, v[0], lowest);
      return arith::SelectOp::create(b, l, masked, f32Constant(b, l, 0.0), v[0]);
    });
    auto wide = RankedTensorType::get(space.getType().getShape(), rewriter.getF32Type());
    Value e = buildElementwise(rewriter, op.getLoc(), wide, {x, space.perRow(shift)}, "softmax",
                               [](OpBuilder &b, Location l, ValueRange v) -> Value {
                                 return math::ExpOp::create(b, l, sub(b, l, v[0], v[1]));
                               });
    Value sum = space.reduceRow(Combiner::Sum, {space.whole(e)},
                                [](OpBuilder &, Location, ValueRange v) { return v[0]; });
    Value scale = space.rowwise({sum}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
      Value zero = f32Constant(b, l, 0.0), one = f32Constant(b, l, 1.0);
      Value empty = arith::CmpFOp::create(b, l, arith::CmpFPredicate::OEQ, v[0], zero);
      return arith::DivFOp::create(b, l, one, arith::SelectOp::create(b, l, empty, one, v[0]));
    });
    Value y = space.elementwise(
        {space.whole(e), space.perRow(scale)},
        [](OpBuilder &b, Location l, ValueRange v) { return mul(b, l, v[0], v[1]); });
    rewriter.replaceOp(op, y);
    return success();
  }
};

struct DecomposeSoftmaxGrad : OpRewritePattern<uls::SoftmaxGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::SoftmaxGradOp op, PatternRewriter &rewriter) const override {
    RowSpace space(rewriter, op.getLoc(), op.getResult(), "softmax_grad");
    Operand y = space.whole(op.getResult()), dy = space.whole(op.getCotangent());
    Value dot = space.reduceRow(Combiner::Sum, {y, dy}, [](OpBuilder &b, Location l, ValueRange v) {
      return mul(b, l, v[0], v[1]);
    });
    Value dx =
        space.elementwise({y, dy, space.perRow(dot)}, [](OpBuilder &b, Location l, ValueRange v) {
          return mul(b, l, v[0], sub(b, l, v[1], v[2]));
        });
    rewriter.replaceOp(op, dx);
    return success();
  }
};

} // namespace

void lower::populateNormPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeRmsNorm, DecomposeRmsNormGrad, DecomposeLayerNorm, DecomposeLayerNormGrad,
               DecomposeSoftmax, DecomposeSoftmaxGrad>(patterns.getContext());
}
