//===- EmitCpuKernels.cpp - Turn kernels into functions of loops -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Lower/EmitKernel.h"
#include "passes/Lower/Passes.h"

namespace ulsc {
#define GEN_PASS_DEF_EMITCPUKERNELSPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

LLVM::LLVMFuncOp ulsc::lower::createKernelFunction(OpBuilder &builder, Location loc,
                                                   StringRef name) {
  MLIRContext *context = builder.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, pointer, i64, i64, i64});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, name, type, LLVM::Linkage::Internal);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  return function;
}

/// Arguments come as an array of addresses, a scalar in the place of one.
static KernelInterface loadInterface(CodeBuilder &code, exec::KernelOp kernel,
                                     LLVM::LLVMFuncOp function) {
  KernelInterface result{function, {}, {}, code.loadPointer(function.getArgument(0), 1)};
  Value arguments = function.getArgument(1);
  int64_t position = 0;
  size_t tensors = llvm::count_if(kernel.getArgumentTypes(),
                                  [](Type type) { return isa<RankedTensorType>(type); });
  for (size_t i = 0; i < tensors + kernel.getResultTypes().size(); ++i)
    result.pointers.push_back(code.loadPointer(arguments, position++));
  for (size_t i = tensors; i < kernel.getArgumentTypes().size(); ++i)
    result.scalars.push_back(LLVM::PtrToIntOp::create(code.b, code.loc, code.i64Type(),
                                                      code.loadPointer(arguments, position++)));
  return result;
}

namespace {

struct Launchable {
  int64_t extent, grain;
};

/// Emits `kernel` as a function before it.
Launchable emitKernel(exec::KernelOp kernel) {
  OpBuilder builder(kernel);
  StringAttr name = kernel.getSymNameAttr();
  LLVM::LLVMFuncOp function = createKernelFunction(builder, kernel.getLoc(), name);
  CodeBuilder code(builder, kernel.getLoc());
  KernelValues values(code, kernel, loadInterface(code, kernel, function));
  Value begin = function.getArgument(2), end = function.getArgument(3);
  Launchable result;
  if (isTranspose(kernel)) {
    emitTransposeKernel(code, kernel, values, begin, end);
    result = {getTransposeExtent(kernel), 1};
  } else {
    KernelPlan plan(kernel);
    if (kernel.getKind() == exec::KernelKind::Rows)
      emitRowKernel(code, plan, values, begin, end);
    else if (kernel.getKind() == exec::KernelKind::Columns)
      emitColumnKernel(code, plan, values, begin, end);
    else
      emitScatterKernel(code, plan, values, begin, end);
    result = {plan.extent, plan.grain};
  }
  LLVM::ReturnOp::create(builder, kernel.getLoc(), ValueRange());
  kernel.erase();
  return result;
}

struct EmitCpuKernels : public ulsc::impl::EmitCpuKernelsPassBase<EmitCpuKernels> {
  void runOnOperation() override {
    llvm::DenseMap<StringAttr, Launchable> emitted;
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<exec::KernelOp>())) {
      StringAttr name = kernel.getSymNameAttr();
      if (failed(kernel.verifyLowered()))
        return signalPassFailure();
      emitted[name] = emitKernel(kernel);
    }
    Builder builder(&getContext());
    getOperation().walk([&](exec::LaunchOp launch) {
      auto found = emitted.find(launch.getKernelAttr().getAttr());
      if (found == emitted.end())
        return;
      launch.setExtentAttr(builder.getI64IntegerAttr(found->second.extent));
      launch.setGrainAttr(builder.getI64IntegerAttr(found->second.grain));
    });
  }
};

} // namespace
