//===- Layout.cpp - Shardings as the passes compute with them
//----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Shard/Layout.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::shard;
using dist::FactorKind;
using dist::ShardingRule;

AxisMask shard::maskOf(ArrayRef<uint8_t> axes) {
  AxisMask mask = 0;
  for (uint8_t axis : axes)
    mask |= AxisMask(1) << axis;
  return mask;
}

bool shard::isPrefix(ArrayRef<uint8_t> prefix, ArrayRef<uint8_t> list) {
  return prefix.size() <= list.size() && list.take_front(prefix.size()) == prefix;
}

AxisMask Layout::getDimMask() const {
  AxisMask mask = 0;
  for (const AxisList &axes : dims)
    mask |= maskOf(axes);
  return mask;
}

void Layout::weaken(unsigned dim, uint8_t priority) {
  if (priority == 0)
    return;
  priorities.resize(dims.size());
  priorities[dim] = std::max(priorities[dim], priority);
}

/// Cuts `list` before the first of `dropped`: what is left still is a layout's prefix.
static void truncateBefore(AxisList &list, AxisMask dropped) {
  auto *first = llvm::find_if(list, [&](uint8_t axis) { return dropped & maskOf({axis}); });
  list.erase(first, list.end());
}

Layout Layout::withoutAxes(AxisMask axes) const {
  Layout layout = *this;
  for (AxisList &list : layout.dims)
    truncateBefore(list, axes);
  return layout;
}

//===---------------------------------------------------------------------------------------===//
// Mesh
//===---------------------------------------------------------------------------------------===//

Mesh Mesh::of(ModuleOp module) {
  for (auto mesh : module.getOps<dist::MeshOp>())
    return Mesh(FlatSymbolRefAttr::get(mesh.getSymNameAttr()), mesh.getMesh());
  return Mesh({}, {});
}

int64_t Mesh::getSize(ArrayRef<uint8_t> axes) const {
  int64_t size = 1;
  for (uint8_t axis : axes)
    size *= attr.getAxes()[axis].getSize();
  return size;
}

AxisMask Mesh::getMask(ArrayRef<StringAttr> axes) const { return maskOf(read(axes)); }

StringAttr Mesh::getAxisName(unsigned axis) const {
  return StringAttr::get(attr.getContext(), attr.getAxes()[axis].getName());
}

SmallVector<StringAttr> Mesh::getNames(ArrayRef<uint8_t> axes) const {
  SmallVector<StringAttr> names;
  for (uint8_t axis : axes)
    names.push_back(getAxisName(axis));
  return names;
}

AxisList Mesh::getAxes(AxisMask mask) const {
  AxisList axes;
  for (unsigned i = 0; i < attr.getAxes().size(); ++i)
    if (mask & (AxisMask(1) << i))
      axes.push_back(i);
  return axes;
}

AxisList Mesh::read(ArrayRef<StringAttr> axes) const {
  AxisList list;
  for (StringAttr axis : axes) {
    std::optional<unsigned> position = attr.getAxisPosition(axis.getValue());
    if (position && attr.getAxes()[*position].getSize() > 1)
      list.push_back(*position);
  }
  return list;
}

Layout Mesh::read(dist::ShardingAttr sharding) const {
  Layout layout;
  for (dist::DimShardingAttr dim : sharding.getDims())
    layout.dims.push_back(read(dim.getAxes()));
  for (auto [d, dim] : llvm::enumerate(sharding.getDims()))
    layout.weaken(d, std::min<int64_t>(dim.getPriority(), 255));
  for (dist::PartialAttr partial : sharding.getPartials())
    (partial.getReduction() == dist::Reduction::Sum ? layout.sum : layout.max) |=
        getMask(partial.getAxes());
  layout.flat = read(sharding.getFlat());
  return layout;
}

dist::ShardingAttr Mesh::write(const Layout &layout) const {
  SmallVector<SmallVector<StringAttr>> dims;
  for (const AxisList &axes : layout.dims)
    dims.push_back(getNames(axes));
  SmallVector<dist::PartialAttr> partials;
  auto add = [&](dist::Reduction reduction, AxisMask mask) {
    if (mask)
      partials.push_back(
          dist::PartialAttr::get(attr.getContext(), reduction, getNames(getAxes(mask))));
  };
  add(dist::Reduction::Sum, layout.sum);
  add(dist::Reduction::Max, layout.max);
  return dist::ShardingAttr::getClosed(name, dims, partials, getNames(layout.flat),
                                       layout.priorities);
}

Layout Mesh::getReplicated(Type type) const {
  Layout layout;
  if (auto tensor = llvm::dyn_cast<RankedTensorType>(type))
    layout.dims.resize(tensor.getRank());
  return layout;
}

SmallVector<int64_t> Mesh::getLocalShape(const Layout &layout, ArrayRef<int64_t> shape) const {
  SmallVector<int64_t> block = getBlockShape(layout, shape);
  if (layout.flat.empty())
    return block;
  return {llvm::divideCeilSigned(ShapedType::getNumElements(block), getSize(layout.flat))};
}

SmallVector<int64_t> Mesh::getBlockShape(const Layout &layout, ArrayRef<int64_t> shape) const {
  SmallVector<int64_t> local(shape);
  for (auto [size, axes] : llvm::zip_equal(local, layout.dims))
    size /= getSize(axes);
  return local;
}

Type Mesh::getLocalType(const Layout &layout, Type type) const {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  return RankedTensorType::get(getLocalShape(layout, tensor.getShape()), tensor.getElementType());
}

double Mesh::getLocalBytes(const Layout &layout, Type type) const {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0.0;
  double bytes = double(tensor.getElementTypeBitWidth()) / 8.0;
  for (int64_t size : getLocalShape(layout, tensor.getShape()))
    bytes *= double(size);
  return bytes;
}

//===---------------------------------------------------------------------------------------===//
// Factors
//===---------------------------------------------------------------------------------------===//

bool shard::canShard(const dist::Factor &factor) {
  // Neighbour exchange has no partitioned form, so such factors stay whole as well.
  return factor.kind != FactorKind::Replicated && factor.kind != FactorKind::Permutation;
}

SmallVector<FactorProposal, 4> shard::project(const ShardingRule &rule,
                                              const dist::TensorFactors &tensor,
                                              const Layout &layout, const Mesh &mesh) {
  SmallVector<FactorProposal, 4> result;
  for (auto [factors, axes] : llvm::zip(tensor, layout.dims)) {
    size_t next = 0;
    bool isReached = true;
    for (unsigned f : factors) {
      AxisList &list = result.emplace_back(f, AxisList()).second;
      // Only a factor cut down to single elements lets axes reach the next, more minor one.
      if (!isReached)
        continue;
      int64_t left = rule.factors[f].size;
      while (next < axes.size() && left % mesh.getSize({axes[next]}) == 0) {
        left /= mesh.getSize({axes[next]});
        list.push_back(axes[next++]);
      }
      isReached = left == 1;
    }
  }
  return result;
}

Layout shard::apply(const ShardingRule &rule, const dist::TensorFactors &tensor,
                    const FactorAxes &axes) {
  Layout layout;
  for (const dist::DimFactors &factors : tensor) {
    layout.dims.emplace_back();
    for (unsigned f : factors)
      llvm::append_range(layout.dims.back(), axes[f]);
  }
  return layout;
}

void shard::legalize(const ShardingRule &rule, FactorAxes &axes, const Mesh &mesh) {
  for (auto [f, factor] : llvm::enumerate(rule.factors))
    if (!canShard(factor))
      axes[f].clear();
  auto legalizeTensor = [&](const dist::TensorFactors &tensor) {
    for (const dist::DimFactors &factors : tensor) {
      bool majorIsWhole = false;
      for (unsigned f : factors) {
        if (majorIsWhole)
          axes[f].clear();
        majorIsWhole |= mesh.getSize(axes[f]) != rule.factors[f].size;
      }
    }
  };
  llvm::for_each(rule.operands, legalizeTensor);
  llvm::for_each(rule.results, legalizeTensor);
}

AxisMask shard::getReducedAxes(const ShardingRule &rule, unsigned result, const FactorAxes &axes,
                               FactorKind kind) {
  llvm::SmallBitVector present(rule.factors.size());
  for (const dist::DimFactors &factors : rule.results[result])
    for (unsigned f : factors)
      present.set(f);
  AxisMask mask = 0;
  for (auto [f, factor] : llvm::enumerate(rule.factors))
    if (factor.kind == kind && !present.test(f))
      mask |= maskOf(axes[f]);
  return mask;
}

AxisMask shard::getDeferredSums(const ShardingRule &rule, ArrayRef<AxisMask> sums) {
  AxisMask mask = ~AxisMask(0);
  bool hasTensor = false;
  for (auto [i, factors] : llvm::enumerate(rule.operands)) {
    if (factors.empty())
      continue;
    // Of a product one factor at most is pending, and the others' axes are the op's own.
    if (hasTensor && !rule.joint)
      return 0;
    hasTensor = true;
    mask &= rule.linear.test(i) ? sums[i] : 0;
  }
  return hasTensor ? mask : 0;
}

void shard::dropAxes(FactorAxes &axes, AxisMask dropped) {
  for (AxisList &list : axes)
    truncateBefore(list, dropped);
}

AxisMask shard::getPassingSums(const ShardingRule &rule, unsigned index, ArrayRef<AxisMask> sums,
                               const FactorAxes &axes) {
  if (!rule.linear.test(index))
    return 0;
  AxisMask mask = sums[index];
  // An axis that shards a factor tells ranks apart in another way already.
  for (const AxisList &list : axes)
    mask &= ~maskOf(list);
  for (unsigned other = 0; other < sums.size(); ++other) {
    if (other == index)
      continue;
    if (rule.joint)
      mask &= rule.linear.test(other) ? sums[other] : 0;
    else if (other < index)
      // Of two factors of a product only one may be pending; the first is.
      mask &= ~sums[other];
  }
  return mask;
}
