//===- DecomposeModelOps.cpp - Rewrites the named ops as generics -----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/DecomposePatterns.h"
#include "passes/Lower/GenericOps.h"
#include "passes/Lower/Passes.h"
#include "passes/Lower/ScalarForms.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ulsc {
#define GEN_PASS_DEF_DECOMPOSEMODELOPSPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// Whether `op` is one of those that the assignment of buffers understands as they are.
static bool isLeft(Operation *op) {
  return isa<uls::AttentionOp, uls::AttentionGradOp, uls::CallOp, uls::MicrobatchesOp,
             uls::MicrobatchOp, uls::YieldOp, uls::ReshapeOp, uls::SliceOp, uls::ConcatOp,
             uls::ConstantOp, uls::ControlOp, uls::ReportOp, uls::BlockOp, uls::StepOp,
             uls::ParamOp, uls::StateOp>(op) ||
         !isa<uls::UlsDialect>(op->getDialect());
}

namespace {
struct DecomposeModelOps : ulsc::impl::DecomposeModelOpsPassBase<DecomposeModelOps> {
  void runOnOperation() override {
    for (auto rule : getOperation().getOps<uls::UpdateRuleOp>()) {
      rule.emitOpError("is left where ops become kernels; run ulsc-lower-state first");
      return signalPassFailure();
    }
    if (failed(fuseAccumulations()) || failed(decompose()))
      return signalPassFailure();
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (isLeft(op) || isUnusedScalar(op))
        return WalkResult::advance();
      op->emitOpError("has no lowering to kernels: a pattern in passes/Lower is missing");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    getOperation().walk<WalkOrder::PostOrder, mlir::ReverseIterator>([](Operation *op) {
      if (isa<uls::UlsDialect>(op->getDialect()) && op->use_empty() && isUnusedScalar(op))
        op->erase();
    });
  }

  LogicalResult apply(RewritePatternSet patterns) {
    GreedyRewriteConfig config;
    config.enableFolding(false);
    config.enableConstantCSE(false);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    return applyPatternsGreedily(getOperation(), std::move(patterns), config);
  }

  /// Products and scattered sums take in the accumulation of their result; afterwards an
  /// accumulation is an addition.
  LogicalResult fuseAccumulations() {
    RewritePatternSet split(&getContext()), patterns(&getContext());
    populateAccumulationPatterns(split);
    if (failed(apply(std::move(split))))
      return failure();
    populateContractionPatterns(patterns);
    populateAccumulatingLookupPatterns(patterns);
    return apply(std::move(patterns));
  }

  LogicalResult decompose() {
    ScalarForms forms(&getContext());
    RewritePatternSet patterns(&getContext());
    populateCollectivePatterns(patterns);
    populateElementwisePatterns(patterns, forms);
    populateShapePatterns(patterns);
    populateNormPatterns(patterns);
    populateLossPatterns(patterns);
    populateLookupPatterns(patterns);
    populateStatisticPatterns(patterns);
    return apply(std::move(patterns));
  }

  /// Scalar expressions that bodies computed themselves.
  static bool isUnusedScalar(Operation *op) {
    if (op->getNumResults() != 1 || op->getNumRegions() != 0)
      return false;
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    return type && type.getRank() == 0 &&
           llvm::all_of(op->getUsers(), [](Operation *user) { return isUnusedScalar(user); });
  }
};
} // namespace
