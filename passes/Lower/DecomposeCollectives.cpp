//===- DecomposeCollectives.cpp - Collectives along inner dimensions --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// The runtime joins and cuts whole buffers, one block per rank. Along a dimension that is not the
// outermost, the blocks are not contiguous: what is sent is transposed so that the cut dimension
// leads, and what arrives is transposed back.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"
#include "passes/Lower/DecomposePatterns.h"
#include "passes/Lower/GenericOps.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

namespace {

/// `value` [.., n·size at `dim`, ..] as [n, .., size, ..].
Value moveBlocksToFront(OpBuilder &builder, Location location, Value value, int64_t dim,
                        int64_t ranks) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> split(type.getShape());
  split[dim] /= ranks;
  split.insert(split.begin() + dim, ranks);
  Value parts = buildReshape(builder, location, value, split);
  SmallVector<int64_t> permutation = {dim}, shape = {ranks};
  for (int64_t i = 0; i < static_cast<int64_t>(split.size()); ++i)
    if (i != dim) {
      permutation.push_back(i);
      shape.push_back(split[i]);
    }
  return uls::TransposeOp::create(builder, location, type.clone(shape), parts, permutation);
}

/// The inverse: [n, .., size, ..] as [.., n·size at `dim`, ..].
Value moveBlocksFromFront(OpBuilder &builder, Location location, Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t ranks = type.getDimSize(0);
  SmallVector<int64_t> permutation, shape;
  for (int64_t i = 1; i < type.getRank(); ++i) {
    if (i == dim + 1) {
      permutation.push_back(0);
      shape.push_back(ranks);
    }
    permutation.push_back(i);
    shape.push_back(type.getDimSize(i));
  }
  Value parts = uls::TransposeOp::create(builder, location, type.clone(shape), value, permutation);
  shape[dim + 1] *= ranks;
  shape.erase(shape.begin() + dim);
  return buildReshape(builder, location, parts, shape);
}

int64_t getRanks(Operation *op) {
  auto collective = cast<dist::CollectiveOpInterface>(op);
  dist::MeshAttr mesh = lookupMesh(op, collective.getMeshAttr());
  return mesh.getSize(llvm::to_vector(collective.getAxes().getAsRange<StringAttr>()));
}

/// The ops outside a `dist.start` that make operands and take results of a collective, or the
/// collective itself.
struct Ends {
  Operation *before;
  dist::WaitOp wait;
};

Ends getEnds(Operation *collective) {
  auto start = dyn_cast<dist::StartOp>(collective->getParentOp());
  if (!start)
    return {collective, {}};
  return {start, cast<dist::WaitOp>(*start.getHandle().user_begin())};
}

/// Where the blocks of a collective lie: the attribute's name, and the same dimension for all
/// operands.
using BlockDims = ArrayRef<std::pair<StringRef, int64_t>>;

/// Gives a collective new operands, result types and dimensions, and its users the results that
/// `finish` makes of the new ones.
void rebuild(PatternRewriter &rewriter, Operation *op, ArrayRef<Value> operands, TypeRange types,
             BlockDims dims, function_ref<Value(OpBuilder &, unsigned, Value)> finish) {
  Ends ends = getEnds(op);
  rewriter.setInsertionPoint(op);
  OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
  Operation *replacement = rewriter.create(state);
  for (auto [name, dim] : dims)
    replacement->setAttr(name,
                         rewriter.getDenseI64ArrayAttr(SmallVector<int64_t>(operands.size(), dim)));
  if (!ends.wait) {
    SmallVector<Value> results;
    for (auto [i, value] : llvm::enumerate(replacement->getResults()))
      results.push_back(finish(rewriter, i, value));
    rewriter.replaceOp(op, results);
    return;
  }
  auto start = cast<dist::StartOp>(ends.before);
  rewriter.modifyOpInPlace(start, [&] {
    start.getBody().front().getTerminator()->setOperands(replacement->getResults());
    start.getHandle().setType(dist::HandleType::get(op->getContext(), llvm::to_vector(types)));
  });
  rewriter.eraseOp(op);
  rewriter.setInsertionPoint(ends.wait);
  auto wait = dist::WaitOp::create(rewriter, ends.wait.getLoc(), types, start.getHandle());
  SmallVector<Value> results;
  for (auto [i, value] : llvm::enumerate(wait.getResults()))
    results.push_back(finish(rewriter, i, value));
  rewriter.replaceOp(ends.wait, results);
}

struct GatherOutermost : OpRewritePattern<dist::AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dist::AllGatherOp op, PatternRewriter &rewriter) const override {
    auto isPlain = [&](size_t i) {
      return isOutermost(cast<RankedTensorType>(op.getInputs()[i].getType()), op.getDims()[i]);
    };
    if (llvm::all_of(llvm::seq<size_t>(0, op.getInputs().size()), isPlain))
      return failure();
    int64_t ranks = getRanks(op);
    SmallVector<Type> types;
    SmallVector<Value> operands;
    Ends ends = getEnds(op);
    rewriter.setInsertionPoint(ends.before);
    for (Value input : op.getInputs()) {
      auto type = cast<RankedTensorType>(input.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape.insert(shape.begin(), 1);
      operands.push_back(buildReshape(rewriter, op.getLoc(), input, shape));
      shape[0] = ranks;
      types.push_back(type.clone(shape));
    }
    SmallVector<int64_t> dims(op.getDims());
    Location location = op.getLoc();
    rebuild(rewriter, op, operands, types, {{"dims", 0}},
            [&](OpBuilder &builder, unsigned i, Value value) {
              return moveBlocksFromFront(builder, location, value, dims[i]);
            });
    return success();
  }
};

struct ScatterOutermost : OpRewritePattern<dist::ReduceScatterOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dist::ReduceScatterOp op,
                                PatternRewriter &rewriter) const override {
    auto isPlain = [&](size_t i) {
      return isOutermost(cast<RankedTensorType>(op.getInputs()[i].getType()), op.getDims()[i]);
    };
    if (llvm::all_of(llvm::seq<size_t>(0, op.getInputs().size()), isPlain))
      return failure();
    int64_t ranks = getRanks(op);
    SmallVector<Type> types, finalTypes(op->getResultTypes());
    SmallVector<Value> operands;
    rewriter.setInsertionPoint(getEnds(op).before);
    for (auto [input, dim] : llvm::zip_equal(op.getInputs(), op.getDims())) {
      Value blocks = moveBlocksToFront(rewriter, op.getLoc(), input, dim, ranks);
      operands.push_back(blocks);
      auto type = cast<RankedTensorType>(blocks.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape[0] = 1;
      types.push_back(type.clone(shape));
    }
    Location location = op.getLoc();
    rebuild(rewriter, op, operands, types, {{"dims", 0}},
            [&](OpBuilder &builder, unsigned i, Value value) {
              return buildReshape(builder, location, value,
                                  cast<RankedTensorType>(finalTypes[i]).getShape());
            });
    return success();
  }
};

struct ExchangeOutermost : OpRewritePattern<dist::AllToAllOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dist::AllToAllOp op, PatternRewriter &rewriter) const override {
    auto isPlain = [&](size_t i) {
      return isOutermost(cast<RankedTensorType>(op.getInputs()[i].getType()),
                         op.getSplitDims()[i]) &&
             isOutermost(cast<RankedTensorType>(op.getOutputs()[i].getType()),
                         op.getConcatDims()[i]);
    };
    if (llvm::all_of(llvm::seq<size_t>(0, op.getInputs().size()), isPlain))
      return failure();
    int64_t ranks = getRanks(op);
    SmallVector<Type> types;
    SmallVector<Value> operands;
    rewriter.setInsertionPoint(getEnds(op).before);
    for (auto [input, dim] : llvm::zip_equal(op.getInputs(), op.getSplitDims())) {
      Value blocks = moveBlocksToFront(rewriter, op.getLoc(), input, dim, ranks);
      auto type = cast<RankedTensorType>(blocks.getType());
      // Blocks leave along dimension 0 and arrive along dimension 1: they may not be the same.
      SmallVector<int64_t> shape(type.getShape());
      shape.insert(shape.begin() + 1, 1);
      operands.push_back(buildReshape(rewriter, op.getLoc(), blocks, shape));
      std::swap(shape[0], shape[1]);
      types.push_back(type.clone(shape));
    }
    SmallVector<int64_t> dims(op.getConcatDims());
    Location location = op.getLoc();
    rebuild(rewriter, op, operands, types, {{"splitDims", 0}, {"concatDims", 1}},
            [&](OpBuilder &builder, unsigned i, Value value) {
              auto type = cast<RankedTensorType>(value.getType());
              value = buildReshape(builder, location, value, type.getShape().drop_front());
              return moveBlocksFromFront(builder, location, value, dims[i]);
            });
    return success();
  }
};

} // namespace

void lower::populateCollectivePatterns(RewritePatternSet &patterns) {
  patterns.add<GatherOutermost, ScatterOutermost, ExchangeOutermost>(patterns.getContext());
}
