//===- EmitMath.h - Elementary functions in generated code -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER_EMITMATH_H
#define ULSC_PASSES_LOWER_EMITMATH_H

#include "passes/Lower/CodeBuilder.h"

namespace ulsc::lower {

// Functions of one f32, within a few units in the last place, in branch-free code that vectorises.
// NaN gives NaN; infinities give the limits.

mlir::Value emitExp(CodeBuilder &code, mlir::Value x);
mlir::Value emitLog(CodeBuilder &code, mlir::Value x);
mlir::Value emitLog1p(CodeBuilder &code, mlir::Value x);
mlir::Value emitTanh(CodeBuilder &code, mlir::Value x);
mlir::Value emitErf(CodeBuilder &code, mlir::Value x);
/// Of angles up to 10^9.
mlir::Value emitSin(CodeBuilder &code, mlir::Value x);
mlir::Value emitCos(CodeBuilder &code, mlir::Value x);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_EMITMATH_H
