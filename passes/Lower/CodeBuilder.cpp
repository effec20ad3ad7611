//===- CodeBuilder.cpp - Scalar code on bare pointers -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/CodeBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace ulsc::lower;

Type CodeBuilder::registerType(Type type) {
  if (type.isBF16() || type.isF16())
    return Float32Type::get(type.getContext());
  if (type.isIndex())
    return IntegerType::get(type.getContext(), 64);
  return type;
}

Value CodeBuilder::i64(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}
Value CodeBuilder::i32(uint32_t value) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(i32Type(), APInt(32, value)));
}
Value CodeBuilder::f32(float value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}
Value CodeBuilder::f32Bits(uint32_t bits) {
  return arith::ConstantOp::create(
      b, loc, b.getFloatAttr(f32Type(), APFloat(APFloat::IEEEsingle(), APInt(32, bits))));
}

Value CodeBuilder::add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
Value CodeBuilder::sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
Value CodeBuilder::mul(Value x, Value y) { return arith::MulIOp::create(b, loc, x, y); }
Value CodeBuilder::minimum(Value x, Value y) { return arith::MinSIOp::create(b, loc, x, y); }
Value CodeBuilder::divide(Value x, int64_t y) { return arith::DivUIOp::create(b, loc, x, i64(y)); }
Value CodeBuilder::remainder(Value x, int64_t y) {
  return arith::RemUIOp::create(b, loc, x, i64(y));
}

Value CodeBuilder::addf(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y, flags); }
Value CodeBuilder::subf(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y, flags); }
Value CodeBuilder::mulf(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y, flags); }
Value CodeBuilder::divf(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y, flags); }
Value CodeBuilder::fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
Value CodeBuilder::cmpf(arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(b, loc, predicate, x, y);
}
Value CodeBuilder::cmpi(arith::CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(b, loc, predicate, x, y);
}
Value CodeBuilder::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, loc, condition, x, y);
}
Value CodeBuilder::bitcast(Type type, Value x) { return arith::BitcastOp::create(b, loc, type, x); }

/// Rounds to nearest even in integer arithmetic, which vectorises on any target.
Value CodeBuilder::roundBits(Value x) {
  Value bits = bitcast(i32Type(), x);
  Value odd = arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, bits, i32(16)), i32(1));
  Value up = add(add(bits, i32(0x7fff)), odd);
  Value isNaN = cmpf(arith::CmpFPredicate::UNO, x, x);
  return select(isNaN, i32(0x7fc00000), up);
}

Value CodeBuilder::roundTo(Type narrow, Value x) {
  if (rounded.lookup(x) == narrow)
    return x;
  Value result;
  if (narrow.isBF16()) {
    Value bits = arith::AndIOp::create(b, loc, roundBits(x), i32(0xffff0000));
    result = bitcast(f32Type(), bits);
  } else {
    Value small = arith::TruncFOp::create(b, loc, narrow, x);
    result = arith::ExtFOp::create(b, loc, f32Type(), small);
  }
  rounded[result] = narrow;
  return result;
}

Value CodeBuilder::address(Value pointer, Value index, Type element) {
  if (element.isInteger(1))
    element = b.getI8Type();
  else if (element.isBF16())
    element = b.getI16Type();
  else if (element.isIndex())
    element = i64Type();
  return LLVM::GEPOp::create(b, loc, ptrType(), element, pointer, ArrayRef<LLVM::GEPArg>{index},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value CodeBuilder::addressBytes(Value pointer, int64_t bytes) {
  return LLVM::GEPOp::create(b, loc, ptrType(), b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{i64(bytes)}, LLVM::GEPNoWrapFlags::inbounds);
}

Value CodeBuilder::load(Value pointer, Value index, Type element) {
  Value from = address(pointer, index, element);
  Type memory = element.isBF16()       ? Type(b.getI16Type())
                : element.isInteger(1) ? Type(b.getI8Type())
                : element.isIndex()    ? i64Type()
                                       : element;
  auto load = LLVM::LoadOp::create(b, loc, memory, from);
  if (accessGroup)
    load.setAccessGroupsAttr(b.getArrayAttr(accessGroup));
  Value value = load;
  if (element.isInteger(1))
    return arith::TruncIOp::create(b, loc, element, value);
  if (element.isF16())
    value = arith::ExtFOp::create(b, loc, f32Type(), value);
  if (element.isBF16()) {
    Value wide = arith::ExtUIOp::create(b, loc, i32Type(), value);
    value = bitcast(f32Type(), arith::ShLIOp::create(b, loc, wide, i32(16)));
  }
  if (element.isF16() || element.isBF16())
    rounded[value] = element;
  return value;
}

void CodeBuilder::store(Value value, Value pointer, Value index, Type element) {
  if (element.isInteger(1))
    value = arith::ExtUIOp::create(b, loc, b.getI8Type(), value);
  if (element.isF16())
    value = arith::TruncFOp::create(b, loc, element, value);
  if (element.isBF16()) {
    Value bits = rounded.lookup(value) == element ? bitcast(i32Type(), value) : roundBits(value);
    value = arith::TruncIOp::create(b, loc, b.getI16Type(),
                                    arith::ShRUIOp::create(b, loc, bits, i32(16)));
  }
  auto store = LLVM::StoreOp::create(b, loc, value, address(pointer, index, element));
  if (accessGroup)
    store.setAccessGroupsAttr(b.getArrayAttr(accessGroup));
}

Value CodeBuilder::loadPointer(Value pointer, int64_t index) {
  return LLVM::LoadOp::create(b, loc, ptrType(), addressBytes(pointer, index * 8));
}

Value CodeBuilder::stack(int64_t bytes) {
  OpBuilder::InsertionGuard guard(b);
  auto function = b.getInsertionBlock()->getParentOp();
  if (!isa<LLVM::LLVMFuncOp>(function))
    function = function->getParentOfType<LLVM::LLVMFuncOp>();
  b.setInsertionPointToStart(&function->getRegion(0).front());
  return LLVM::AllocaOp::create(b, loc, ptrType(), b.getI8Type(), i64(bytes), /*alignment=*/64);
}

scf::ForOp CodeBuilder::loop(Value begin, Value end, Value step, ValueRange carried, Body body) {
  auto op = scf::ForOp::create(b, loc, begin, end, step, carried);
  OpBuilder::InsertionGuard guard(b);
  // The body may place code before the loop, so the loop stands already.
  if (carried.empty())
    b.setInsertionPoint(op.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(op.getBody());
  SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b, loc, next);
  return op;
}

scf::ForOp CodeBuilder::independentLoop(Value begin, Value end, ValueRange carried, Body body) {
  MLIRContext *context = b.getContext();
  Attribute outer = accessGroup;
  auto group = LLVM::AccessGroupAttr::get(context, DistinctAttr::create(UnitAttr::get(context)));
  accessGroup = group;
  scf::ForOp result = loop(begin, end, i64(1), carried, body);
  accessGroup = outer;
  auto annotation =
      LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                                    ArrayRef<LLVM::AccessGroupAttr>(group));
  result->setAttr("llvm.loop_annotation", annotation);
  return result;
}

void CodeBuilder::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto op = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.thenBlock()->getTerminator());
  body();
}

void CodeBuilder::ifThenElse(Value condition, llvm::function_ref<void()> yes,
                             llvm::function_ref<void()> no) {
  auto op = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.thenBlock()->getTerminator());
  yes();
  b.setInsertionPoint(op.elseBlock()->getTerminator());
  no();
}

SmallVector<Value> CodeBuilder::either(Value condition, TypeRange types, Branch yes, Branch no) {
  if (types.empty()) {
    ifThenElse(condition, [&] { yes(); }, [&] { no(); });
    return {};
  }
  auto op = scf::IfOp::create(b, loc, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(b, loc, yes());
  b.setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(b, loc, no());
  return llvm::to_vector_of<Value>(op.getResults());
}
