//===- ShardingGraph.cpp - Values that lie alike and ops that relate them
//-----------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Shard/ShardingGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::shard;

const Origin *Node::getOrigin(unsigned axis) const {
  for (const Origin &origin : origins)
    if (origin.axis == axis)
      return &origin;
  return nullptr;
}

//===---------------------------------------------------------------------------------------===//
// Classes
//===---------------------------------------------------------------------------------------===//

int64_t ShardingGraph::root(int64_t id) {
  while (parents[id] != id)
    id = parents[id] = parents[parents[id]];
  return id;
}

int64_t ShardingGraph::create(Type type) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return -1;
  Node node;
  node.type = tensor;
  node.layout.dims.resize(tensor.getRank());
  node.open.assign(tensor.getRank(), true);
  node.activeFrom.assign(tensor.getRank(), 0);
  node.names.resize(tensor.getRank());
  nodes.push_back(std::move(node));
  parents.push_back(parents.size());
  return parents.back();
}

int64_t ShardingGraph::find(Value value) {
  auto [it, inserted] = values.try_emplace(value, -1);
  if (inserted)
    it->second = create(value.getType());
  return it->second < 0 ? -1 : root(it->second);
}

int64_t ShardingGraph::findResult(Operation *function, unsigned index) {
  auto [it, inserted] = functionResults.try_emplace({function, index}, -1);
  if (inserted)
    it->second = create(llvm::cast<FunctionOpInterface>(function).getResultTypes()[index]);
  return it->second < 0 ? -1 : root(it->second);
}

void ShardingGraph::unite(int64_t a, int64_t b) {
  if (a < 0 || b < 0 || a == b || nodes[a].type.getShape() != nodes[b].type.getShape())
    return;
  parents[std::max(a, b)] = std::min(a, b);
}

//===---------------------------------------------------------------------------------------===//
// Edges
//===---------------------------------------------------------------------------------------===//

void ShardingGraph::addEdge(Operation *op, dist::ShardingRule rule, ArrayRef<int64_t> operands,
                            ArrayRef<int64_t> results) {
  Edge edge{op, std::move(rule), llvm::to_vector<4>(operands), llvm::to_vector<4>(results)};
  const dist::TensorFactors *first = nullptr;
  edge.isElementwise = true;
  auto compare = [&](ArrayRef<dist::TensorFactors> tensors) {
    for (const dist::TensorFactors &tensor : tensors)
      if (!tensor.empty() && *(first ? first : first = &tensor) != tensor)
        edge.isElementwise = false;
  };
  compare(edge.rule.operands);
  compare(edge.rule.results);
  edges.push_back(std::move(edge));
}

/// A value handed on as it is, as by a yield.
static dist::ShardingRule identityRule(RankedTensorType type) {
  std::string error;
  return *dist::ShardingRule::parse("[...]->[...] linear={0}", TypeRange(Type(type)),
                                    TypeRange(Type(type)), error);
}

void ShardingGraph::linkCall(uls::CallOp op) {
  auto block = symbols.lookupNearestSymbolFrom<uls::BlockOp>(op, op.getCalleeAttr());
  for (auto [i, operand] : llvm::enumerate(op.getArguments()))
    // Each callee has indices as it needs them: they are counted, not moved.
    if (!operand.getDefiningOp<uls::IotaOp>())
      unite(find(operand), find(block.getEntry().getArgument(i)));
  for (int64_t i = 0; i < block.getNumPrimalResults(); ++i)
    unite(find(op.getResult(i)), findResult(block, i));
}

void ShardingGraph::linkBackward(uls::BackwardOp op) {
  auto block = symbols.lookupNearestSymbolFrom<uls::BlockOp>(op, op.getCalleeAttr());
  for (auto [i, operand] : llvm::enumerate(op.getCotangents()))
    unite(find(operand), find(block.getEntry().getArgument(block.getNumPrimalArguments() + i)));
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    unite(find(result), findResult(block, block.getNumPrimalResults() + i));
}

void ShardingGraph::linkLoop(uls::MicrobatchesOp op) {
  Block &body = op.getBody().front();
  for (auto [i, init] : llvm::enumerate(op.getInits())) {
    int64_t carried = find(body.getArgument(i + 1));
    unite(find(init), carried);
    unite(find(op.getResult(i)), root(std::max<int64_t>(carried, 0)));
    unite(find(body.getTerminator()->getOperand(i)), find(body.getArgument(i + 1)));
  }
}

/// Cotangents lie as their primal results, gradients as their primal arguments.
void ShardingGraph::linkJoint(uls::BlockOp block) {
  if (!block.isJoint())
    return;
  for (auto [i, result] : llvm::enumerate(*block.getCotangents()))
    unite(find(block.getEntry().getArgument(block.getNumPrimalArguments() + i)),
          findResult(block, result));
  for (auto [i, argument] : llvm::enumerate(*block.getGradients()))
    unite(findResult(block, block.getNumPrimalResults() + i),
          find(block.getEntry().getArgument(argument)));
}

/// Function results may lie otherwise than what is yielded, so they are related, not united.
void ShardingGraph::linkYield(Operation *op, unsigned firstResult) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (int64_t id = find(operand); id >= 0)
      addEdge(op, identityRule(nodes[id].type), {id},
              {findResult(op->getParentOp(), firstResult + i)});
}

void ShardingGraph::link(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](uls::CallOp call) { linkCall(call); })
      .Case([&](uls::BackwardOp backward) { linkBackward(backward); })
      .Case([&](uls::MicrobatchesOp loop) { linkLoop(loop); })
      .Case([&](uls::ResultOp result) { linkYield(result, 0); })
      .Case([&](uls::YieldOp yield) {
        if (!llvm::isa<FunctionOpInterface>(yield->getParentOp()))
          return;
        auto block = llvm::dyn_cast<uls::BlockOp>(yield->getParentOp());
        linkYield(yield, block && block.isJoint() ? block.getNumPrimalResults() : 0);
      })
      .Case([&](dist::ReshardOp reshard) {
        addEdge(op, identityRule(reshard.getInput().getType()), {find(reshard.getInput())},
                {find(reshard.getOutput())});
      })
      .Default([&](Operation *other) {
        std::optional<dist::ShardingRule> rule = dist::getShardingRule(other);
        if (!rule)
          return;
        SmallVector<int64_t> operands, results;
        for (Value operand : other->getOperands())
          operands.push_back(find(operand));
        for (Value result : other->getResults())
          results.push_back(find(result));
        addEdge(other, *std::move(rule), operands, results);
      });
}

OpTensors ShardingGraph::getTensors(const Edge &edge, bool isFinal) {
  OpTensors tensors{&edge.rule, {}, {}};
  auto add = [&](int64_t id, const dist::TensorFactors &factors, auto &list) {
    if (id < 0) {
      list.push_back({&factors, NoneType::get(module.getContext()), Layout(), false});
      return;
    }
    const Node &node = nodes[id];
    bool isOpen = !isFinal && llvm::all_of(node.open, [](bool open) { return open; });
    list.push_back({&factors, node.type, node.layout, isOpen && node.type.getRank() > 0});
  };
  for (auto [id, factors] : llvm::zip_equal(edge.operands, edge.rule.operands))
    add(id, factors, tensors.operands);
  for (auto [id, factors] : llvm::zip_equal(edge.results, edge.rule.results))
    add(id, factors, tensors.results);
  return tensors;
}

LogicalResult ShardingGraph::build() {
  SmallVector<FunctionOpInterface> callers;
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (llvm::isa<uls::BlockOp>(function))
      functions.push_back(function);
    else if (llvm::isa<uls::ForwardOp, uls::StepOp>(function))
      callers.push_back(function);
  }
  llvm::append_range(functions, callers);
  for (FunctionOpInterface function : functions) {
    if (auto block = llvm::dyn_cast<uls::BlockOp>(*function))
      linkJoint(block);
    function.getFunctionBody().walk([&](Operation *op) { link(op); });
  }
  for (Edge &edge : edges) {
    for (int64_t &id : edge.operands)
      id = id < 0 ? id : root(id);
    for (int64_t &id : edge.results)
      id = id < 0 ? id : root(id);
  }
  nameDimensions();
  return seed();
}

bool shard::isZeroConstant(Operation *op) {
  auto constant = llvm::dyn_cast_or_null<uls::ConstantOp>(op);
  auto splat =
      constant ? llvm::dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  return splat && splat.isSplat() && splat.getSplatValue<APFloat>().isZero();
}
