//===- KernelValues.cpp - Values of a kernel's tensors at a point of its loops -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/KernelValues.h"
#include "dialects/Exec/ControlBlock.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

KernelValues::KernelValues(CodeBuilder &code, exec::KernelOp kernel, KernelInterface interface)
    : code(code), context(kernel.getContext()), kernel(kernel), interface(std::move(interface)) {
  size_t position = 0;
  for (BlockArgument argument : kernel.getBody().getArguments())
    if (!isa<RankedTensorType>(argument.getType()))
      scalars[argument] = this->interface.scalars[position++];
}

void KernelValues::setSpace(ArrayRef<Value> dims, unsigned rows) {
  dimValues.assign(dims.begin(), dims.end());
  rowDims = rows;
  loopMemo.clear();
}

bool KernelValues::isRowOnly(AffineMap map) {
  for (unsigned d = rowDims; d < map.getNumDims(); ++d)
    if (map.isFunctionOfDim(d))
      return false;
  return true;
}

template <typename Callback>
auto KernelValues::atRowPoint(Callback callback) {
  OpBuilder::InsertionGuard guard(code.b);
  Attribute group = code.accessGroup;
  if (rowPoint) {
    code.b.setInsertionPoint(rowPoint);
    code.accessGroup = {};
  }
  auto result = callback();
  code.accessGroup = group;
  return result;
}

Value KernelValues::valueAt(Value tensor, AffineMap at) {
  at = simplifyAffineMap(at);
  if (isRowOnly(at) && rowPoint) {
    AffineMap rowMap = AffineMap::get(rowDims, 0, at.getResults(), context);
    Value &memo = rowMemo[{tensor, rowMap}];
    if (!memo) {
      Value value = atRowPoint([&] { return computeAt(tensor, at); });
      return rowMemo[{tensor, rowMap}] = value;
    }
    return memo;
  }
  auto found = loopMemo.find({tensor, at});
  if (found != loopMemo.end())
    return found->second;
  Value value = computeAt(tensor, at);
  loopMemo[{tensor, at}] = value;
  return value;
}

Value KernelValues::computeAt(Value tensor, AffineMap at) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return loadAt(interface.pointers[argument.getArgNumber()], type.getElementType(),
                  type.getShape(), at);
  if (Value value = reduced.lookup(tensor))
    return value;
  auto found = kept.find(tensor);
  if (found != kept.end()) {
    unsigned drop = found->second.rowDims;
    AffineMap inner = AffineMap::get(at.getNumDims(), 0, at.getResults().drop_front(drop), context);
    return loadAt(found->second.pointer, CodeBuilder::registerType(type.getElementType()),
                  type.getShape().drop_front(drop), inner);
  }
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return scalarOf(fill.getInputs()[0]);
  auto op = cast<linalg::GenericOp>(tensor.getDefiningOp());
  unsigned number = cast<OpResult>(tensor).getResultNumber();
  AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(number));
  SmallVector<AffineExpr> dims(op.getNumLoops(), getAffineConstantExpr(0, context));
  for (auto [i, expr] : llvm::enumerate(out.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      dims[dim.getPosition()] = at.getResult(i);
  AffineMap dimMap = AffineMap::get(at.getNumDims(), 0, dims, context);
  return bodyAt(op, dimMap, {})[number];
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Sorts the terms of a sum into those of the row and the rest.
static void splitTerms(AffineExpr expr, unsigned rowDims, unsigned numDims, AffineExpr &row,
                       AffineExpr &column) {
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(expr); sum && sum.getKind() == AffineExprKind::Add) {
    splitTerms(sum.getLHS(), rowDims, numDims, row, column);
    splitTerms(sum.getRHS(), rowDims, numDims, row, column);
    return;
  }
  bool isRow = true;
  for (unsigned d = rowDims; d < numDims; ++d)
    isRow &= !expr.isFunctionOfDim(d);
  (isRow ? row : column) = (isRow ? row : column) + expr;
}

/// The row-major index as an expression, with the dimensions that count as zero gone.
static AffineExpr linearize(ArrayRef<AffineExpr> at, ArrayRef<int64_t> shape, ArrayRef<Value> dims,
                            MLIRContext *context) {
  AffineExpr linear = getAffineConstantExpr(0, context);
  int64_t stride = 1;
  for (int64_t i = at.size() - 1; i >= 0; --i) {
    linear = linear + at[i] * stride;
    stride *= shape[i];
  }
  SmallVector<AffineExpr> replacements;
  for (auto [d, value] : llvm::enumerate(dims))
    replacements.push_back(value ? getAffineDimExpr(d, context)
                                 : getAffineConstantExpr(0, context));
  return simplifyAffineExpr(linear.replaceDims(replacements), dims.size(), 0);
}

Value KernelValues::loadAt(Value pointer, Type element, ArrayRef<int64_t> shape, AffineMap at) {
  AffineExpr linear = linearize(at.getResults(), shape, dimValues, context);
  AffineExpr row = getAffineConstantExpr(0, context), column = row;
  splitTerms(linear, rowDims, dimValues.size(), row, column);
  Value base = atRowPoint([&] { return code.address(pointer, emitExpr(row), element); });
  return code.load(base, emitExpr(column), element);
}

void KernelValues::storeResult(unsigned result, Value value, AffineMap at) {
  auto type = cast<RankedTensorType>(kernel.getResultTypes()[result]);
  size_t tensors = interface.pointers.size() - kernel.getResultTypes().size();
  AffineExpr linear = linearize(at.getResults(), type.getShape(), dimValues, context);
  AffineExpr row = getAffineConstantExpr(0, context), column = row;
  splitTerms(linear, rowDims, dimValues.size(), row, column);
  Value pointer = interface.pointers[tensors + result];
  Value base =
      atRowPoint([&] { return code.address(pointer, emitExpr(row), type.getElementType()); });
  code.store(value, base, emitExpr(column), type.getElementType());
}

Value KernelValues::linearIndex(ArrayRef<AffineExpr> at, ArrayRef<int64_t> shape) {
  return emitExpr(linearize(at, shape, dimValues, context));
}

Value KernelValues::emitExpr(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return code.i64(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    Value value = dimValues[dim.getPosition()];
    return value ? value : code.i64(0);
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value x = emitExpr(binary.getLHS()), y = emitExpr(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return code.add(x, y);
  case AffineExprKind::Mul:
    return code.mul(x, y);
  case AffineExprKind::Mod:
    return arith::RemUIOp::create(code.b, code.loc, x, y);
  case AffineExprKind::FloorDiv:
    return arith::DivUIOp::create(code.b, code.loc, x, y);
  default:
    return arith::CeilDivUIOp::create(code.b, code.loc, x, y);
  }
}
