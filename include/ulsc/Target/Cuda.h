//===- Cuda.h - PTX of a program's kernels --------------------------------------------*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_TARGET_CUDA_H
#define ULSC_TARGET_CUDA_H

#include "mlir/IR/Operation.h"

#include <string>

namespace ulsc {

struct CudaOptions {
  std::string arch = "sm_90"; ///< of `getCudaArchitectures`
  unsigned level = 3;         ///< LLVM's optimisation level, 0 to 3
};

/// The architectures that kernels are compiled for: newer devices run them, too.
llvm::ArrayRef<llvm::StringRef> getCudaArchitectures();

/// The PTX of `kernels`, a module of functions of the llvm and nvvm dialects; fails after an error.
mlir::FailureOr<std::string> emitPtx(mlir::Operation *kernels, const CudaOptions &options);

} // namespace ulsc

#endif // ULSC_TARGET_CUDA_H
