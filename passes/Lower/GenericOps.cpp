//===- GenericOps.cpp - Building linalg.generic ops on static tensors -------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/GenericOps.h"

#include "dialects/Uls/Uls.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

Type lower::getComputeType(Type elementType) {
  return isa<FloatType>(elementType) ? Float32Type::get(elementType.getContext()) : elementType;
}

Value lower::convertElement(OpBuilder &builder, Location location, Value value, Type type) {
  Type from = value.getType();
  if (from == type)
    return value;
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(type);
  if (fromFloat && toFloat) {
    if (fromFloat.getWidth() < toFloat.getWidth())
      return arith::ExtFOp::create(builder, location, type, value);
    if (fromFloat.getWidth() > toFloat.getWidth())
      return arith::TruncFOp::create(builder, location, type, value);
    Value wide = arith::ExtFOp::create(builder, location, builder.getF32Type(), value);
    return arith::TruncFOp::create(builder, location, type, wide);
  }
  if (toFloat) {
    Value wide = arith::SIToFPOp::create(builder, location, builder.getF32Type(), value);
    return convertElement(builder, location, wide, type);
  }
  if (fromFloat)
    return arith::FPToSIOp::create(builder, location, type, value);
  if (isa<IndexType>(from) || isa<IndexType>(type))
    return arith::IndexCastOp::create(builder, location, type, value);
  if (from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(builder, location, type, value);
  return arith::TruncIOp::create(builder, location, type, value);
}

/// Runs `body` on the block arguments of the operands, converted to what bodies compute in.
static Value buildElement(OpBuilder &builder, Location location, ValueRange arguments,
                          ElementBody body) {
  SmallVector<Value> elements;
  for (Value argument : arguments)
    elements.push_back(
        convertElement(builder, location, argument, getComputeType(argument.getType())));
  return body(builder, location, elements);
}

Value lower::buildElementwise(OpBuilder &builder, Location location, RankedTensorType result,
                              ArrayRef<Operand> operands, StringRef source, ElementBody body) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Operand &operand : operands) {
    inputs.push_back(operand.tensor);
    maps.push_back(operand.map);
  }
  maps.push_back(allDims(builder.getContext(), result.getRank()));
  Value empty =
      tensor::EmptyOp::create(builder, location, result.getShape(), result.getElementType());
  SmallVector<utils::IteratorType> iterators(result.getRank(), utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, location, TypeRange{result}, inputs, ValueRange{empty}, maps, iterators,
      [&](OpBuilder &nested, Location nestedLocation, ValueRange arguments) {
        Value element = buildElement(nested, nestedLocation, arguments.drop_back(), body);
        element = convertElement(nested, nestedLocation, element, result.getElementType());
        linalg::YieldOp::create(nested, nestedLocation, element);
      });
  generic->setAttr(kSourceAttrName, builder.getStringAttr(source));
  return generic.getResult(0);
}

Value lower::buildReduction(OpBuilder &builder, Location location, ArrayRef<int64_t> sizes,
                            ArrayRef<bool> reduced, Combiner combiner, ArrayRef<Operand> operands,
                            StringRef source, ElementBody body) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Operand &operand : operands) {
    inputs.push_back(operand.tensor);
    maps.push_back(operand.map);
  }
  SmallVector<int64_t> kept, shape;
  SmallVector<utils::IteratorType> iterators;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    iterators.push_back(reduced[i] ? utils::IteratorType::reduction
                                   : utils::IteratorType::parallel);
    if (!reduced[i]) {
      kept.push_back(i);
      shape.push_back(size);
    }
  }
  maps.push_back(someDims(builder.getContext(), sizes.size(), kept));
  auto result = RankedTensorType::get(shape, builder.getF32Type());
  double neutral = combiner == Combiner::Sum ? 0.0 : -std::numeric_limits<double>::infinity();
  Value empty = tensor::EmptyOp::create(builder, location, shape, result.getElementType());
  Value init =
      linalg::FillOp::create(builder, location, f32Constant(builder, location, neutral), empty)
          .getResult(0);
  auto generic = linalg::GenericOp::create(
      builder, location, TypeRange{result}, inputs, ValueRange{init}, maps, iterators,
      [&](OpBuilder &nested, Location nestedLocation, ValueRange arguments) {
        Value element = buildElement(nested, nestedLocation, arguments.drop_back(), body);
        element = convertElement(nested, nestedLocation, element, result.getElementType());
        Value sum =
            combiner == Combiner::Sum
                ? Value(arith::AddFOp::create(nested, nestedLocation, arguments.back(), element))
                : Value(
                      arith::MaximumFOp::create(nested, nestedLocation, arguments.back(), element));
        linalg::YieldOp::create(nested, nestedLocation, sum);
      });
  generic->setAttr(kSourceAttrName, builder.getStringAttr(source));
  return generic.getResult(0);
}

Value lower::buildFullReduction(OpBuilder &builder, Location location, int64_t size,
                                Combiner combiner, ArrayRef<Value> flatOperands, StringRef source,
                                ElementBody body) {
  // One row that holds everything: kernels are split by rows.
  SmallVector<Operand> operands;
  for (Value value : flatOperands)
    operands.push_back(
        {buildReshape(builder, location, value, {1, size}), allDims(builder.getContext(), 2)});
  Value row =
      buildReduction(builder, location, {1, size}, {false, true}, combiner, operands, source, body);
  return buildReshape(builder, location, row, {});
}

Value lower::buildReshape(OpBuilder &builder, Location location, Value tensor,
                          ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getShape() == shape)
    return tensor;
  if (auto reshape = tensor.getDefiningOp<uls::ReshapeOp>())
    return buildReshape(builder, location, reshape.getInput(), shape);
  return uls::ReshapeOp::create(builder, location,
                                RankedTensorType::get(shape, type.getElementType()), tensor);
}

AffineMap lower::allDims(MLIRContext *context, unsigned loops) {
  return AffineMap::getMultiDimIdentityMap(loops, context);
}

AffineMap lower::leadingDims(MLIRContext *context, unsigned loops, unsigned count) {
  return allDims(context, loops).getMajorSubMap(count);
}

AffineMap lower::lastDim(MLIRContext *context, unsigned loops) {
  return AffineMap::get(loops, 0, getAffineDimExpr(loops - 1, context));
}

AffineMap lower::someDims(MLIRContext *context, unsigned loops, ArrayRef<int64_t> dims) {
  SmallVector<AffineExpr> expressions;
  for (int64_t dim : dims)
    expressions.push_back(getAffineDimExpr(dim, context));
  return AffineMap::get(loops, 0, expressions, context);
}

AffineMap lower::noDims(MLIRContext *context, unsigned loops) {
  return AffineMap::get(loops, 0, context);
}

Value lower::f32Constant(OpBuilder &builder, Location location, double value) {
  return arith::ConstantOp::create(builder, location,
                                   builder.getF32FloatAttr(static_cast<float>(value)));
}

Value lower::i64Constant(OpBuilder &builder, Location location, int64_t value) {
  return arith::ConstantOp::create(builder, location, builder.getI64IntegerAttr(value));
}
