//===- CodeBuilder.h - Scalar code on bare pointers -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER_CODEBUILDER_H
#define ULSC_PASSES_LOWER_CODEBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace ulsc::lower {

/// Builds scalar code with i64 indices and bare pointers. In registers bf16 and f16 are f32 values
/// that the narrow type can represent, and index is i64; memory holds the type itself, i1 as a
/// byte.
class CodeBuilder {
public:
  CodeBuilder(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  /// Flags of float arithmetic.
  mlir::arith::FastMathFlags flags =
      mlir::arith::FastMathFlags::contract | mlir::arith::FastMathFlags::nsz;
  /// The access group that loads and stores join, if any.
  mlir::Attribute accessGroup;

  mlir::Type i64Type() { return b.getI64Type(); }
  mlir::Type i32Type() { return b.getI32Type(); }
  mlir::Type f32Type() { return b.getF32Type(); }
  mlir::Type ptrType() { return mlir::LLVM::LLVMPointerType::get(b.getContext()); }
  static mlir::Type registerType(mlir::Type type);

  mlir::Value i64(int64_t value);
  mlir::Value i32(uint32_t value);
  mlir::Value f32(float value);
  mlir::Value f32Bits(uint32_t bits);

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value minimum(mlir::Value x, mlir::Value y); ///< of signed integers
  mlir::Value divide(mlir::Value x, int64_t y);      ///< of non-negative integers
  mlir::Value remainder(mlir::Value x, int64_t y);   ///< of non-negative integers

  mlir::Value addf(mlir::Value x, mlir::Value y);
  mlir::Value subf(mlir::Value x, mlir::Value y);
  mlir::Value mulf(mlir::Value x, mlir::Value y);
  mlir::Value divf(mlir::Value x, mlir::Value y);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value cmpf(mlir::arith::CmpFPredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value cmpi(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value bitcast(mlir::Type type, mlir::Value x);

  /// The f32 nearest to `x` that `narrow` (bf16 or f16) can represent; NaN stays NaN.
  mlir::Value roundTo(mlir::Type narrow, mlir::Value x);

  mlir::Value address(mlir::Value pointer, mlir::Value index, mlir::Type element);
  mlir::Value addressBytes(mlir::Value pointer, int64_t bytes);
  mlir::Value load(mlir::Value pointer, mlir::Value index, mlir::Type element);
  void store(mlir::Value value, mlir::Value pointer, mlir::Value index, mlir::Type element);
  mlir::Value loadPointer(mlir::Value pointer, int64_t index);

  /// `bytes` on the stack, allocated in the entry block of the enclosing function.
  mlir::Value stack(int64_t bytes);

  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  /// A loop; `body` gets the index and the carried values and returns the next ones.
  mlir::scf::ForOp loop(mlir::Value begin, mlir::Value end, mlir::Value step,
                        mlir::ValueRange carried, Body body);
  /// A loop whose iterations touch no memory of one another, which vectorises.
  mlir::scf::ForOp independentLoop(mlir::Value begin, mlir::Value end, mlir::ValueRange carried,
                                   Body body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  void ifThenElse(mlir::Value condition, llvm::function_ref<void()> yes,
                  llvm::function_ref<void()> no);
  using Branch = llvm::function_ref<llvm::SmallVector<mlir::Value>()>;
  /// The values of one of two branches, of `types`.
  llvm::SmallVector<mlir::Value> either(mlir::Value condition, mlir::TypeRange types, Branch yes,
                                        Branch no);

private:
  mlir::Value roundBits(mlir::Value x);
  llvm::DenseMap<mlir::Value, mlir::Type> rounded; ///< values already of a narrow type
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_CODEBUILDER_H
