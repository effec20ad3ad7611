//===- Dist.h - The dist dialect: mesh, shardings, collectives --------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_DIALECTS_DIST_DIST_H
#define ULSC_DIALECTS_DIST_DIST_H

#include "dialects/Dist/ShardingRule.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Dist/DistDialect.h.inc"
#include "dialects/Dist/DistEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/DistAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Dist/DistTypes.h.inc"

namespace ulsc::dist {

/// A local value and how it lies on the mesh, partials included.
struct PartitionedValue {
  mlir::Value value;
  ShardingAttr sharding;
};

/// What an op needs to write its local form.
struct PartitionState {
  mlir::OpBuilder &builder;
  mlir::FlatSymbolRefAttr meshName;
  MeshAttr mesh;
  /// How the operands lie, one per operand, null for operands that are not ranked tensors.
  llvm::SmallVector<ShardingAttr> operandShardings;
  /// How the results should lie (by propagation; partials are the op's to decide).
  llvm::SmallVector<ShardingAttr> resultShardings;
  /// For each operand, mesh axis to the annotation by which it shards the operand; causes quote it.
  llvm::SmallVector<mlir::DictionaryAttr> operandOrigins;
  /// Global types of the original op.
  llvm::SmallVector<mlir::Type> operandTypes, resultTypes;
};

/// Name of an op in messages and causes: the source model's path, if its location has one.
std::string describeLocation(mlir::Location loc);
} // namespace ulsc::dist

#include "dialects/Dist/DistInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Dist/DistOps.h.inc"

#endif // ULSC_DIALECTS_DIST_DIST_H
