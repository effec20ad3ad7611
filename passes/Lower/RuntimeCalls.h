//===- RuntimeCalls.h - Calls of the runtime and their constant descriptors -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER_RUNTIMECALLS_H
#define ULSC_PASSES_LOWER_RUNTIMECALLS_H

#include "dialects/Exec/ExecOps.h"
#include "passes/Lower/CodeBuilder.h"
#include <variant>

namespace ulsc::lower {

/// On a fill that only says that the buffer's value has ended.
constexpr llvm::StringLiteral kPoisonAttrName = "exec.poison";

/// Declares the functions of include/ulsc/RuntimeABI.h in a module and makes the constants that
/// they take. Equal constants are made once.
class RuntimeCalls {
public:
  explicit RuntimeCalls(mlir::ModuleOp module) : module(module), symbols(module) {}

  /// Calls the void function `name` of the runtime.
  void call(CodeBuilder &code, llvm::StringRef name, mlir::ValueRange arguments);

  /// The address of the `ulsc_gemm_desc` of `op`.
  mlir::Value gemmDescriptor(CodeBuilder &code, exec::GemmOp op);
  /// Of an exec.attention or its gradient that a library computes.
  mlir::Value attentionDescriptor(CodeBuilder &code, mlir::Operation *op);
  /// The address of the `ulsc_collective_desc` of `op`.
  mlir::Value collectiveDescriptor(CodeBuilder &code, exec::CollectiveStartOp op);
  /// The address of what `describeSources` says of `location`; null where it says nothing.
  mlir::Value source(CodeBuilder &code, mlir::Location location);
  /// The address of `text`, terminated by a NUL.
  mlir::Value string(CodeBuilder &code, llvm::StringRef text);
  /// Defines `name` as a constant NUL-terminated string.
  void defineString(llvm::StringRef name, llvm::StringRef text, bool isExported);

  /// A field of a global struct: a number (i32, i64 or f64) or the address of another global.
  using Field = std::variant<int32_t, int64_t, double, mlir::FlatSymbolRefAttr>;

private:
  mlir::FlatSymbolRefAttr structConstant(llvm::StringRef prefix, llvm::ArrayRef<Field> fields);
  mlir::FlatSymbolRefAttr arrayConstant(llvm::StringRef prefix, mlir::DenseElementsAttr values);
  mlir::FlatSymbolRefAttr stringConstant(llvm::StringRef text);
  mlir::FlatSymbolRefAttr
  unique(llvm::StringRef prefix, llvm::StringRef key,
         llvm::function_ref<void(mlir::OpBuilder &, llvm::StringRef)> create);
  mlir::Value addressOf(CodeBuilder &code, mlir::FlatSymbolRefAttr symbol);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::FlatSymbolRefAttr> constants;
};

/// The source model's ops that `location` names: "model.layers.*.mlp, model.layers.*.norm", those
/// of a fused kernel in its order and no more than four. Empty where it names none.
std::string describeSources(mlir::Location location);

/// The `ulsc_dtype` of `type`.
int32_t getDtype(mlir::Type type);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_RUNTIMECALLS_H
