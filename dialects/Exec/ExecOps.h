//===- ExecOps.h - Ops of the exec dialect -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_EXEC_EXECOPS_H
#define ULSC_DIALECTS_EXEC_EXECOPS_H

#include "dialects/Exec/ExecDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.h.inc"

#endif // ULSC_DIALECTS_EXEC_EXECOPS_H
