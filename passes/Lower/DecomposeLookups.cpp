//===- DecomposeLookups.cpp - Embedding and rope to generics ----------------------------------===//
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

struct DecomposeEmbedding : OpRewritePattern<uls::EmbeddingOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(uls::EmbeddingOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    auto table = cast<RankedTensorType>(op.getTable().getType());
    int64_t rows = cast<RankedTensorType>(op.getIndices().getType()).getRank();
    Value offset =
        buildShardOffset(rewriter, op.getLoc(), op.getShardAttr(), 0, table.getDimSize(0));
    Value value = buildElementwise(
        rewriter, op.getLoc(), type,
        {{op.getIndices(), leadingDims(getContext(), type.getRank(), rows)}}, "embedding",
        [&](OpBuilder &b, Location l, ValueRange v) -> Value {
          Value row = convertElement(b, l, v[0], b.getI64Type());
          if (offset)
            row = arith::SubIOp::create(b, l, row, offset);
          // Rows of other ranks, and no row at all, are zero; as unsigned, a negative row lies past
          // the end, too.
          Value inside = arith::CmpIOp::create(b, l, arith::CmpIPredicate::ult, row,
                                               i64Constant(b, l, table.getDimSize(0)));
          row = arith::SelectOp::create(b, l, inside, row, i64Constant(b, l, 0));
          SmallVector<Value> indices = {arith::IndexCastOp::create(b, l, b.getIndexType(), row)};
          for (int64_t i = rows; i < type.getRank(); ++i)
            indices.push_back(linalg::IndexOp::create(b, l, i));
          Value element = tensor::ExtractOp::create(b, l, op.getTable(), indices);
          element = convertElement(b, l, element, b.getF32Type());
          return arith::SelectOp::create(b, l, inside, element, f32Constant(b, l, 0.0));
        });
    rewriter.replaceOp(op, value);
    return success();
  }
};

/// The gradient of a table, added to an accumulator: a kernel of its own kind, so it is made here.
struct DecomposeEmbeddingGrad : OpRewritePattern<uls::EmbeddingGradOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(uls::EmbeddingGradOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    Location location = op.getLoc();
    auto table = RankedTensorType::get(type.getShape(), rewriter.getF32Type());
    uls::AccumulateOp accumulate = getAccumulation(op, table);
    if (accumulate && !isDefinedBefore(accumulate.getAccumulator(), op))
      rewriter.setInsertionPoint(accumulate);
    Value init = accumulate ? accumulate.getAccumulator() : Value();
    if (!init)
      init = uls::ConstantOp::create(rewriter, location, DenseElementsAttr::get(table, 0.0f));
    Value offset = buildShardOffset(rewriter, location, op.getShardAttr(), 0, type.getDimSize(0));
    Value column = offset ? offset : i64Constant(rewriter, location, 0);
    SmallVector<Value> inputs = {op.getCotangent(), op.getIndices(), init};
    exec::KernelOp kernel = buildKernel(rewriter, op, inputs);
    auto apply = exec::ApplyOp::create(rewriter, location, TypeRange{table}, kernel.getSymName(),
                                       inputs, {column});
    Value result = apply.getResult(0);
    if (accumulate) {
      rewriter.replaceOp(accumulate, result);
      rewriter.eraseOp(op);
      return success();
    }
    if (type != table)
      result = uls::ConvertOp::create(rewriter, location, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  static uls::AccumulateOp getAccumulation(uls::EmbeddingGradOp op, Type table) {
    if (!op->hasOneUse())
      return {};
    auto accumulate = dyn_cast<uls::AccumulateOp>(*op->user_begin());
    return accumulate && accumulate.getAccumulator().getType() == table &&
                   accumulate.getValue() == op.getOutput()
               ? accumulate
               : uls::AccumulateOp();
  }

  /// (cotangent, indices, init, offset of the table's first row) -> table.
  static exec::KernelOp buildKernel(PatternRewriter &rewriter, uls::EmbeddingGradOp op,
                                    ArrayRef<Value> inputs) {
    OpBuilder::InsertionGuard guard(rewriter);
    Location location = op.getLoc();
    auto module = op->getParentOfType<ModuleOp>();
    SmallVector<Type> types(ValueRange(inputs).getTypes());
    types.push_back(rewriter.getI64Type());
    auto indexType = cast<RankedTensorType>(inputs[1].getType());
    rewriter.setInsertionPointToStart(module.getBody());
    auto kernel = exec::KernelOp::create(
        rewriter, location, rewriter.getStringAttr(uniqueName(module)),
        TypeAttr::get(FunctionType::get(op.getContext(), types, {inputs[2].getType()})),
        rewriter.getStringAttr("private"), ArrayAttr(), ArrayAttr(),
        exec::KernelKindAttr::get(op.getContext(), exec::KernelKind::Scatter),
        rewriter.getI64IntegerAttr(indexType.getRank()), StringAttr());
    Block *body = rewriter.createBlock(&kernel.getBody(), {}, types,
                                       SmallVector<Location>(types.size(), location));
    Value offset = body->getArgument(3);
    Value local = buildElementwise(
        rewriter, location, RankedTensorType::get(indexType.getShape(), rewriter.getI64Type()),
        {{body->getArgument(1), allDims(op.getContext(), indexType.getRank())}}, "embedding_grad",
        [&](OpBuilder &b, Location l, ValueRange v) -> Value {
          Value row = convertElement(b, l, v[0], b.getI64Type());
          return arith::SubIOp::create(b, l, row, offset);
        });
    local.getDefiningOp()->removeAttr(kSourceAttrName);
    Value result = exec::ScatterAddOp::create(rewriter, location, body->getArgument(2).getType(),
                                              body->getArgument(0), local, body->getArgument(2));
    exec::YieldOp::create(rewriter, location, result);
    return kernel;
  }

  static std::string uniqueName(ModuleOp module) {
    std::string name = "embedding_grad";
    for (int i = 1; module.lookupSymbol(name); ++i)
      name = "embedding_grad_" + std::to_string(i);
    return name;
  }
};

/// Rope in three generics: cosines and sines per position and frequency, then the rotation of all
/// heads by them. The last dimension is seen as [2, half], a view, so that both elements of a pair
/// are plain reads.
struct DecomposeRope : OpRewritePattern<uls::RopeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(uls::RopeOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    Location location = op.getLoc();
    int64_t half = type.getShape().back() / 2;
    SmallVector<float> frequencies;
    for (double frequency : op.getFrequencies())
      frequencies.push_back(static_cast<float>(frequency));
    Value table = uls::ConstantOp::create(
        rewriter, location,
        DenseElementsAttr::get(RankedTensorType::get({half}, rewriter.getF32Type()),
                               ArrayRef(frequencies)));
    Value cosine = buildTable<math::CosOp>(rewriter, op, table, half);
    Value sine = buildTable<math::SinOp>(rewriter, op, table, half);

    SmallVector<int64_t> shape(type.getShape().drop_back());
    shape.append({2, half});
    unsigned loops = shape.size();
    auto paired = RankedTensorType::get(shape, type.getElementType());
    Value pairs = buildReshape(rewriter, location, op.getInput(), shape);
    AffineMap angle = someDims(getContext(), loops, {0, 1, static_cast<int64_t>(loops) - 1});
    bool inverse = op.getInverse();
    Value rotated = buildElementwise(
        rewriter, location, paired,
        {{pairs, getPairMap(loops, 0)},
         {pairs, getPairMap(loops, 1)},
         {cosine, angle},
         {sine, angle}},
        "rope", [&](OpBuilder &b, Location l, ValueRange v) -> Value {
          Value which = linalg::IndexOp::create(b, l, loops - 2);
          Value zero = arith::ConstantOp::create(b, l, b.getIndexAttr(0));
          Value isFirst = arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, which, zero);
          // first · cos ∓ second · sin, second · cos ± first · sin
          Value own = arith::SelectOp::create(b, l, isFirst, v[0], v[1]);
          Value other = arith::SelectOp::create(b, l, isFirst, v[1], v[0]);
          Value negative = arith::NegFOp::create(b, l, v[3]);
          Value sign = inverse ? arith::SelectOp::create(b, l, isFirst, v[3], negative)
                               : arith::SelectOp::create(b, l, isFirst, negative, v[3]);
          return arith::AddFOp::create(b, l, arith::MulFOp::create(b, l, own, v[2]),
                                       arith::MulFOp::create(b, l, other, sign));
        });
    rewriter.replaceOp(op, buildReshape(rewriter, location, rotated, type.getShape()));
    return success();
  }

private:
  /// All dimensions, with the last but one fixed to `which`.
  AffineMap getPairMap(unsigned loops, int64_t which) const {
    SmallVector<AffineExpr> expressions;
    for (unsigned i = 0; i < loops; ++i)
      expressions.push_back(i + 2 == loops ? getAffineConstantExpr(which, getContext())
                                           : getAffineDimExpr(i, getContext()));
    return AffineMap::get(loops, 0, expressions, getContext());
  }

  template <typename MathOp>
  static Value buildTable(PatternRewriter &rewriter, uls::RopeOp op, Value table, int64_t half) {
    auto positions = cast<RankedTensorType>(op.getPositions().getType());
    SmallVector<int64_t> shape(positions.getShape());
    shape.push_back(half);
    unsigned loops = shape.size();
    return buildElementwise(
        rewriter, op.getLoc(), RankedTensorType::get(shape, rewriter.getF32Type()),
        {{op.getPositions(), leadingDims(op.getContext(), loops, loops - 1)},
         {table, lastDim(op.getContext(), loops)}},
        "rope", [](OpBuilder &b, Location l, ValueRange v) -> Value {
          Value position = convertElement(b, l, v[0], b.getF32Type());
          return MathOp::create(b, l, arith::MulFOp::create(b, l, position, v[1]));
        });
  }
};

} // namespace

void lower::populateLookupPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeEmbedding, DecomposeRope>(patterns.getContext());
}

void lower::populateAccumulatingLookupPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeEmbeddingGrad>(patterns.getContext());
}
