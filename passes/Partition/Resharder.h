//===- Resharder.h - Turns layouts into other layouts -----------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_PARTITION_RESHARDER_H
#define ULSC_PASSES_PARTITION_RESHARDER_H

#include "passes/Shard/ReshardPlan.h"

#include <deque>

namespace ulsc::shard {

/// A local value and how it lies.
struct LocalValue {
  mlir::Value value;
  Layout layout;
};

/// Why a reshard happens.
struct ReshardCause {
  /// Mesh axis to the reason of a pending sum over it; may be null.
  mlir::DictionaryAttr sums;
  /// Mesh axis to the annotation by which it shards the value; may be null.
  mlir::DictionaryAttr origins;
  /// Who asks, such as "model.norm: uls.rms_norm".
  std::string user;
  /// What to say instead of who asks, where that tells more; may be empty.
  std::string text = {};
  /// Where the collectives belong in the model, where that is not where the value comes from.
  mlir::LocationAttr place = {};
};

/// Writes the collectives of the cheapest plan, once per value and layout.
class Resharder {
public:
  Resharder(const Mesh &mesh, const cost::CommunicationCost &cost) : mesh(mesh), cost(cost) {}

  /// `from` as `to`; `type` is the global one. Emits at the builder's insertion point, or behind
  /// the value when that is in another block, so that later users find it.
  LocalValue reshard(mlir::OpBuilder &builder, LocalValue from, const Layout &to,
                     mlir::RankedTensorType type, const ReshardCause &cause);

private:
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Value value, const ReshardStep &step,
                   const Layout &before, mlir::RankedTensorType type, const ReshardCause &cause);
  mlir::Value flatten(mlir::OpBuilder &builder, mlir::Value value, llvm::ArrayRef<uint8_t> axes);
  mlir::Value unflatten(mlir::OpBuilder &builder, mlir::Value value, mlir::RankedTensorType type);
  mlir::Value emitFlat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                       const ReshardStep &step, mlir::RankedTensorType type, mlir::ArrayAttr axes,
                       mlir::StringAttr cause);
  const ReshardPlan &getPlan(const Layout &from, const Layout &to, mlir::RankedTensorType type);
  mlir::StringAttr describe(const ReshardStep &step, const ReshardCause &cause) const;

  const Mesh &mesh;
  const cost::CommunicationCost &cost;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<LocalValue, 1>> known;
  /// Equal layers ask for equal plans.
  struct KnownPlan {
    Layout from, to;
    ReshardPlan plan;
  };
  llvm::DenseMap<mlir::Type, std::deque<KnownPlan>> plans;
};

} // namespace ulsc::shard

#endif // ULSC_PASSES_PARTITION_RESHARDER_H
