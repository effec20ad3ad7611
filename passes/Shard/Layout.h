//===- Layout.h - Shardings as the passes compute with them -----------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// Axes as small numbers instead of attributes, and the step between a tensor's dimensions and an
/// op's factors. Axes of size 1 never appear: they shard nothing and cause no collective.
///
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SHARD_LAYOUT_H
#define ULSC_PASSES_SHARD_LAYOUT_H

#include "dialects/Dist/Dist.h"
#include "ulsc/Cost/Cluster.h"

#include "mlir/IR/BuiltinOps.h"

namespace ulsc::shard {

using cost::AxisMask;
/// Mesh axes by their position in the mesh, major to minor.
using AxisList = llvm::SmallVector<uint8_t, 2>;
/// The axes that shard each factor of an op.
using FactorAxes = llvm::SmallVector<AxisList>;

AxisMask maskOf(llvm::ArrayRef<uint8_t> axes);
bool isPrefix(llvm::ArrayRef<uint8_t> prefix, llvm::ArrayRef<uint8_t> list);

/// How one value lies: axes per dimension, axes with a pending reduction, and axes that split the
/// flattened block (stored state only, no op computes on such a value as it lies).
struct Layout {
  llvm::SmallVector<AxisList, 4> dims;
  AxisMask sum = 0, max = 0;
  AxisList flat = {};
  /// Of each dimension's axes, 0 being the strongest; none where all are 0. They tell how an op is
  /// computed, not how the value lies, so that layouts compare without them.
  llvm::SmallVector<uint8_t, 0> priorities = {};

  AxisMask getDimMask() const;
  uint8_t getPriority(unsigned dim) const { return priorities.empty() ? 0 : priorities[dim]; }
  /// Makes the dimension's priority at most as strong as `priority`.
  void weaken(unsigned dim, uint8_t priority);
  /// The same with dimensions that have none of these axes, which pending sums may then have.
  Layout withoutAxes(AxisMask axes) const;
  Layout withoutPartials() const { return {dims, 0, 0, flat, priorities}; }
  Layout withoutFlat() const { return {dims, sum, max, {}, priorities}; }
  bool operator==(const Layout &other) const {
    return dims == other.dims && sum == other.sum && max == other.max && flat == other.flat;
  }
  bool operator!=(const Layout &other) const { return !(*this == other); }
};

/// The mesh of a module.
class Mesh {
public:
  Mesh(mlir::FlatSymbolRefAttr name, dist::MeshAttr attr) : name(name), attr(attr) {}
  /// The module's mesh, or null attributes when it has none.
  static Mesh of(mlir::ModuleOp module);

  int64_t getSize(llvm::ArrayRef<uint8_t> axes) const;
  AxisMask getMask(llvm::ArrayRef<mlir::StringAttr> axes) const;
  mlir::StringAttr getAxisName(unsigned axis) const;
  llvm::SmallVector<mlir::StringAttr> getNames(llvm::ArrayRef<uint8_t> axes) const;
  /// Major to minor.
  AxisList getAxes(AxisMask mask) const;

  AxisList read(llvm::ArrayRef<mlir::StringAttr> axes) const;
  Layout read(dist::ShardingAttr sharding) const;
  dist::ShardingAttr write(const Layout &layout) const;
  Layout getReplicated(mlir::Type type) const;
  /// The shape of one rank's block before it is split flat, and of what the rank holds.
  llvm::SmallVector<int64_t> getBlockShape(const Layout &layout,
                                           llvm::ArrayRef<int64_t> shape) const;
  llvm::SmallVector<int64_t> getLocalShape(const Layout &layout,
                                           llvm::ArrayRef<int64_t> shape) const;
  /// Local form of a ranked tensor type; other types as they are.
  mlir::Type getLocalType(const Layout &layout, mlir::Type type) const;
  double getLocalBytes(const Layout &layout, mlir::Type type) const;

  mlir::FlatSymbolRefAttr name;
  dist::MeshAttr attr;
};

//===---------------------------------------------------------------------------------------===//
// Factors
//===---------------------------------------------------------------------------------------===//

/// Whether sharding this factor is supported at all.
bool canShard(const dist::Factor &factor);

/// A factor and the axes that shard it.
using FactorProposal = std::pair<unsigned, AxisList>;

/// The axes of each factor of one tensor as the tensor has them. Axes that no factor can hold are
/// left out.
llvm::SmallVector<FactorProposal, 4> project(const dist::ShardingRule &rule,
                                             const dist::TensorFactors &tensor,
                                             const Layout &layout, const Mesh &mesh);

/// The tensor's layout when the op's factors are sharded so; no partials.
Layout apply(const dist::ShardingRule &rule, const dist::TensorFactors &tensor,
             const FactorAxes &axes);

/// Axes over which every tensor operand may stay pending although they shard a factor: summands of
/// one value first, then scattered along it. `sums` as for getPassingSums.
AxisMask getDeferredSums(const dist::ShardingRule &rule, llvm::ArrayRef<AxisMask> sums);

/// Cuts every factor's list before the first of these axes.
void dropAxes(FactorAxes &axes, AxisMask dropped);

/// Takes axes away from factors that some tensor could not express: a minor factor of a dimension
/// is sharded only where the major ones are sharded down to 1.
void legalize(const dist::ShardingRule &rule, FactorAxes &axes, const Mesh &mesh);

/// Axes whose pending sums reach a result because the op sums over a sharded factor that the result
/// lacks.
AxisMask getReducedAxes(const dist::ShardingRule &rule, unsigned result, const FactorAxes &axes,
                        dist::FactorKind kind);

/// Axes of operand `index`'s pending sums that may stay pending through the op. `sums` has an entry
/// per operand; all bits of an operand that is zero, which is a summand of anything.
AxisMask getPassingSums(const dist::ShardingRule &rule, unsigned index,
                        llvm::ArrayRef<AxisMask> sums, const FactorAxes &axes);

} // namespace ulsc::shard

#endif // ULSC_PASSES_SHARD_LAYOUT_H
