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

namespace ulsc::dist {

/// A mesh axis or a part of it.
struct AxisPart {
  /// Of the whole axis, from major to minor.
  unsigned position;
  int64_t size;
  /// Ranks of the axis behind the part: neighbours along the part are so far from one another.
  int64_t minor;

  int64_t getCoordinate(int64_t onAxis) const { return onAxis / minor % size; }
};

/// The axis that `text` names or names a part of: `dp` of `dp` and of `dp:(2)4`.
llvm::StringRef getWholeAxis(llvm::StringRef text);

/// How many ranks parts of axes may join that take the minor axes first, for axes of `sizes` from
/// major to minor: from 1 to their product, ascending.
llvm::SmallVector<int64_t> getMinorRankCounts(llvm::ArrayRef<int64_t> sizes);

} // namespace ulsc::dist

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

/// The stage that runs a step or its later form, -1 where all ranks run it.
int64_t getStage(mlir::Operation *step);
/// Whether a stage holds a parameter; -1 holds all.
bool isOnStage(mlir::Operation *parameter, int64_t stage);

/// Name of an op in messages and causes: the source model's path, if its location has one.
std::string describeLocation(mlir::Location loc);
} // namespace ulsc::dist

#include "dialects/Dist/DistInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Dist/DistOps.h.inc"

#endif // ULSC_DIALECTS_DIST_DIST_H
