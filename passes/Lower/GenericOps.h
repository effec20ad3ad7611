//===- GenericOps.h - Building linalg.generic ops on static tensors ---------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_GENERICOPS_H
#define ULSC_PASSES_LOWER_GENERICOPS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

namespace ulsc::lower {

/// Names the source op of a generic, for the names of kernels; dropped when the kernel is formed.
constexpr llvm::StringLiteral kSourceAttrName = "exec.source";

/// A tensor that a generic reads, and where.
struct Operand {
  mlir::Value tensor;
  mlir::AffineMap map;
};

/// Builds one element from those of the operands. Floats come in, and go out, in f32 whatever is
/// stored.
using ElementBody =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// f32 for every float, any other type itself.
mlir::Type getComputeType(mlir::Type elementType);

/// `value` converted between element types: floats rounded to nearest even, integers to floats.
mlir::Value convertElement(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                           mlir::Type type);

/// A parallel generic over the result's shape.
mlir::Value buildElementwise(mlir::OpBuilder &builder, mlir::Location location,
                             mlir::RankedTensorType result, llvm::ArrayRef<Operand> operands,
                             llvm::StringRef source, ElementBody body);

enum class Combiner { Sum, Max };

/// A reducing generic with loops of `sizes`, of which those in `reduced` are combined. `body` gives
/// the element that is combined; the result has the other loops as its dimensions, in f32.
mlir::Value buildReduction(mlir::OpBuilder &builder, mlir::Location location,
                           llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<bool> reduced,
                           Combiner combiner, llvm::ArrayRef<Operand> operands,
                           llvm::StringRef source, ElementBody body);

/// The same over all loops: a tensor without dimensions.
mlir::Value buildFullReduction(mlir::OpBuilder &builder, mlir::Location location, int64_t size,
                               Combiner combiner, llvm::ArrayRef<mlir::Value> flatOperands,
                               llvm::StringRef source, ElementBody body);

/// `tensor` with another shape of as many elements; itself if it has that shape.
mlir::Value buildReshape(mlir::OpBuilder &builder, mlir::Location location, mlir::Value tensor,
                         llvm::ArrayRef<int64_t> shape);

/// Maps of a space of `loops` dimensions onto all, all but the last, the last, or the given of
/// them.
mlir::AffineMap allDims(mlir::MLIRContext *context, unsigned loops);
mlir::AffineMap leadingDims(mlir::MLIRContext *context, unsigned loops, unsigned count);
mlir::AffineMap lastDim(mlir::MLIRContext *context, unsigned loops);
mlir::AffineMap someDims(mlir::MLIRContext *context, unsigned loops, llvm::ArrayRef<int64_t> dims);
mlir::AffineMap noDims(mlir::MLIRContext *context, unsigned loops);

/// Constants of a body.
mlir::Value f32Constant(mlir::OpBuilder &builder, mlir::Location location, double value);
mlir::Value i64Constant(mlir::OpBuilder &builder, mlir::Location location, int64_t value);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_GENERICOPS_H
