//===- DeviceFunctions.h - Functions of the device, and what the host knows of them --*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_CUDA_DEVICEFUNCTIONS_H
#define ULSC_PASSES_LOWER_CUDA_DEVICEFUNCTIONS_H

#include "passes/Lower/Cuda/GridBuilder.h"

#include "mlir/IR/BuiltinOps.h"

namespace ulsc::lower {

/// The module `kernels` within the program's, which becomes PTX, and the `ulsc_device_kernel` of
/// each of its functions on the host, under the name that launches have.
class DeviceFunctions {
public:
  static constexpr llvm::StringLiteral kModuleName = "kernels";

  explicit DeviceFunctions(mlir::ModuleOp module);

  mlir::ModuleOp getModule() { return kernels; }

  /// A kernel with an entry block and no more. Its arguments: the address of the control block,
  /// addresses of buffers, scalars as i64.
  mlir::LLVM::LLVMFuncOp create(mlir::Location loc, llvm::StringRef name, size_t pointers,
                                size_t scalars);
  /// Says how it is launched, to PTX and to the host, where `name` is the descriptor. `buffers` are
  /// the types of what the pointers lead to; it writes the last `outputs` of them. One that
  /// `readsArena` has a single pointer, to the arena, whatever its buffers.
  void describe(mlir::LLVM::LLVMFuncOp function, mlir::StringAttr name, mlir::TypeRange buffers,
                size_t outputs, size_t scalars, const Geometry &geometry, bool readsArena = false);

  /// On a function the name of its descriptor, which launches have; the text has none of it.
  static constexpr llvm::StringLiteral kDescriptorAttrName = "exec.descriptor";

private:
  mlir::ModuleOp module;
  mlir::ModuleOp kernels;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_CUDA_DEVICEFUNCTIONS_H
