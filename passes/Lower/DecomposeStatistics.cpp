//===- DecomposeStatistics.cpp - Counts and sums of squares of the step -----------------------===//
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

struct DecomposeCountValid : OpRewritePattern<uls::CountValidOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::CountValidOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getTargets().getType());
    Value count = buildFullReduction(
        rewriter, op.getLoc(), type.getNumElements(), Combiner::Sum, {op.getTargets()},
        "count_valid", [](OpBuilder &b, Location l, ValueRange v) -> Value {
          Value none = arith::ConstantOp::create(b, l, b.getIntegerAttr(v[0].getType(), 0));
          Value valid = arith::CmpIOp::create(b, l, arith::CmpIPredicate::sge, v[0], none);
          return arith::SelectOp::create(b, l, valid, f32Constant(b, l, 1.0),
                                         f32Constant(b, l, 0.0));
        });
    rewriter.replaceOp(op, count);
    return success();
  }
};

/// Rows of at most this many elements are summed by one thread each, then the rows' sums: the
/// result doesn't depend on threads, and no sum in f32 is long.
constexpr int64_t kLargestRow = 16384;

/// The largest divisor of `count` up to kLargestRow.
int64_t chooseRowSize(int64_t count) {
  for (int64_t size = std::min(count, kLargestRow); size > 1; --size)
    if (count % size == 0)
      return size;
  return 1;
}

struct DecomposeSquareSum : OpRewritePattern<uls::SquareSumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(uls::SquareSumOp op, PatternRewriter &rewriter) const override {
    Location location = op.getLoc();
    SmallVector<Value> partials;
    int64_t count = 0;
    for (Value input : op.getInputs()) {
      int64_t elements = cast<RankedTensorType>(input.getType()).getNumElements();
      int64_t columns = chooseRowSize(elements), rows = elements / columns;
      Value flat = buildReshape(rewriter, location, input, {rows, columns});
      partials.push_back(buildReduction(rewriter, location, {rows, columns}, {false, true},
                                        Combiner::Sum, {{flat, allDims(getContext(), 2)}},
                                        "square_sum",
                                        [](OpBuilder &b, Location l, ValueRange v) -> Value {
                                          return arith::MulFOp::create(b, l, v[0], v[0]);
                                        }));
      count += rows;
    }
    auto type = RankedTensorType::get({count}, rewriter.getF32Type());
    Value all = partials.size() == 1
                    ? partials[0]
                    : uls::ConcatOp::create(rewriter, location, type, partials, 0).getResult();
    Value sum =
        count == 1
            ? buildReshape(rewriter, location, all, {})
            : buildFullReduction(rewriter, location, count, Combiner::Sum, {all}, "square_sum",
                                 [](OpBuilder &, Location, ValueRange v) { return v[0]; });
    rewriter.replaceOp(op, sum);
    return success();
  }
};

} // namespace

void lower::populateStatisticPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeCountValid, DecomposeSquareSum>(patterns.getContext());
}
