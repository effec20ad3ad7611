//===- KernelBodies.cpp - Scalar bodies of a kernel's ops -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ControlBlock.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Lower/EmitMath.h"
#include "passes/Lower/KernelValues.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

SmallVector<Value> KernelValues::bodyAt(linalg::GenericOp op, AffineMap dims,
                                        ValueRange accumulators) {
  Block *body = op.getBody();
  DenseMap<Value, Value> values;
  unsigned inputs = op.getNumDpsInputs();
  for (BlockArgument argument : body->getArguments()) {
    if (argument.use_empty())
      continue;
    unsigned number = argument.getArgNumber();
    if (number >= inputs && !accumulators.empty()) {
      values[argument] = accumulators[number - inputs];
      continue;
    }
    OpOperand &operand = op->getOpOperand(number);
    values[argument] = valueAt(operand.get(), op.getMatchingIndexingMap(&operand).compose(dims));
  }
  arith::FastMathFlags outer = code.flags;
  // Only sums over a loop may be taken in another order.
  if (!accumulators.empty())
    code.flags = code.flags | arith::FastMathFlags::reassoc;
  for (Operation &inner : body->without_terminator())
    values[inner.getResult(0)] = emitOp(inner, values, dims);
  code.flags = outer;
  SmallVector<Value> results;
  for (Value operand : body->getTerminator()->getOperands()) {
    auto found = values.find(operand);
    results.push_back(found != values.end() ? found->second : scalarOf(operand));
  }
  return results;
}

Value KernelValues::scalarOf(Value value) {
  if (Value scalar = scalars.lookup(value))
    return scalar;
  Operation *op = value.getDefiningOp();
  DenseMap<Value, Value> none;
  return emitOp(*op, none, AffineMap::get(context));
}

Value KernelValues::control(StringRef field) {
  Value &value = controls[field];
  if (value)
    return value;
  OpBuilder::InsertionGuard guard(code.b);
  Attribute group = code.accessGroup;
  code.accessGroup = {};
  // Behind the address itself, so ahead of all loops.
  code.b.setInsertionPointAfterValue(interface.controlBlock);
  const exec::ControlField *found = exec::lookupControlField(field);
  Value address = code.addressBytes(interface.controlBlock, found->offset);
  value = code.load(address, code.i64(0), found->isInteger ? code.i64Type() : code.f32Type());
  code.accessGroup = group;
  return value;
}

/// An entry of the scales that the control block names.
static Value loadParameterScale(CodeBuilder &code, Value block, Value entry) {
  Value scales = LLVM::LoadOp::create(code.b, code.loc, code.ptrType(),
                                      code.addressBytes(block, exec::getParameterScalesOffset()));
  return code.load(scales, entry, code.f32Type());
}

Value KernelValues::emitOp(Operation &op, DenseMap<Value, Value> &values, AffineMap dims) {
  SmallVector<Value> operands;
  auto valueOf = [&](Value operand) {
    auto found = values.find(operand);
    return found != values.end() ? found->second : scalarOf(operand);
  };
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    auto type = cast<RankedTensorType>(extract.getTensor().getType());
    Value linear = code.i64(0);
    for (auto [index, size] : llvm::zip(extract.getIndices(), type.getShape()))
      linear = code.add(code.mul(linear, code.i64(size)), valueOf(index));
    return code.load(interface.pointers[cast<BlockArgument>(extract.getTensor()).getArgNumber()],
                     linear, type.getElementType());
  }
  for (Value operand : op.getOperands())
    operands.push_back(valueOf(operand));
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return emitExpr(dims.getResult(index.getDim()));
  if (auto field = dyn_cast<exec::ControlOp>(op))
    return control(field.getField());
  if (isa<exec::ParameterScaleOp>(op))
    return loadParameterScale(code, interface.controlBlock, operands[0]);
  if (auto random = dyn_cast<exec::RandomOp>(op)) {
    RandomStream stream =
        emitRandomStream(code, control("seed"), random.getKey(), operands[1], control("step"));
    return emitRandomWord(code, stream, operands[0]);
  }
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return emitConvert(op, operands[0]);
  return emitGenericOp(op, operands);
}

Value KernelValues::emitConvert(Operation &op, Value x) {
  Type to = op.getResult(0).getType(), target = CodeBuilder::registerType(to);
  if (isa<IntegerType>(target)) {
    unsigned from = x.getType().getIntOrFloatBitWidth(), width = target.getIntOrFloatBitWidth();
    if (from == width)
      return x;
    if (from > width)
      return arith::TruncIOp::create(code.b, code.loc, target, x);
    if (isa<arith::IndexCastUIOp>(op))
      return arith::ExtUIOp::create(code.b, code.loc, target, x);
    return arith::ExtSIOp::create(code.b, code.loc, target, x);
  }
  if (x.getType().isF32() && target.isF64())
    return arith::ExtFOp::create(code.b, code.loc, target, x);
  if (x.getType().isF64() && target.isF32())
    x = arith::TruncFOp::create(code.b, code.loc, target, x);
  return to.isBF16() || to.isF16() ? code.roundTo(to, x) : x;
}

/// The function that replaces a math op on f32, or null.
static Value (*lookupFunction(Operation &op))(CodeBuilder &, Value) {
  if (isa<math::ExpOp>(op))
    return emitExp;
  if (isa<math::LogOp>(op))
    return emitLog;
  if (isa<math::Log1pOp>(op))
    return emitLog1p;
  if (isa<math::TanhOp>(op))
    return emitTanh;
  if (isa<math::ErfOp>(op))
    return emitErf;
  if (isa<math::SinOp>(op))
    return emitSin;
  if (isa<math::CosOp>(op))
    return emitCos;
  return nullptr;
}

Value KernelValues::emitGenericOp(Operation &op, ArrayRef<Value> operands) {
  Type type = op.getResult(0).getType(), computed = CodeBuilder::registerType(type);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    Attribute attribute = constant.getValue();
    if (auto number = dyn_cast<FloatAttr>(attribute))
      attribute = FloatAttr::get(computed, number.getValueAsDouble());
    else
      attribute = IntegerAttr::get(computed, cast<IntegerAttr>(attribute).getInt());
    return arith::ConstantOp::create(code.b, code.loc, cast<TypedAttr>(attribute));
  }
  Value result;
  auto function = lookupFunction(op);
  if (function && computed.isF32()) {
    result = function(code, operands[0]);
  } else if (isa<math::RsqrtOp>(op)) {
    Value one = arith::ConstantOp::create(code.b, code.loc, FloatAttr::get(computed, 1.0));
    result = code.divf(one, math::SqrtOp::create(code.b, code.loc, operands[0]));
  } else {
    OperationState state(code.loc, op.getName());
    state.addOperands(operands);
    state.addTypes(computed);
    state.addAttributes(op.getAttrDictionary().getValue());
    Operation *copy = code.b.create(state);
    if (auto fast = dyn_cast<arith::ArithFastMathInterface>(copy);
        fast && !isa<arith::CmpFOp>(copy))
      copy->setAttr(fast.getFastMathAttrName(), arith::FastMathFlagsAttr::get(context, code.flags));
    result = copy->getResult(0);
  }
  bool isNarrow = type.isBF16() || type.isF16();
  return isNarrow && !isa<arith::SelectOp>(op) ? code.roundTo(type, result) : result;
}
