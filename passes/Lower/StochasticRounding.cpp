//===- StochasticRounding.cpp - Rounding to bf16 at random ------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/StochasticRounding.h"

#include "dialects/Exec/ExecOps.h"
#include "passes/Lower/DecomposePatterns.h"
#include "passes/Lower/GenericOps.h"
#include "ulsc/Random.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

ElementPlaces ElementPlaces::get(uls::ParamOp param, dist::ShardingAttr sharding) {
  ElementPlaces places;
  ArrayRef<int64_t> shape = param.getTensorType().getShape();
  places.block.assign(shape.begin(), shape.end());
  if (sharding)
    places.block = sharding.getBlockShape(lookupMesh(param, sharding.getMesh()), shape);
  // Padding depends on the mesh: it gets the numbers of others, and is zero, which rounds to zero.
  ArrayRef<int64_t> logical = param.getUnpaddedShape();
  places.strides.assign(logical.size(), 1);
  for (int64_t i = int64_t(logical.size()) - 2; i >= 0; --i)
    places.strides[i] = places.strides[i + 1] * logical[i + 1];
  return places;
}

SmallVector<Value> ElementPlaces::buildOffsets(OpBuilder &builder, Location location,
                                               uls::ParamOp param, dist::ShardingAttr sharding,
                                               int64_t count) const {
  auto offset = [&](ArrayRef<StringAttr> axes, int64_t size) -> Value {
    if (axes.empty())
      return i64Constant(builder, location, 0);
    Value position = buildPosition(builder, location, sharding.getMesh(), axes);
    return arith::MulIOp::create(builder, location, position, i64Constant(builder, location, size));
  };
  ArrayRef<StringAttr> none;
  SmallVector<Value> offsets{offset(sharding ? sharding.getFlat() : none, count)};
  for (auto [dim, size] : llvm::enumerate(block))
    offsets.push_back(offset(sharding ? sharding.getAxes(dim) : none, size));
  return offsets;
}

Value ElementPlaces::buildNumber(OpBuilder &b, Location l, Value index, ValueRange offsets) const {
  Value rest = arith::AddIOp::create(b, l, index, offsets.front());
  Value number;
  for (int64_t dim = int64_t(block.size()) - 1; dim >= 0; --dim) {
    Value at = rest;
    if (dim > 0) {
      Value size = i64Constant(b, l, block[dim]);
      at = arith::RemUIOp::create(b, l, rest, size);
      rest = arith::DivUIOp::create(b, l, rest, size);
    }
    at = arith::AddIOp::create(b, l, at, offsets[1 + dim]);
    at = arith::MulIOp::create(b, l, at, i64Constant(b, l, strides[dim]));
    number = number ? Value(arith::AddIOp::create(b, l, number, at)) : at;
  }
  return number ? number : rest;
}

/// Adds the word's lower half to the half of the bits that goes, and cuts.
static Value buildRounding(OpBuilder &b, Location l, Value x, Value word) {
  auto i32 = [&](uint32_t bits) -> Value {
    return arith::ConstantOp::create(b, l, b.getIntegerAttr(b.getI32Type(), APInt(32, bits)));
  };
  Value bits = arith::BitcastOp::create(b, l, b.getI32Type(), x);
  Value noise = arith::AndIOp::create(b, l, word, i32(0xffff));
  Value sum = arith::AddIOp::create(b, l, bits, noise);
  Value rounded = arith::BitcastOp::create(b, l, b.getF32Type(),
                                           arith::AndIOp::create(b, l, sum, i32(0xffff0000)));
  // A carry would make a number of some NaNs.
  Value isNaN = arith::CmpFOp::create(b, l, arith::CmpFPredicate::UNO, x, x);
  return arith::SelectOp::create(b, l, isNaN, x, rounded);
}

Value lower::buildStochasticRounding(OpBuilder &builder, Location location, Value value,
                                     StringRef role, Value name, const ElementPlaces &places,
                                     ValueRange offsets) {
  auto type = cast<RankedTensorType>(value.getType()).clone(builder.getBF16Type());
  auto key =
      static_cast<int64_t>(ulsc_random_hash_name(("stochastic_rounding." + role).str().c_str()));
  return buildElementwise(
      builder, location, cast<RankedTensorType>(type), {{value, allDims(builder.getContext(), 1)}},
      "stochastic_rounding", [&](OpBuilder &b, Location l, ValueRange v) {
        Value index =
            arith::IndexCastOp::create(b, l, b.getI64Type(), linalg::IndexOp::create(b, l, 0));
        Value number = places.buildNumber(b, l, index, offsets);
        Value word =
            exec::RandomOp::create(b, l, b.getI32Type(), number, name, b.getI64IntegerAttr(key));
        return buildRounding(b, l, v[0], word);
      });
}

int64_t lower::getRoundingName(StringRef parameter) {
  return static_cast<int64_t>(ulsc_random_hash_name(parameter.str().c_str()) & 0xffffffff);
}
