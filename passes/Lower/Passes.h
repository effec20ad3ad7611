//===- Passes.h - Stage from one rank's values to its program on buffers ----------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_PASSES_H
#define ULSC_PASSES_LOWER_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
namespace arith {
class ArithDialect;
} // namespace arith
namespace linalg {
class LinalgDialect;
} // namespace linalg
namespace LLVM {
class LLVMDialect;
} // namespace LLVM
namespace math {
class MathDialect;
} // namespace math
namespace scf {
class SCFDialect;
} // namespace scf
namespace tensor {
class TensorDialect;
} // namespace tensor
namespace NVVM {
class NVVMDialect;
} // namespace NVVM
} // namespace mlir

namespace ulsc {
namespace exec {
class ExecDialect;
} // namespace exec

#define GEN_PASS_DECL
#include "passes/Lower/LowerPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Lower/LowerPasses.h.inc"

/// What the lowering to `exec` is told.
struct LowerOptions {
  /// Threads per rank that scratch buffers are sized for.
  int64_t threads = 2;
  /// What the program runs on, "cpu" or "cuda".
  std::string target = "cpu";
  /// Fill buffers with NaN after their last use, for tests.
  bool poison = false;
  /// Who computes attention on a device: "auto", "own" kernels or "cudnn".
  std::string attention = "auto";
  /// Whether a device's products do what follows them where their library can.
  bool fusesEpilogues = true;
};

/// From the scheduled stage to `exec` with every offset: all passes of this folder, in order.
void buildLowerPipeline(mlir::OpPassManager &manager, const LowerOptions &options = {});

/// Registers the stage's pipeline as `ulsc-lower-pipeline`.
void registerLowerPipeline();

/// From exec with planned buffers to the llvm dialect, for the CPU.
void buildCpuPipeline(mlir::OpPassManager &passes);

/// Registers `ulsc-cpu-pipeline`.
void registerCpuPipeline();

/// Turns kernels of exec into PTX of an architecture; `keepsModule` leaves what the PTX came from.
void buildCudaKernelsPipeline(mlir::OpPassManager &passes, llvm::StringRef arch, bool keepsModule);

/// From exec with planned buffers to the llvm dialect, the kernels as PTX in it.
void buildCudaPipeline(mlir::OpPassManager &passes, llvm::StringRef arch);

/// Registers `ulsc-cuda-kernels-pipeline` and `ulsc-cuda-pipeline`.
void registerCudaPipelines();

} // namespace ulsc

#endif // ULSC_PASSES_LOWER_PASSES_H
