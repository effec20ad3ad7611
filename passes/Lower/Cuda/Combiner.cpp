//===- Combiner.cpp - How partial results of a reduction are joined ---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/Combiner.h"

#include <limits>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

std::optional<Combiner> Combiner::find(linalg::GenericOp op, unsigned result) {
  Block *body = op.getBody();
  BlockArgument accumulator = body->getArgument(op.getNumDpsInputs() + result);
  Operation *last = body->getTerminator()->getOperand(result).getDefiningOp();
  if (!last || !accumulator.hasOneUse() || *accumulator.user_begin() != last ||
      !last->getResult(0).hasOneUse())
    return std::nullopt;
  Type type = CodeBuilder::registerType(accumulator.getType());
  if (type != accumulator.getType())
    return std::nullopt;
  if (isa<arith::AddFOp>(last))
    return Combiner(Kind::AddF, type);
  if (isa<arith::MaximumFOp>(last))
    return Combiner(Kind::MaximumF, type);
  if (isa<arith::MinimumFOp>(last))
    return Combiner(Kind::MinimumF, type);
  if (isa<arith::AddIOp>(last))
    return Combiner(Kind::AddI, type);
  if (isa<arith::MaxSIOp>(last))
    return Combiner(Kind::MaxSI, type);
  if (isa<arith::MinSIOp>(last))
    return Combiner(Kind::MinSI, type);
  return std::nullopt;
}

std::optional<SmallVector<Combiner>> lower::findCombiners(linalg::GenericOp op) {
  SmallVector<Combiner> combiners;
  for (unsigned result = 0; result < op->getNumResults(); ++result) {
    std::optional<Combiner> combiner = Combiner::find(op, result);
    if (!combiner)
      return std::nullopt;
    combiners.push_back(*combiner);
  }
  return combiners;
}

Value Combiner::neutral(CodeBuilder &code) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(code.b, code.loc, FloatAttr::get(valueType, value));
  };
  auto integer = [&](APInt value) -> Value {
    return arith::ConstantOp::create(code.b, code.loc, IntegerAttr::get(valueType, value));
  };
  switch (kind) {
  case Kind::AddF:
    // Negative zero: that of a sum of nothing but negative zeros.
    return number(-0.0);
  case Kind::MaximumF:
    return number(-infinity);
  case Kind::MinimumF:
    return number(infinity);
  case Kind::AddI:
    return integer(APInt(valueType.getIntOrFloatBitWidth(), 0));
  case Kind::MaxSI:
    return integer(APInt::getSignedMinValue(valueType.getIntOrFloatBitWidth()));
  case Kind::MinSI:
    return integer(APInt::getSignedMaxValue(valueType.getIntOrFloatBitWidth()));
  }
  llvm_unreachable("unknown combiner");
}

Value Combiner::combine(CodeBuilder &code, Value x, Value y) const {
  switch (kind) {
  case Kind::AddF:
    return code.addf(x, y);
  case Kind::MaximumF:
    return arith::MaximumFOp::create(code.b, code.loc, x, y);
  case Kind::MinimumF:
    return arith::MinimumFOp::create(code.b, code.loc, x, y);
  case Kind::AddI:
    return code.add(x, y);
  case Kind::MaxSI:
    return arith::MaxSIOp::create(code.b, code.loc, x, y);
  case Kind::MinSI:
    return arith::MinSIOp::create(code.b, code.loc, x, y);
  }
  llvm_unreachable("unknown combiner");
}
