//===- GridBuilder.cpp - Code of the threads of a grid ----------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/GridBuilder.h"

#include "dialects/Exec/ExecOps.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

static constexpr uint32_t kAllLanes = 0xffffffff;
static constexpr unsigned kSharedSpace = 3;

/// A special register, which is an i32, as an index.
template <typename Op>
static Value readRegister(CodeBuilder &code) {
  return arith::ExtUIOp::create(code.b, code.loc, code.i64Type(),
                                Op::create(code.b, code.loc, code.i32Type()));
}

Value GridBuilder::thread() { return readRegister<NVVM::ThreadIdXOp>(code); }
Value GridBuilder::block() { return readRegister<NVVM::BlockIdXOp>(code); }
Value GridBuilder::lane() { return code.remainder(thread(), kWarpSize); }
Value GridBuilder::warp() { return code.divide(thread(), kWarpSize); }

void GridBuilder::syncBlock() {
  NVVM::BarrierOp::create(code.b, code.loc, TypeRange(), Value(), Value(),
                          NVVM::BarrierReductionAttr(), Value());
}

void GridBuilder::syncWarp() { NVVM::SyncWarpOp::create(code.b, code.loc, code.i32(kAllLanes)); }

Value GridBuilder::shared(int64_t bytes) {
  OpBuilder::InsertionGuard guard(code.b);
  auto function = code.b.getInsertionBlock()->getParentOp();
  if (!isa<LLVM::LLVMFuncOp>(function))
    function = function->getParentOfType<LLVM::LLVMFuncOp>();
  auto name = (cast<LLVM::LLVMFuncOp>(function).getSymName() + ".shared").str();
  code.b.setInsertionPoint(function);
  auto type = LLVM::LLVMArrayType::get(code.b.getI8Type(), bytes);
  auto variable =
      LLVM::GlobalOp::create(code.b, code.loc, type, /*isConstant=*/false, LLVM::Linkage::Internal,
                             name, Attribute(), /*alignment=*/16, kSharedSpace);
  // Renames it where the function has another one.
  SymbolTable(kernels).insert(variable);
  code.b.setInsertionPointToStart(&function->getRegion(0).front());
  Value address = LLVM::AddressOfOp::create(
      code.b, code.loc, LLVM::LLVMPointerType::get(code.b.getContext(), kSharedSpace),
      variable.getSymName());
  return LLVM::AddrSpaceCastOp::create(code.b, code.loc, code.ptrType(), address);
}

//===---------------------------------------------------------------------------------------===//
// Alignment
//===---------------------------------------------------------------------------------------===//

Value GridBuilder::areAligned(ArrayRef<Value> pointers) {
  Value bits = code.i64(0);
  for (Value pointer : pointers)
    bits =
        arith::OrIOp::create(code.b, code.loc, bits,
                             LLVM::PtrToIntOp::create(code.b, code.loc, code.i64Type(), pointer));
  Value low = arith::AndIOp::create(code.b, code.loc, bits, code.i64(15));
  return code.cmpi(arith::CmpIPredicate::eq, low, code.i64(0));
}

void GridBuilder::assumeAligned(ArrayRef<Value> pointers) {
  Value yes = arith::ConstantOp::create(code.b, code.loc, code.b.getBoolAttr(true));
  for (Value pointer : pointers)
    LLVM::AssumeOp::create(code.b, code.loc, yes, LLVM::AssumeAlignTag(), pointer, code.i64(16));
}

//===---------------------------------------------------------------------------------------===//
// Exchange
//===---------------------------------------------------------------------------------------===//

/// The value of the lane whose number differs in the bit `offset`. 64 bits travel as two halves.
Value GridBuilder::shuffle(Value value, int64_t offset) {
  auto exchange = [&](Value half) -> Value {
    return NVVM::ShflOp::create(code.b, code.loc, half.getType(), code.i32(kAllLanes), half,
                                code.i32(offset), code.i32(kWarpSize - 1), NVVM::ShflKind::bfly,
                                UnitAttr());
  };
  Type type = value.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 32)
    return exchange(value);
  Type wide = code.b.getIntegerType(width);
  Value bits = isa<FloatType>(type) ? code.bitcast(wide, value) : value;
  if (width < 32) {
    bits = exchange(arith::ExtUIOp::create(code.b, code.loc, code.i32Type(), bits));
    bits = arith::TruncIOp::create(code.b, code.loc, wide, bits);
  } else {
    Value low = arith::TruncIOp::create(code.b, code.loc, code.i32Type(), bits);
    Value high =
        arith::TruncIOp::create(code.b, code.loc, code.i32Type(),
                                arith::ShRUIOp::create(code.b, code.loc, bits, code.i64(32)));
    low = arith::ExtUIOp::create(code.b, code.loc, wide, exchange(low));
    high = arith::ExtUIOp::create(code.b, code.loc, wide, exchange(high));
    bits = arith::OrIOp::create(code.b, code.loc, low,
                                arith::ShLIOp::create(code.b, code.loc, high, code.i64(32)));
  }
  return isa<FloatType>(type) ? code.bitcast(type, bits) : bits;
}

Value GridBuilder::combineWarp(const Combiner &combiner, Value value) {
  for (int64_t offset = kWarpSize / 2; offset > 0; offset /= 2)
    value = combiner.combine(code, value, shuffle(value, offset));
  return value;
}

SmallVector<Value> GridBuilder::combineBlock(ArrayRef<Combiner> combiners, ArrayRef<Value> values,
                                             int64_t threads) {
  int64_t warps = threads / kWarpSize;
  SmallVector<Value> results, places;
  Value warpIndex = warp(), laneIndex = lane();
  Value isFirst = code.cmpi(arith::CmpIPredicate::eq, laneIndex, code.i64(0));
  for (auto [combiner, value] : llvm::zip_equal(combiners, values)) {
    results.push_back(combineWarp(combiner, value));
    places.push_back(shared(warps * exec::getElementBytes(combiner.type())));
  }
  code.ifThen(isFirst, [&] {
    for (auto [combiner, place, value] : llvm::zip_equal(combiners, places, results))
      code.store(value, place, warpIndex, combiner.type());
  });
  syncBlock();
  // Every warp joins the warps' values by itself, which saves the second barrier.
  for (auto [combiner, place, value] : llvm::zip_equal(combiners, places, results)) {
    Value within = arith::RemUIOp::create(code.b, code.loc, laneIndex, code.i64(warps));
    Value partial = code.load(place, within, combiner.type());
    for (int64_t offset = warps / 2; offset > 0; offset /= 2)
      partial = combiner.combine(code, partial, shuffle(partial, offset));
    value = partial;
  }
  return results;
}
