//===- DecomposePatterns.h - Patterns from uls ops to linalg.generic --------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_DECOMPOSEPATTERNS_H
#define ULSC_PASSES_LOWER_DECOMPOSEPATTERNS_H

#include "dialects/Dist/Dist.h"
#include "mlir/IR/PatternMatch.h"

namespace ulsc::lower {

class ScalarForms;

/// Elementwise ops by their scalar forms (which must outlive the patterns), and dropout.
void populateElementwisePatterns(mlir::RewritePatternSet &patterns, const ScalarForms &forms);
/// Reductions, broadcasts and changes of shape that are more than a view.
void populateShapePatterns(mlir::RewritePatternSet &patterns);
/// rms_norm, layer_norm, softmax and their gradients.
void populateNormPatterns(mlir::RewritePatternSet &patterns);
/// Cross-entropy, whole and by row statistics.
void populateLossPatterns(mlir::RewritePatternSet &patterns);
/// Embedding, rope.
void populateLookupPatterns(mlir::RewritePatternSet &patterns);
/// The gradient of an embedding, with its accumulation.
void populateAccumulatingLookupPatterns(mlir::RewritePatternSet &patterns);
/// Accumulation of a concatenation to that of its parts.
void populateAccumulationPatterns(mlir::RewritePatternSet &patterns);
/// Einsum to exec.contract, with its accumulation, and transposes where letters don't collapse to
/// strides.
void populateContractionPatterns(mlir::RewritePatternSet &patterns);
/// Counts and sums of squares of the step.
void populateStatisticPatterns(mlir::RewritePatternSet &patterns);
/// Collectives along an inner dimension: along the leading one, with transposes.
void populateCollectivePatterns(mlir::RewritePatternSet &patterns);

/// This rank's row-major position along `axes` as i64, or null without axes.
mlir::Value buildPosition(mlir::OpBuilder &builder, mlir::Location location,
                          mlir::FlatSymbolRefAttr mesh, llvm::ArrayRef<mlir::StringAttr> axes);

/// Where dimension `dim` of the local block begins in the global value (i64), or null when it is
/// whole.
mlir::Value buildShardOffset(mlir::OpBuilder &builder, mlir::Location location,
                             dist::ShardAttr shard, int64_t dim, int64_t localSize);

/// Layer index and first global row that a context stands for.
std::pair<mlir::Value, mlir::Value> getContextParts(mlir::Value context);

/// Whether every dimension before `dim` has size 1, so that ranges of `dim` are contiguous.
bool isOutermost(mlir::RankedTensorType type, int64_t dim);

/// Whether `value` is there before `op`, an op of the same block or of one nested in the value's.
bool isDefinedBefore(mlir::Value value, mlir::Operation *op);

/// The mesh named `name` in the module around `op`.
dist::MeshAttr lookupMesh(mlir::Operation *op, mlir::FlatSymbolRefAttr name);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_DECOMPOSEPATTERNS_H
