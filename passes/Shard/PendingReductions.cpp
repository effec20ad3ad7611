//===- PendingReductions.cpp - How long sums stay pending
//---------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Shard/PendingReductions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::shard;
using dist::FactorKind;

PendingReductions::PendingReductions(ShardingGraph &graph, const Mesh &mesh,
                                     const cost::CommunicationCost &cost, AxisMask dataAxes,
                                     AxisMask seqAxes)
    : graph(graph), mesh(mesh), dataAxes(dataAxes), gradientAxes(dataAxes | seqAxes) {
  for (const Edge &edge : graph.getEdges()) {
    // Yields have one edge per value; they are looked at use by use.
    if (llvm::isa<uls::YieldOp, uls::ResultOp>(edge.op))
      continue;
    edgeOf[edge.op] = &edge;
    axesOf[edge.op] = assignFactors(graph.getTensors(edge, /*isFinal=*/true), mesh, cost).axes;
  }
}

AxisMask PendingReductions::getSum(Value value) const {
  AxisMask mask = sums.lookup(value);
  // A zero that meets no summand is simply complete.
  return mask & maskOf(mesh.getAxes(kAnything)) & (mask >> 31 ? 0 : kAnything);
}

void PendingReductions::set(Value value, AxisMask raw) {
  auto it = kept.find(value);
  sums[value] = it == kept.end() ? raw : raw & it->second;
}

//===---------------------------------------------------------------------------------------===//
// From operands to results
//===---------------------------------------------------------------------------------------===//

SmallVector<AxisMask> PendingReductions::getOperandSums(Operation *op) const {
  SmallVector<AxisMask> operandSums;
  for (Value operand : op->getOperands())
    operandSums.push_back(sums.lookup(operand));
  return operandSums;
}

/// What the op is computed over when it passes on what it can: summands that are to be scattered
/// along a dimension are whole in it until then.
FactorAxes PendingReductions::getAxes(const Edge &edge, ArrayRef<AxisMask> operandSums) {
  FactorAxes axes = axesOf[edge.op];
  if (!llvm::isa<dist::ReshardOp>(edge.op))
    dropAxes(axes, getDeferredSums(edge.rule, operandSums));
  return axes;
}

void PendingReductions::evaluateRule(const Edge &edge) {
  SmallVector<AxisMask> operandSums = getOperandSums(edge.op), passing;
  FactorAxes axes = getAxes(edge, operandSums);
  AxisMask passed = 0;
  for (unsigned i = 0; i < operandSums.size(); ++i) {
    passing.push_back(
        llvm::isa<dist::ReshardOp>(edge.op) ? 0 : getPassingSums(edge.rule, i, operandSums, axes));
    passed |= passing.back();
  }
  for (auto [i, result] : llvm::enumerate(edge.op->getResults())) {
    AxisMask reduced = getReducedAxes(edge.rule, i, axes, FactorKind::Sum);
    findCauses(edge, i, reduced, passing);
    set(result, passed | reduced);
    // Maxima are completed at once: no op passes them on.
  }
}

void PendingReductions::evaluateCall(Operation *op, FlatSymbolRefAttr callee, unsigned first) {
  Operation *block = symbols.lookupNearestSymbolFrom(op, callee);
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    set(result, resultSums.lookup({block, first + i}));
    causes[result] = resultCauses.lookup({block, first + i});
  }
}

/// What a loop carries is partial as what it yields, if it starts as zero.
void PendingReductions::evaluateLoop(uls::MicrobatchesOp loop) {
  Block &body = loop.getBody().front();
  Operation *yield = body.getTerminator();
  for (auto [i, init] : llvm::enumerate(loop.getInits()))
    sums[body.getArgument(i + 1)] = sums.lookup(init) == kAnything ? kAnything : 0;
  for (bool changed = true; changed;) {
    evaluate(body);
    changed = false;
    for (auto [i, init] : llvm::enumerate(loop.getInits())) {
      Value argument = body.getArgument(i + 1);
      AxisMask next = sums[argument] & sums.lookup(yield->getOperand(i));
      changed |= next != sums[argument];
      sums[argument] = next;
      sums[loop.getResult(i)] = next;
      causes[loop.getResult(i)] = causes.lookup(yield->getOperand(i));
    }
  }
}

void PendingReductions::evaluate(Block &block) {
  for (Operation &op : block) {
    if (auto loop = llvm::dyn_cast<uls::MicrobatchesOp>(op))
      evaluateLoop(loop);
    else if (auto call = llvm::dyn_cast<uls::CallOp>(op))
      evaluateCall(&op, call.getCalleeAttr(), 0);
    else if (auto backward = llvm::dyn_cast<uls::BackwardOp>(op))
      evaluateCall(&op, backward.getCalleeAttr(),
                   symbols.lookupNearestSymbolFrom<uls::BlockOp>(&op, backward.getCalleeAttr())
                       .getNumPrimalResults());
    else if (isZeroConstant(&op))
      sums[op.getResult(0)] = kAnything;
    else if (const Edge *edge = edgeOf.lookup(&op))
      evaluateRule(*edge);
  }
}

//===---------------------------------------------------------------------------------------===//
// From uses to values
//===---------------------------------------------------------------------------------------===//

/// Gradients of parameters and scalars may leave a block pending over data axes, gradients also
/// over those of the sequence; but not over axes that shard them, which stay as they are stored.
AxisMask PendingReductions::getAllowedResult(Operation *function, unsigned index) {
  auto block = llvm::dyn_cast<uls::BlockOp>(function);
  if (!block)
    return 0;
  if (llvm::cast<RankedTensorType>(block.getResultTypes()[index]).getRank() == 0)
    return dataAxes;
  int64_t gradient = int64_t(index) - block.getNumPrimalResults();
  if (!block.isJoint() || gradient < 0)
    return 0;
  int64_t argument = (*block.getGradients())[gradient];
  if (!block.getArgAttr(argument, "uls.parameter"))
    return 0;
  return gradientAxes & ~graph[graph.findResult(function, index)].layout.getDimMask();
}

AxisMask PendingReductions::getDimMask(Value value) {
  int64_t id = graph.find(value);
  return id < 0 ? 0 : graph[id].layout.getDimMask();
}

/// Values that no rule ties to others are outside the graph, and whole.
double PendingReductions::getLocalBytes(Value value) const {
  int64_t id = graph.find(value);
  return mesh.getLocalBytes(id < 0 ? mesh.getReplicated(value.getType()) : graph[id].layout,
                            value.getType());
}

/// Axes over which this use lets its value be pending; adds to `bytes` what will have to be reduced
/// behind it instead.
AxisMask PendingReductions::getAllowed(OpOperand &use, double &bytes) {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  // A reshard reduces on its way, and may scatter.
  if (llvm::isa<dist::ReshardOp>(op))
    return kAnything;
  if (auto loop = llvm::dyn_cast<uls::MicrobatchesOp>(op->getParentOp());
      loop && op == loop.getBody().front().getTerminator())
    return sums.lookup(loop.getInits()[index]) == kAnything ? ~getDimMask(use.get()) : 0;
  if (llvm::isa<uls::ResultOp, uls::YieldOp>(op)) {
    auto block = llvm::dyn_cast<uls::BlockOp>(op->getParentOp());
    bool isBackward = llvm::isa<uls::YieldOp>(op) && block && block.isJoint();
    return getAllowedResult(op->getParentOp(),
                            index + (isBackward ? block.getNumPrimalResults() : 0));
  }
  const Edge *edge = edgeOf.lookup(op);
  if (!edge)
    return 0;
  SmallVector<AxisMask> operandSums = getOperandSums(op);
  double own = getLocalBytes(use.get()), behind = 0.0;
  for (Value result : op->getResults())
    behind += getLocalBytes(result);
  // Branches that meet in a sum are reduced as one.
  bytes += edge->rule.joint ? std::min(own, behind) : behind;
  return getPassingSums(edge->rule, index, operandSums, getAxes(*edge, operandSums));
}

/// Has the value reduced at its op where some use needs it complete or where that is less to
/// reduce.
bool PendingReductions::restrict(Value value) {
  AxisMask sum = sums.lookup(value);
  // What a loop leaves is reduced behind the loop, at its first use.
  if (sum == 0 || sum >> 31 || llvm::isa_and_nonnull<uls::MicrobatchesOp>(value.getDefiningOp()))
    return false;
  double bytes = 0.0;
  AxisMask allowed = kAnything;
  for (OpOperand &use : value.getUses())
    allowed &= getAllowed(use, bytes);
  // Sums over data axes mostly are gradients on their way out of the block, where they stay pending
  // for free.
  double own = getLocalBytes(value);
  if (bytes > own * (1 + 1e-9)) // the two sums are formed in different orders
    allowed &= gradientAxes;
  AxisMask &keep = kept.try_emplace(value, kAnything).first->second;
  AxisMask next = keep & ~(sum & ~allowed);
  bool changed = next != keep;
  keep = next;
  return changed;
}

void PendingReductions::runFunction(FunctionOpInterface function) {
  Block &entry = function.getFunctionBody().front();
  for (bool changed = true; changed;) {
    evaluate(entry);
    changed = false;
    function.getFunctionBody().walk([&](Operation *op) {
      for (Value result : op->getResults())
        changed |= restrict(result);
    });
  }
  auto record = [&](Operation *op, unsigned first) {
    for (auto [i, value] : llvm::enumerate(op->getOperands())) {
      AxisMask sum = getSum(value) & getAllowedResult(function, first + i);
      resultSums[{function, first + i}] = sum;
      resultCauses[{function, first + i}] = causes.lookup(value);
    }
  };
  auto block = llvm::dyn_cast<uls::BlockOp>(*function);
  bool isJoint = block && block.isJoint();
  if (isJoint)
    record(block.getResultOp(), 0);
  record(entry.getTerminator(), isJoint ? block.getNumPrimalResults() : 0);
}

void PendingReductions::run() {
  for (FunctionOpInterface function : graph.getFunctions())
    runFunction(function);
}

//===---------------------------------------------------------------------------------------===//
// Causes
//===---------------------------------------------------------------------------------------===//

/// "model.layers.*.mlp.down_proj: contraction of mlp, sharded by rule mlp→tp".
std::string PendingReductions::describe(const Edge &edge, uint8_t axis) {
  const FactorAxes &axes = axesOf[edge.op];
  std::string name, annotation = "propagation";
  for (auto [i, tensor] : llvm::enumerate(edge.rule.operands))
    for (auto [d, factors] : llvm::enumerate(tensor))
      for (unsigned f : factors) {
        if (edge.operands[i] < 0 || !llvm::is_contained(axes[f], axis))
          continue;
        Node &node = graph[edge.operands[i]];
        if (name.empty())
          name = node.names[d].empty() ? "dimension " + std::to_string(d) : node.names[d];
        if (const Origin *origin = node.getOrigin(axis))
          annotation = origin->annotation;
      }
  StringRef what = llvm::isa<uls::EinsumOp>(edge.op) ? "contraction of " : "sum over ";
  return dist::describeLocation(edge.op->getLoc()) + ": " + what.str() + name + ", sharded by " +
         annotation;
}

void PendingReductions::findCauses(const Edge &edge, unsigned index, AxisMask reduced,
                                   ArrayRef<AxisMask> passing) {
  Causes list;
  for (uint8_t axis : mesh.getAxes(reduced))
    list.push_back({axis, describe(edge, axis)});
  AxisMask described = reduced;
  for (auto [i, mask] : llvm::enumerate(passing)) {
    if (mask >> 31)
      continue;
    Causes inherited = causes.lookup(edge.op->getOperand(i));
    for (auto &[axis, text] : inherited)
      if ((mask & ~described) & maskOf({axis})) {
        described |= maskOf({axis});
        list.push_back({axis, text});
      }
  }
  causes[edge.op->getResult(index)] = std::move(list);
}
