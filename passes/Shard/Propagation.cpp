//===- Propagation.cpp - Carries axes along factors to a fixpoint
//-------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Shard/Propagation.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::shard;

void Propagation::run() {
  for (int64_t round = 0; round < graph.getNumRounds(); ++round)
    for (bool elementwiseOnly : {true, false}) {
      bool changed = true;
      while (changed) {
        while (sweep(round, elementwiseOnly, /*resolveConflicts=*/false))
          ;
        changed = sweep(round, elementwiseOnly, /*resolveConflicts=*/true);
      }
    }
}

/// Forth and back, so that one sweep carries an axis through a whole block in either direction.
/// Conflicts are resolved one at a time: each decision may settle others.
bool Propagation::sweep(int64_t round, bool elementwiseOnly, bool resolveConflicts) {
  bool changed = false;
  auto visitAll = [&](auto &&edges) {
    for (Edge &edge : edges) {
      if (elementwiseOnly && !edge.isElementwise)
        continue;
      changed |= visit(edge, round, resolveConflicts);
      if (changed && resolveConflicts)
        return;
    }
  };
  visitAll(graph.getEdges());
  if (!resolveConflicts)
    visitAll(llvm::reverse(graph.getEdges()));
  return changed;
}

/// Calls `callback(id, factors)` for each tensor that has a class.
static void forEachTensor(const Edge &edge,
                          function_ref<void(int64_t, const dist::TensorFactors &)> callback) {
  for (auto [id, factors] : llvm::zip_equal(edge.operands, edge.rule.operands))
    if (id >= 0)
      callback(id, factors);
  for (auto [id, factors] : llvm::zip_equal(edge.results, edge.rule.results))
    if (id >= 0)
      callback(id, factors);
}

/// What all tensors agree on: per factor the longest list of which all others are prefixes, else
/// the common prefix; no axis that two factors claim.
FactorAxes Propagation::mergeBasic(const Edge &edge, int64_t round, bool &hasConflict) {
  FactorAxes merged(edge.rule.factors.size());
  forEachTensor(edge, [&](int64_t id, const dist::TensorFactors &factors) {
    Layout active = graph[id].layout;
    for (auto [axes, from] : llvm::zip_equal(active.dims, graph[id].activeFrom))
      if (from > round)
        axes.clear();
    for (const auto &[f, list] : project(edge.rule, factors, active, mesh)) {
      if (!canShard(edge.rule.factors[f]) || isPrefix(list, merged[f]))
        continue;
      if (isPrefix(merged[f], list)) {
        merged[f] = list;
        continue;
      }
      hasConflict = true;
      size_t common = 0;
      while (list[common] == merged[f][common])
        ++common;
      merged[f].truncate(common);
    }
  });
  SmallVector<unsigned> claims(mesh.attr.getAxes().size());
  AxisMask internal = 0;
  for (auto [factor, list] : llvm::zip_equal(edge.rule.factors, merged)) {
    // Operands that an op handles each on its own may be cut over the same axes.
    if (factor.kind == dist::FactorKind::Internal)
      internal |= maskOf(list);
    else
      for (uint8_t axis : list)
        ++claims[axis];
  }
  for (uint8_t axis : mesh.getAxes(internal))
    ++claims[axis];
  for (AxisList &list : merged)
    for (auto [i, axis] : llvm::enumerate(list))
      if (claims[axis] > 1) {
        hasConflict = true;
        list.truncate(i);
        break;
      }
  return merged;
}

bool Propagation::visit(const Edge &edge, int64_t round, bool resolveConflicts) {
  bool hasConflict = false;
  FactorAxes axes = mergeBasic(edge, round, hasConflict);
  if (resolveConflicts) {
    if (!hasConflict)
      return false;
    axes = assignFactors(graph.getTensors(edge, /*isFinal=*/false), mesh, cost).axes;
  }
  bool changed = false;
  forEachTensor(edge, [&](int64_t id, const dist::TensorFactors &factors) {
    changed |= extend(edge, id, factors, axes);
  });
  return changed;
}

/// Adds axes to open dimensions, as far as sizes divide and no other dimension has the axis.
bool Propagation::extend(const Edge &edge, int64_t id, const dist::TensorFactors &factors,
                         const FactorAxes &axes) {
  Node &node = graph[id];
  bool changed = false;
  for (auto [d, dim] : llvm::enumerate(factors)) {
    AxisList wanted;
    for (unsigned f : dim) {
      llvm::append_range(wanted, axes[f]);
      if (mesh.getSize(axes[f]) != edge.rule.factors[f].size)
        break;
    }
    AxisList &have = node.layout.dims[d];
    if (!node.open[d] || wanted.size() <= have.size() || !isPrefix(have, wanted))
      continue;
    for (uint8_t axis : ArrayRef<uint8_t>(wanted).drop_front(have.size())) {
      AxisMask busy = node.layout.getDimMask() | node.replicated;
      if ((busy & maskOf({axis})) ||
          node.type.getDimSize(d) % (mesh.getSize(have) * mesh.getSize({axis})) != 0)
        break;
      have.push_back(axis);
      recordOrigin(edge, id, axis);
      if (const Origin *origin = node.getOrigin(axis))
        node.layout.weaken(d, origin->priority);
      changed = true;
    }
  }
  return changed;
}

/// The annotation is that of another tensor of the op that has the axis, one of the strongest
/// priority.
void Propagation::recordOrigin(const Edge &edge, int64_t id, uint8_t axis) {
  const Origin *source = nullptr;
  forEachTensor(edge, [&](int64_t other, const dist::TensorFactors &) {
    const Origin *origin = other == id ? nullptr : graph[other].getOrigin(axis);
    if (origin && (!source || origin->priority < source->priority))
      source = origin;
  });
  if (!source)
    return;
  Origin origin{axis, source->annotation,
                ("by " + edge.op->getName().getStringRef() + " at " +
                 dist::describeLocation(edge.op->getLoc()))
                    .str(),
                source->priority};
  graph[id].origins.push_back(std::move(origin));
}

//===---------------------------------------------------------------------------------------===//
// Conflicts
//===---------------------------------------------------------------------------------------===//

/// Describes what each tensor had to give up against the chosen axes.
static SmallVector<std::string> describeLosers(ShardingGraph &graph, const Edge &edge,
                                               const FactorAxes &axes, const Mesh &mesh) {
  SmallVector<std::string> losers;
  auto compare = [&](ArrayRef<int64_t> ids, ArrayRef<dist::TensorFactors> tensors, StringRef what) {
    for (auto [i, id] : llvm::enumerate(ids)) {
      if (id < 0)
        continue;
      Layout wanted = apply(edge.rule, tensors[i], axes);
      for (auto [d, have] : llvm::enumerate(graph[id].layout.dims))
        for (uint8_t axis : have) {
          if (llvm::is_contained(wanted.dims[d], axis))
            continue;
          const Origin *origin = graph[id].getOrigin(axis);
          losers.push_back((what + " " + Twine(i) + " dimension " + Twine(d) + " gives up " +
                            mesh.getAxisName(axis).getValue() + " (" +
                            (origin ? origin->annotation : "no annotation") + ")")
                               .str());
        }
    }
  };
  compare(edge.operands, edge.rule.operands, "operand");
  // A result that is reduced over the axis is scattered along it, which gives nothing up.
  AxisMask reduced = 0;
  for (unsigned i = 0; i < edge.rule.results.size(); ++i)
    reduced |= getReducedAxes(edge.rule, i, axes, dist::FactorKind::Sum);
  if (!reduced)
    compare(edge.results, edge.rule.results, "result");
  return losers;
}

void shard::recordConflicts(ShardingGraph &graph, const Mesh &mesh,
                            const cost::CommunicationCost &cost) {
  for (Edge &edge : graph.getEdges()) {
    // What is handed on under another layout was asked for.
    if (llvm::isa<dist::ReshardOp, uls::YieldOp, uls::ResultOp>(edge.op))
      continue;
    FactorAssignment assignment =
        assignFactors(graph.getTensors(edge, /*isFinal=*/true), mesh, cost);
    if (!assignment.hadConflict)
      continue;
    SmallVector<std::string> losers = describeLosers(graph, edge, assignment.axes, mesh);
    if (losers.empty())
      continue;
    Builder builder(edge.op->getContext());
    SmallVector<Attribute> texts;
    for (const std::string &text : losers) {
      edge.op->emitRemark() << text << "; predicted time decided";
      texts.push_back(builder.getStringAttr(text));
    }
    edge.op->setAttr("dist.conflicts", builder.getArrayAttr(texts));
  }
}
