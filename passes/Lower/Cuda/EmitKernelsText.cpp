//===- EmitKernelsText.cpp - The kernels of a program as PTX ----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/DeviceFunctions.h"
#include "passes/Lower/Passes.h"
#include "passes/Lower/RuntimeCalls.h"
#include "ulsc/Target/Cuda.h"

namespace ulsc {
#define GEN_PASS_DEF_EMITKERNELSTEXTPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

namespace {
struct EmitKernelsText : ulsc::impl::EmitKernelsTextPassBase<EmitKernelsText> {
  using EmitKernelsTextPassBase::EmitKernelsTextPassBase;

  void runOnOperation() override {
    auto kernels = getOperation().lookupSymbol<ModuleOp>(lower::DeviceFunctions::kModuleName);
    if (!kernels)
      return;
    CudaOptions options;
    options.arch = arch;
    FailureOr<std::string> text = emitPtx(kernels, options);
    if (failed(text))
      return signalPassFailure();
    lower::RuntimeCalls(getOperation()).defineString("ulsc_kernels", *text, /*isExported=*/true);
    if (!keep)
      kernels.erase();
  }
};
} // namespace
