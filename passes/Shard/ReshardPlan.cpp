//===- ReshardPlan.cpp - The cheapest way from one layout to another
//---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Shard/ReshardPlan.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <memory>
#include <queue>
#include <tuple>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::shard;

namespace {
using Key = std::vector<uint8_t>;

Key keyOf(const Layout &layout) {
  Key key;
  for (const AxisList &axes : layout.dims) {
    key.insert(key.end(), axes.begin(), axes.end());
    key.push_back(255);
  }
  key.insert(key.end(), layout.flat.begin(), layout.flat.end());
  key.push_back(255);
  for (AxisMask mask : {layout.sum, layout.max})
    for (unsigned shift = 0; shift < 32; shift += 8)
      key.push_back(uint8_t(mask >> shift));
  return key;
}

/// Dijkstra's search over layouts. Only axes of the source and the target take part, so there are
/// few states.
class Search {
public:
  Search(const Layout &from, const Layout &to, RankedTensorType type, const Mesh &mesh,
         const cost::CommunicationCost &cost)
      : from(from), to(to), type(type), mesh(mesh), cost(cost) {}

  ReshardPlan run() {
    visit(from, 0.0, nullptr, {});
    while (!queue.empty()) {
      Node *node = std::get<2>(queue.top());
      queue.pop();
      if (node->done)
        continue;
      node->done = true;
      if (node->layout == to)
        return trace(node);
      expand(*node);
    }
    llvm_unreachable("a layout can always be reached by reducing, gathering and slicing");
  }

private:
  struct Node {
    Layout layout;
    double distance = 0.0;
    bool done = false;
    Node *previous = nullptr;
    ReshardStep step;
  };

  static ReshardPlan trace(Node *node) {
    ReshardPlan plan;
    plan.cost = node->distance;
    for (; node->previous; node = node->previous)
      plan.steps.push_back(node->step);
    std::reverse(plan.steps.begin(), plan.steps.end());
    return plan;
  }

  void visit(const Layout &layout, double distance, Node *previous, ReshardStep step) {
    std::unique_ptr<Node> &node = nodes[keyOf(layout)];
    if (node && node->distance <= distance)
      return;
    if (!node)
      node = std::make_unique<Node>();
    step.after = layout;
    node->layout = layout;
    node->distance = distance;
    node->previous = previous;
    node->step = std::move(step);
    queue.push({-distance, -int64_t(visits++), node.get()});
  }

  double bytesOf(const Layout &layout) const { return mesh.getLocalBytes(layout, type); }

  void expand(Node &node) {
    expandReductions(node);
    expandFlat(node);
    if (!node.layout.flat.empty())
      return;
    for (size_t dim = 0; dim < node.layout.dims.size(); ++dim) {
      expandGathers(node, dim);
      expandSlices(node, dim);
      expandExchanges(node, dim);
    }
    expandPermute(node);
  }

  /// [dim: a, sum over b] -> [dim: a], or, scattered, [dim: a b].
  void expandReductions(Node &node) {
    auto expandKind = [&](dist::Reduction reduction, AxisMask have, AxisMask want) {
      AxisMask pending = have & ~want;
      if (!pending)
        return;
      auto reduced = [&](AxisMask axes) {
        Layout layout = node.layout;
        (reduction == dist::Reduction::Sum ? layout.sum : layout.max) &= ~axes;
        return layout;
      };
      double bytes = bytesOf(node.layout);
      SmallVector<AxisMask> masks{pending};
      for (uint8_t axis : mesh.getAxes(pending))
        if (AxisMask mask = maskOf({axis}); mask != pending)
          masks.push_back(mask);
      for (AxisMask mask : masks)
        visit(reduced(mask), node.distance + cost.allReduce(mask, bytes), &node,
              {ReshardStep::AllReduce, reduction, mesh.getAxes(mask), -1, -1, {}});
      for (uint8_t axis : mesh.getAxes(pending))
        for (size_t dim = 0; dim < node.layout.dims.size() && node.layout.flat.empty(); ++dim) {
          Layout layout = reduced(maskOf({axis}));
          if (append(layout, dim, axis))
            visit(layout, node.distance + cost.reduceScatter(maskOf({axis}), bytes), &node,
                  {ReshardStep::ReduceScatter, reduction, {axis}, int64_t(dim), -1, {}});
        }
    };
    expandKind(dist::Reduction::Sum, node.layout.sum, to.sum);
    expandKind(dist::Reduction::Max, node.layout.max, to.max);
  }

  /// A flat value is gathered whole; one that lies as the target does but for that is split, and
  /// reduced in the same step where it is pending over the axes that split it.
  void expandFlat(Node &node) {
    if (!node.layout.flat.empty()) {
      Layout layout = node.layout.withoutFlat();
      ReshardStep step{ReshardStep::AllGather, dist::Reduction::Sum, node.layout.flat, -1, -1, {}};
      step.isFlat = true;
      visit(layout, node.distance + cost.allGather(maskOf(step.axes), bytesOf(layout)), &node,
            step);
      return;
    }
    if (to.flat.empty() || node.layout.dims != to.dims)
      return;
    AxisMask axes = maskOf(to.flat), pending = node.layout.sum & axes;
    if ((pending && pending != axes) || (node.layout.max & axes))
      return;
    Layout layout = node.layout;
    layout.sum &= ~axes;
    layout.flat = to.flat;
    ReshardStep step{pending ? ReshardStep::ReduceScatter : ReshardStep::LocalSlice,
                     dist::Reduction::Sum,
                     to.flat,
                     -1,
                     -1,
                     {}};
    step.isFlat = true;
    double bytes = bytesOf(node.layout);
    visit(layout,
          node.distance + (pending ? cost.reduceScatter(axes, bytes) : cost.copy(bytesOf(layout))),
          &node, step);
  }

  /// Shards `dim` further by `axis` if the size divides.
  bool append(Layout &layout, size_t dim, uint8_t axis) const {
    layout.dims[dim].push_back(axis);
    return type.getDimSize(dim) % mesh.getSize(layout.dims[dim]) == 0;
  }

  /// [dim: a b] -> [dim: a] -> [dim:]; blocks join from the minor side.
  void expandGathers(Node &node, size_t dim) {
    Layout layout = node.layout;
    AxisList gathered;
    while (!layout.dims[dim].empty()) {
      gathered.insert(gathered.begin(), layout.dims[dim].pop_back_val());
      visit(layout, node.distance + cost.allGather(maskOf(gathered), bytesOf(layout)), &node,
            {ReshardStep::AllGather, dist::Reduction::Sum, gathered, int64_t(dim), -1, {}});
    }
  }

  /// [dim: a] -> [dim: a b] for axes that the target has there and that are free.
  void expandSlices(Node &node, size_t dim) {
    for (uint8_t axis : to.dims[dim]) {
      AxisMask busy = node.layout.getDimMask() | node.layout.sum | node.layout.max;
      Layout layout = node.layout;
      if ((busy & maskOf({axis})) || !append(layout, dim, axis))
        continue;
      visit(layout, node.distance + cost.copy(bytesOf(layout)), &node,
            {ReshardStep::LocalSlice, dist::Reduction::Sum, {axis}, int64_t(dim), -1, {}});
    }
  }

  /// [dim: a b, other: c] -> [dim: a, other: c b].
  void expandExchanges(Node &node, size_t dim) {
    if (node.layout.dims[dim].empty())
      return;
    uint8_t axis = node.layout.dims[dim].back();
    for (size_t other = 0; other < node.layout.dims.size(); ++other) {
      Layout layout = node.layout;
      layout.dims[dim].pop_back();
      if (other == dim || !append(layout, other, axis))
        continue;
      visit(
          layout, node.distance + cost.allToAll(maskOf({axis}), bytesOf(layout)), &node,
          {ReshardStep::AllToAll, dist::Reduction::Sum, {axis}, int64_t(dim), int64_t(other), {}});
    }
  }

  /// Blocks of equal shape that lie on other ranks than they should.
  void expandPermute(Node &node) {
    const Layout &layout = node.layout;
    if (!to.flat.empty() || layout.sum != to.sum || layout.max != to.max ||
        layout.dims == to.dims ||
        mesh.getLocalShape(layout, type.getShape()) != mesh.getLocalShape(to, type.getShape()))
      return;
    AxisMask axes = 0;
    for (auto [have, want] : llvm::zip_equal(layout.dims, to.dims))
      if (have != want)
        axes |= maskOf(have) | maskOf(want);
    // A pending axis tells ranks apart in content, not in place: permuting over it would mix
    // summands.
    if (axes & (layout.sum | layout.max))
      return;
    visit(to, node.distance + cost.permute(axes, bytesOf(layout)), &node,
          {ReshardStep::Permute, dist::Reduction::Sum, mesh.getAxes(axes), -1, -1, {}});
  }

  /// Nearest first; among equals the one found first, so that plans don't depend on addresses.
  using Entry = std::tuple<double, int64_t, Node *>;
  int64_t visits = 0;
  const Layout &from, &to;
  RankedTensorType type;
  const Mesh &mesh;
  const cost::CommunicationCost &cost;
  std::map<Key, std::unique_ptr<Node>> nodes;
  std::priority_queue<Entry> queue;
};
} // namespace

ReshardPlan shard::planReshard(const Layout &from, const Layout &to, RankedTensorType type,
                               const Mesh &mesh, const cost::CommunicationCost &cost) {
  assert((to.sum & ~from.sum) == 0 && (to.max & ~from.max) == 0 &&
         "a complete value cannot be asked to be pending");
  if (from == to)
    return {};
  return Search(from, to, type, mesh, cost).run();
}

/// Number of the block that the rank at `coordinates` holds, counting only dimensions whose axes
/// differ.
static int64_t blockOf(const Layout &layout, const Layout &other, ArrayRef<int64_t> coordinates,
                       const Mesh &mesh) {
  int64_t block = 0;
  for (auto [axes, otherAxes] : llvm::zip_equal(layout.dims, other.dims))
    if (axes != otherAxes)
      for (uint8_t axis : axes)
        block = block * mesh.getSize({axis}) + coordinates[axis];
  return block;
}

SmallVector<int64_t> shard::getPermutation(const Layout &from, const Layout &to,
                                           ArrayRef<uint8_t> axes, const Mesh &mesh) {
  int64_t count = mesh.getSize(axes);
  std::map<int64_t, SmallVector<int64_t>> holders;
  auto coordinatesOf = [&](int64_t position) {
    SmallVector<int64_t> coordinates(mesh.attr.getAxes().size());
    for (uint8_t axis : llvm::reverse(axes)) {
      coordinates[axis] = position % mesh.getSize({axis});
      position /= mesh.getSize({axis});
    }
    return coordinates;
  };
  for (int64_t position = count; position-- > 0;)
    holders[blockOf(from, to, coordinatesOf(position), mesh)].push_back(position);
  SmallVector<int64_t> pairs;
  for (int64_t position = 0; position < count; ++position) {
    SmallVector<int64_t> &sources = holders[blockOf(to, from, coordinatesOf(position), mesh)];
    pairs.push_back(sources.pop_back_val());
    pairs.push_back(position);
  }
  return pairs;
}
