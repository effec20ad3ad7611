//===- EmitCudaKernels.cpp - Turn kernels into functions of a grid's threads ------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/DeviceFunctions.h"
#include "passes/Lower/Cuda/EmitGridKernel.h"
#include "passes/Lower/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace ulsc {
#define GEN_PASS_DEF_EMITCUDAKERNELSPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// The kernel of that many arguments, its control block first.
static KernelInterface readInterface(exec::KernelOp kernel, LLVM::LLVMFuncOp function) {
  KernelInterface interface{function, {}, {}, function.getArgument(0)};
  size_t tensors = llvm::count_if(kernel.getArgumentTypes(),
                                  [](Type type) { return isa<RankedTensorType>(type); });
  size_t position = 1;
  for (size_t i = 0; i < tensors + kernel.getResultTypes().size(); ++i)
    interface.pointers.push_back(function.getArgument(position++));
  for (size_t i = tensors; i < kernel.getArgumentTypes().size(); ++i)
    interface.scalars.push_back(function.getArgument(position++));
  return interface;
}

static Geometry emitBody(GridBuilder &grid, exec::KernelOp kernel, KernelValues &values) {
  if (isTranspose(kernel))
    return emitTileTranspose(grid, kernel, values);
  KernelPlan plan(kernel);
  for (auto emit :
       {emitElementKernel, emitWideRowKernel, emitWideColumnKernel, emitWideScatterKernel})
    if (std::optional<Geometry> geometry = emit(grid, plan, values))
      return *geometry;
  return emitSerialKernel(grid, plan, values);
}

namespace {
struct EmitCudaKernels : ulsc::impl::EmitCudaKernelsPassBase<EmitCudaKernels> {
  void runOnOperation() override {
    DeviceFunctions functions(getOperation());
    llvm::DenseMap<StringAttr, Geometry> emitted;
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<exec::KernelOp>())) {
      if (failed(kernel.verifyLowered()))
        return signalPassFailure();
      size_t tensors = llvm::count_if(kernel.getArgumentTypes(),
                                      [](Type type) { return isa<RankedTensorType>(type); });
      size_t pointers = tensors + kernel.getResultTypes().size();
      size_t scalars = kernel.getArgumentTypes().size() - tensors;
      OpBuilder builder(kernel);
      LLVM::LLVMFuncOp function =
          functions.create(kernel.getLoc(), kernel.getSymName(), pointers, scalars);
      builder.setInsertionPointToStart(&function.getBody().front());
      CodeBuilder code(builder, kernel.getLoc());
      GridBuilder grid(code, functions.getModule());
      KernelValues values(code, kernel, readInterface(kernel, function));
      Geometry geometry = emitBody(grid, kernel, values);
      LLVM::ReturnOp::create(builder, kernel.getLoc(), ValueRange());
      StringAttr name = kernel.getSymNameAttr();
      SmallVector<Type> buffers(kernel.getArgumentTypes().take_front(tensors));
      llvm::append_range(buffers, kernel.getResultTypes());
      size_t outputs = kernel.getResultTypes().size();
      kernel.erase();
      functions.describe(function, name, buffers, outputs, scalars, geometry);
      emitted[name] = geometry;
    }
    Builder builder(&getContext());
    getOperation().walk([&](exec::LaunchOp launch) {
      auto found = emitted.find(launch.getKernelAttr().getAttr());
      if (found == emitted.end())
        return;
      launch.setExtentAttr(builder.getI64IntegerAttr(found->second.blocks));
      launch.setGrainAttr(builder.getI64IntegerAttr(found->second.threads));
    });
  }
};
} // namespace
