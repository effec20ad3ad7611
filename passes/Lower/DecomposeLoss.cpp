//===- DecomposeLoss.cpp - Cross-entropy to generics ------------------------------------------===//
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

/// A block of logits: rows, and columns that are a part of the padded vocabulary.
class LogitsSpace {
public:
  LogitsSpace(PatternRewriter &rewriter, Location location, Value logits, int64_t vocabulary,
              dist::ShardAttr shard)
      : rewriter(rewriter), location(location), logits(logits),
        type(cast<RankedTensorType>(logits.getType())), vocabulary(vocabulary) {
    int64_t last = type.getRank() - 1;
    offset = buildShardOffset(rewriter, location, shard, last, type.getDimSize(last));
    int64_t columns = shard ? shard.getGlobalShape().back() : type.getDimSize(last);
    isPadded = vocabulary < columns;
  }

  Operand whole() const { return {logits, allDims(type.getContext(), type.getRank())}; }
  Operand perRow(Value value) const {
    return {value, leadingDims(type.getContext(), type.getRank(), type.getRank() - 1)};
  }
  RankedTensorType getType() const { return type; }
  RankedTensorType getRowType() const {
    return RankedTensorType::get(type.getShape().drop_back(), rewriter.getF32Type());
  }

  /// Global column of the element, i64, in the body of a generic.
  Value buildColumn(OpBuilder &b, Location l) const {
    Value column = arith::IndexCastOp::create(b, l, b.getI64Type(),
                                              linalg::IndexOp::create(b, l, type.getRank() - 1));
    return offset ? Value(arith::AddIOp::create(b, l, column, offset)) : column;
  }
  /// `value`, or `other` in padding columns.
  Value buildUnpadded(OpBuilder &b, Location l, Value value, double other) const {
    if (!isPadded)
      return value;
    Value inside = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, buildColumn(b, l),
                                         i64Constant(b, l, vocabulary));
    return arith::SelectOp::create(b, l, inside, value, f32Constant(b, l, other));
  }

  Value buildMax() const {
    return reduce(Combiner::Max, {whole()}, [&](OpBuilder &b, Location l, ValueRange v) {
      return buildUnpadded(b, l, v[0], -std::numeric_limits<double>::infinity());
    });
  }
  Value buildExpSum(Value max) const {
    return reduce(Combiner::Sum, {whole(), perRow(max)},
                  [&](OpBuilder &b, Location l, ValueRange v) {
                    Value e = math::ExpOp::create(b, l, arith::SubFOp::create(b, l, v[0], v[1]));
                    return buildUnpadded(b, l, e, 0.0);
                  });
  }

  /// The logit at the row's target, 0 where another rank has it or there is none.
  Value buildTargetLogit(Value targets) const {
    unsigned rows = type.getRank() - 1;
    Value source = logits;
    return buildElementwise(
        rewriter, location, getRowType(), {{targets, allDims(type.getContext(), rows)}},
        "cross_entropy", [&](OpBuilder &b, Location l, ValueRange v) -> Value {
          Value column = convertElement(b, l, v[0], b.getI64Type());
          if (offset)
            column = arith::SubIOp::create(b, l, column, offset);
          // As unsigned, a negative column lies past the end, too.
          Value size = i64Constant(b, l, type.getDimSize(rows)), zero = i64Constant(b, l, 0);
          Value inside = arith::CmpIOp::create(b, l, arith::CmpIPredicate::ult, column, size);
          Value safe = arith::SelectOp::create(b, l, inside, column, zero);
          SmallVector<Value> indices;
          for (unsigned i = 0; i < rows; ++i)
            indices.push_back(linalg::IndexOp::create(b, l, i));
          indices.push_back(arith::IndexCastOp::create(b, l, b.getIndexType(), safe));
          Value logit = tensor::ExtractOp::create(b, l, source, indices);
          logit = convertElement(b, l, logit, b.getF32Type());
          return arith::SelectOp::create(b, l, inside, logit, f32Constant(b, l, 0.0));
        });
  }

private:
  Value reduce(Combiner combiner, ArrayRef<Operand> operands, ElementBody body) const {
    SmallVector<bool> reduced(type.getRank(), false);
    reduced.back() = true;
    return buildReduction(rewriter, location, type.getShape(), reduced, combiner, operands,
                          "cross_entropy", body);
  }

  PatternRewriter &rewriter;
  Location location;
  Value logits;
  RankedTensorType type;
  int64_t vocabulary;
  Value offset;
  bool isPadded;
};

/// Loss and log-sum-exp of each row from its statistics.
std::pair<Value, Value> buildLoss(PatternRewriter &rewriter, Location location, Value max,
                                  Value sum, Value targetLogit, Value targets) {
  auto type = cast<RankedTensorType>(max.getType());
  auto map = allDims(type.getContext(), type.getRank());
  Value lse =
      buildElementwise(rewriter, location, type, {{max, map}, {sum, map}}, "cross_entropy",
                       [](OpBuilder &b, Location l, ValueRange v) -> Value {
                         return arith::AddFOp::create(b, l, v[0], math::LogOp::create(b, l, v[1]));
                       });
  Value loss = buildElementwise(
      rewriter, location, type, {{lse, map}, {targetLogit, map}, {targets, map}}, "cross_entropy",
      [](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value none = arith::ConstantOp::create(b, l, b.getIntegerAttr(v[2].getType(), 0));
        Value valid = arith::CmpIOp::create(b, l, arith::CmpIPredicate::sge, v[2], none);
        Value difference = arith::SubFOp::create(b, l, v[0], v[1]);
        return arith::SelectOp::create(b, l, valid, difference, f32Constant(b, l, 0.0));
      });
  return {loss, lse};
}

struct DecomposeCrossEntropy : OpRewritePattern<uls::CrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::CrossEntropyOp op, PatternRewriter &rewriter) const override {
    LogitsSpace space(rewriter, op.getLoc(), op.getLogits(), op.getVocabulary(), {});
    Value max = space.buildMax(), sum = space.buildExpSum(max);
    Value logit = space.buildTargetLogit(op.getTargets());
    auto [loss, lse] = buildLoss(rewriter, op.getLoc(), max, sum, logit, op.getTargets());
    rewriter.replaceOp(op, {loss, lse});
    return success();
  }
};

struct DecomposeCrossEntropyGrad : OpRewritePattern<uls::CrossEntropyGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::CrossEntropyGradOp op,
                                PatternRewriter &rewriter) const override {
    LogitsSpace space(rewriter, op.getLoc(), op.getLogits(), op.getVocabulary(), op.getShardAttr());
    Value grad = buildElementwise(
        rewriter, op.getLoc(), space.getType(),
        {space.whole(), space.perRow(op.getTargets()), space.perRow(op.getLse()),
         space.perRow(op.getCotangent())},
        "cross_entropy_grad", [&](OpBuilder &b, Location l, ValueRange v) -> Value {
          Value target = convertElement(b, l, v[1], b.getI64Type());
          Value p = math::ExpOp::create(b, l, arith::SubFOp::create(b, l, v[0], v[2]));
          Value hit = arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, space.buildColumn(b, l),
                                            target);
          Value zero = f32Constant(b, l, 0.0), one = f32Constant(b, l, 1.0);
          p = arith::SubFOp::create(b, l, p, arith::SelectOp::create(b, l, hit, one, zero));
          p = arith::MulFOp::create(b, l, p, v[3]);
          Value valid =
              arith::CmpIOp::create(b, l, arith::CmpIPredicate::sge, target, i64Constant(b, l, 0));
          return space.buildUnpadded(b, l, arith::SelectOp::create(b, l, valid, p, zero), 0.0);
        });
    rewriter.replaceOp(op, grad);
    return success();
  }
};

struct DecomposeLogitsMax : OpRewritePattern<uls::LogitsMaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::LogitsMaxOp op, PatternRewriter &rewriter) const override {
    LogitsSpace space(rewriter, op.getLoc(), op.getLogits(), op.getVocabulary(), op.getShardAttr());
    rewriter.replaceOp(op, space.buildMax());
    return success();
  }
};

struct DecomposeLogitsSums : OpRewritePattern<uls::LogitsSumsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::LogitsSumsOp op, PatternRewriter &rewriter) const override {
    LogitsSpace space(rewriter, op.getLoc(), op.getLogits(), op.getVocabulary(), op.getShardAttr());
    Value sum = space.buildExpSum(op.getMax());
    rewriter.replaceOp(op, {sum, space.buildTargetLogit(op.getTargets())});
    return success();
  }
};

struct DecomposeLogitsLoss : OpRewritePattern<uls::LogitsLossOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::LogitsLossOp op, PatternRewriter &rewriter) const override {
    auto [loss, lse] = buildLoss(rewriter, op.getLoc(), op.getMax(), op.getExpSum(),
                                 op.getTargetLogit(), op.getTargets());
    rewriter.replaceOp(op, {loss, lse});
    return success();
  }
};

} // namespace

void lower::populateLossPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeCrossEntropy, DecomposeCrossEntropyGrad, DecomposeLogitsMax,
               DecomposeLogitsSums, DecomposeLogitsLoss>(patterns.getContext());
}
