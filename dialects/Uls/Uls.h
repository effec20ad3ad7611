//===- Uls.h - The uls dialect: models and their training -------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_DIALECTS_ULS_ULS_H
#define ULSC_DIALECTS_ULS_ULS_H

#include "dialects/Dist/Dist.h"
#include "dialects/Uls/AdjointBuilder.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ulsc::uls {
/// On ops whose results are cheaper to compute again than to keep.
template <typename ConcreteType>
class CheapToRecompute : public mlir::OpTrait::TraitBase<ConcreteType, CheapToRecompute> {};
/// On ops whose result only rearranges or converts its operands.
template <typename ConcreteType>
class KeepsGradientDtype : public mlir::OpTrait::TraitBase<ConcreteType, KeepsGradientDtype> {};
class ResultOp;
} // namespace ulsc::uls

#include "dialects/Uls/UlsDialect.h.inc"
#include "dialects/Uls/UlsEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Uls/UlsAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Uls/UlsTypes.h.inc"

#include "dialects/Uls/UlsInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Uls/UlsOps.h.inc"

#endif // ULSC_DIALECTS_ULS_ULS_H
