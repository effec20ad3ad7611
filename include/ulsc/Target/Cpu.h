//===- Cpu.h - Machine code and executables for the CPU -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_TARGET_CPU_H
#define ULSC_TARGET_CPU_H

#include "mlir/IR/BuiltinOps.h"
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace ulsc {

struct CpuOptions {
  std::string cpu = "native"; ///< a name that LLVM knows, or the machine that compiles
  unsigned level = 3;         ///< LLVM's optimisation level, 0 to 3
};

/// The machine that `options` name; emits an error at `loc` and returns null when there is none.
std::unique_ptr<llvm::TargetMachine> createCpuMachine(mlir::Location loc,
                                                      const CpuOptions &options);

/// Translates a module of the llvm dialect and optimises it; null after an error.
std::unique_ptr<llvm::Module> translateForCpu(mlir::ModuleOp module, llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine,
                                              const CpuOptions &options);

/// Writes the object file of a module of the llvm dialect.
mlir::LogicalResult emitCpuObject(mlir::ModuleOp module, const CpuOptions &options,
                                  llvm::StringRef path);

/// Links object files with the runtime of `target`, `cpu` or `cuda`, into an executable. The
/// runtime is `libulsc_runtime_<target>.a` and `libulsc_runtime_core.a` in `../lib` beside the
/// compiler's executable, which `tool` names (argv[0]).
mlir::LogicalResult linkProgram(mlir::Location loc, llvm::ArrayRef<std::string> objects,
                                llvm::StringRef target, llvm::StringRef output,
                                llvm::StringRef tool);

} // namespace ulsc

#endif // ULSC_TARGET_CPU_H
