//===- ExecDialect.h - The exec dialect -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_EXEC_EXECDIALECT_H
#define ULSC_DIALECTS_EXEC_EXECDIALECT_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"

#include "dialects/Exec/ExecDialect.h.inc"
#include "dialects/Exec/ExecEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.h.inc"

namespace ulsc::exec {

/// On a `uls.attention` or its gradient: the library that computes it, an AttentionLibraryAttr.
constexpr llvm::StringLiteral kLibraryAttrName = "exec.library";

/// Whether `type` is a memref of static shape and identity layout.
bool isBuffer(mlir::Type type);

/// Whether `type` is a memref of static shape whose elements lie in row-major order, at any offset.
bool isContiguous(mlir::Type type);

/// Bytes of an element in memory; i1 takes one.
int64_t getElementBytes(mlir::Type elementType);

/// Bytes of a static memref or tensor.
int64_t getBytes(mlir::ShapedType type);

} // namespace ulsc::exec

#endif // ULSC_DIALECTS_EXEC_EXECDIALECT_H
