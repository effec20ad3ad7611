//===- Passes.h - Passes that lower exec to machine code -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER_PASSES_H
#define ULSC_PASSES_LOWER_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
namespace arith {
class ArithDialect;
} // namespace arith
namespace math {
class MathDialect;
} // namespace math
namespace scf {
class SCFDialect;
} // namespace scf
namespace LLVM {
class LLVMDialect;
} // namespace LLVM
} // namespace mlir

namespace ulsc {

#define GEN_PASS_DECL
#include "passes/Lower/LowerPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Lower/LowerPasses.h.inc"

/// From exec with planned buffers to the llvm dialect, for the CPU.
void buildCpuPipeline(mlir::OpPassManager &passes);

/// Registers `ulsc-cpu-pipeline`.
void registerCpuPipeline();

} // namespace ulsc

#endif // ULSC_PASSES_LOWER_PASSES_H
