//===- FactorAssignment.cpp - Which axes an op's factors are computed over
//---------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Shard/FactorAssignment.h"
#include "passes/Shard/ReshardPlan.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::shard;
using dist::FactorKind;

namespace {
class Assigner {
public:
  Assigner(const OpTensors &op, const Mesh &mesh, const cost::CommunicationCost &cost)
      : op(op), rule(*op.rule), mesh(mesh), cost(cost), candidates(rule.factors.size()),
        home(rule.factors.size()) {}

  FactorAssignment run() {
    collect(op.operands);
    collect(op.results);
    dropOutranked();
    if (std::optional<FactorAxes> agreed = tryAgreed())
      return {*std::move(agreed), false};
    sortCandidates();
    best.resize(rule.factors.size());
    bestCost = std::numeric_limits<double>::infinity();
    budget = 2048;
    FactorAxes current(rule.factors.size());
    enumerate(0, 0, current);
    return {best, true};
  }

private:
  struct Candidate {
    AxisList axes;
    double bytes;
    uint8_t priority;
  };

  /// Notes what each tensor proposes for its factors.
  void collect(ArrayRef<OpTensor> tensors) {
    for (const OpTensor &tensor : tensors) {
      double bytes = mesh.getLocalBytes(mesh.getReplicated(tensor.type), tensor.type);
      for (const auto &[f, axes] : project(rule, *tensor.factors, tensor.layout, mesh)) {
        home[f] = numTensors;
        if (canShard(rule.factors[f]) && !(tensor.isOpen && axes.empty()))
          propose(f, {axes, bytes, getPriority(tensor, f)});
      }
      hasPriorities |= !tensor.layout.priorities.empty();
      ++numTensors;
    }
  }

  static uint8_t getPriority(const OpTensor &tensor, unsigned f) {
    for (auto [d, factors] : llvm::enumerate(*tensor.factors))
      if (llvm::is_contained(factors, f))
        return tensor.layout.getPriority(d);
    return 0;
  }

  void propose(unsigned f, const Candidate &proposal) {
    for (Candidate &candidate : candidates[f])
      if (candidate.axes == proposal.axes) {
        candidate.bytes = std::max(candidate.bytes, proposal.bytes);
        candidate.priority = std::min(candidate.priority, proposal.priority);
        return;
      }
    candidates[f].push_back(proposal);
  }

  /// Users' priorities come before predicted times: of two factors that claim one axis, the one
  /// whose claim is stronger keeps it.
  void dropOutranked() {
    if (!hasPriorities)
      return;
    SmallVector<uint8_t, 32> strongest(mesh.attr.getAxes().size(), 255);
    for (const auto &list : candidates)
      for (const Candidate &candidate : list)
        for (uint8_t axis : candidate.axes)
          strongest[axis] = std::min(strongest[axis], candidate.priority);
    for (auto &list : candidates) {
      SmallVector<Candidate, 2> all = std::move(list);
      list.clear();
      for (Candidate &candidate : all) {
        auto *outranked = llvm::find_if(
            candidate.axes, [&](uint8_t axis) { return strongest[axis] < candidate.priority; });
        candidate.axes.erase(outranked, candidate.axes.end());
        propose(&list - candidates.data(), candidate);
      }
    }
  }

  /// The only proposal of each factor, if there is just one and no axis is claimed by two factors.
  std::optional<FactorAxes> tryAgreed() const {
    FactorAxes axes(rule.factors.size());
    AxisMask used = 0, usedInternally = 0;
    SmallVector<AxisMask> usedByTensor(numTensors);
    for (auto [f, list] : llvm::enumerate(candidates)) {
      if (list.size() > 1)
        return std::nullopt;
      if (list.empty())
        continue;
      axes[f] = list.front().axes;
      AxisMask mask = maskOf(axes[f]);
      // An op that communicates itself handles each operand on its own: different ones may be cut
      // over the same axes.
      bool isInternal = rule.factors[f].kind == FactorKind::Internal;
      if (mask & (used | (isInternal ? usedByTensor[home[f]] : usedInternally)))
        return std::nullopt;
      (isInternal ? usedInternally : used) |= mask;
      usedByTensor[home[f]] |= mask;
    }
    legalize(rule, axes, mesh);
    return axes;
  }

  /// The proposal of the largest tensor first, so that it wins ties; leaving a factor whole last.
  void sortCandidates() {
    for (auto &list : candidates) {
      if (llvm::none_of(list, [](const Candidate &c) { return c.axes.empty(); }))
        list.push_back({{}, -1.0});
      std::sort(list.begin(), list.end(), [](const Candidate &a, const Candidate &b) {
        if (a.axes.empty() != b.axes.empty())
          return b.axes.empty();
        return a.bytes != b.bytes ? a.bytes > b.bytes : a.axes < b.axes;
      });
    }
  }

  void enumerate(unsigned f, AxisMask used, FactorAxes &current) {
    if (f == candidates.size()) {
      evaluate(current);
      return;
    }
    for (const Candidate &candidate : candidates[f]) {
      if ((used & maskOf(candidate.axes)) || budget <= 0)
        continue;
      current[f] = candidate.axes;
      enumerate(f + 1, used | maskOf(candidate.axes), current);
    }
    current[f].clear();
  }

  void evaluate(FactorAxes axes) {
    --budget;
    legalize(rule, axes, mesh);
    double time = getComputeTime(axes);
    for (const OpTensor &tensor : op.operands)
      time += getReshardTime(tensor, tensor.layout.withoutPartials(),
                             apply(rule, *tensor.factors, axes));
    for (auto [i, tensor] : llvm::enumerate(op.results)) {
      Layout produced = apply(rule, *tensor.factors, axes);
      produced.sum = getReducedAxes(rule, i, axes, FactorKind::Sum);
      produced.max = getReducedAxes(rule, i, axes, FactorKind::Max);
      time += getReshardTime(tensor, produced, tensor.layout.withoutPartials());
    }
    if (time < bestCost) {
      bestCost = time;
      best = axes;
    }
  }

  double getComputeTime(const FactorAxes &axes) const {
    double points = 1.0;
    for (auto [factor, list] : llvm::zip_equal(rule.factors, axes))
      points *= double(factor.size) / double(mesh.getSize(list));
    return cost.compute(2.0 * points);
  }

  double getReshardTime(const OpTensor &tensor, const Layout &from, const Layout &to) const {
    auto type = llvm::dyn_cast<RankedTensorType>(tensor.type);
    if (!type || from == to)
      return 0.0;
    // An open tensor takes the op's layout where that only adds axes.
    const Layout &required = from.dims == tensor.layout.dims ? to : from;
    auto extends = [](auto pair) { return isPrefix(std::get<0>(pair), std::get<1>(pair)); };
    if (tensor.isOpen && llvm::all_of(llvm::zip_equal(tensor.layout.dims, required.dims), extends))
      return planReshard(from, from.withoutPartials(), type, mesh, cost).cost;
    return planReshard(from, to, type, mesh, cost).cost;
  }

  const OpTensors &op;
  const dist::ShardingRule &rule;
  const Mesh &mesh;
  const cost::CommunicationCost &cost;
  SmallVector<SmallVector<Candidate, 2>> candidates;
  /// A tensor that each factor is in.
  SmallVector<unsigned> home;
  unsigned numTensors = 0;
  /// Whether any tensor has axes of a weaker priority.
  bool hasPriorities = false;
  FactorAxes best;
  double bestCost = 0.0;
  int64_t budget = 0;
};
} // namespace

FactorAssignment shard::assignFactors(const OpTensors &op, const Mesh &mesh,
                                      const cost::CommunicationCost &cost) {
  return Assigner(op, mesh, cost).run();
}
