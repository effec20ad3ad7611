// What attributes mean once a descriptor is finished.
#include "simulator/cudnn/attributes.h"
#include "simulator/cudnn/support.h"

#include "simulator/core/report.h"

namespace ulsc::simulator {

using namespace cudnn;

namespace {

Outcome makeTensor(const DescriptorState &state, Tensor &tensor) {
  tensor.id = state.get<int64_t>(AttrTensorUniqueId).front();
  tensor.type = state.get<uint32_t>(AttrTensorDataType).front();
  tensor.alignment = state.get<int64_t>(AttrTensorAlignment).front();
  tensor.isVirtual = state.getOr<char>(AttrTensorIsVirtual, 0) != 0;
  tensor.isByValue = state.getOr<char>(AttrTensorIsByValue, 0) != 0;
  std::vector<int64_t> sizes = state.get<int64_t>(AttrTensorSizes);
  std::vector<int64_t> strides = state.get<int64_t>(AttrTensorStrides);
  for (size_t i = 0; i < 4; ++i) {
    tensor.sizes[i] = sizes[i];
    tensor.strides[i] = strides[i];
    if (sizes[i] < 1 || strides[i] < 1)
      return badParam(text(tensor.describe(), " has a size or stride below 1"));
  }
  if (tensor.alignment < 1 || (tensor.alignment & (tensor.alignment - 1)))
    return badParam(text(tensor.describe(), " has alignment ", tensor.alignment));
  if (tensor.isVirtual && tensor.isByValue)
    return badParam(text(tensor.describe(), " is both virtual and by value"));
  bool isStored = tensor.type == DataF32 || tensor.type == DataF16 || tensor.type == DataBf16;
  bool isInner = tensor.type == DataI32 || tensor.type == DataBoolean;
  if (!isStored && !(isInner && tensor.isVirtual))
    endUnsupported(tensor.describe(), "f32, f16, bf16; virtual i32 and boolean");
  if (tensor.isByValue && (tensor.type != DataF32 || tensor.elements() != 1))
    endUnsupported(text(tensor.describe(), " by value"), "one f32");
  return {};
}

void requireMode(const char *what, uint32_t mode, std::initializer_list<uint32_t> known) {
  for (uint32_t each : known)
    if (each == mode)
      return;
  endUnsupported(text(what, " ", mode), "those in runtime/cuda/cudnn_api.h");
}

void requirePrecision(const DescriptorState &state, Attribute attribute, bool mayBeBoolean) {
  uint32_t type = state.get<uint32_t>(attribute).front();
  if (type != DataF32 && !(mayBeBoolean && type == DataBoolean))
    endUnsupported(text("computing in ", typeName(type)), "f32; comparisons in boolean");
}

Outcome makeComputation(const DescriptorState &state, Computation &computation) {
  if (state.type == DescriptorMatmul) {
    requirePrecision(state, AttrMatmulPrecision, false);
    return {};
  }
  if (state.type == DescriptorReduction) {
    requirePrecision(state, AttrReductionPrecision, false);
    computation.mode = state.get<uint32_t>(AttrReductionOperator).front();
    requireMode("reduction", computation.mode, {ReductionSum, ReductionMin, ReductionMax});
    return {};
  }
  computation.mode = state.get<uint32_t>(AttrPointwiseMode).front();
  computation.axis = state.getOr<int64_t>(AttrPointwiseAxis, -1);
  requireMode("pointwise mode", computation.mode,
              {PointwiseAdd, PointwiseMultiply, PointwiseMin, PointwiseMax, PointwiseDivide,
               PointwiseSubtract, PointwiseExp, PointwiseLog, PointwiseIdentity,
               PointwiseGreaterOrEqual, PointwiseLess, PointwiseIndex, PointwiseSelect});
  requirePrecision(state, AttrPointwisePrecision,
                   computation.mode == PointwiseGreaterOrEqual ||
                       computation.mode == PointwiseLess);
  if ((computation.mode == PointwiseIndex) != (computation.axis >= 0) || computation.axis > 3)
    return badParam(text("pointwise mode ", computation.mode, " has axis ", computation.axis));
  return {};
}

/// How many of X, B and T a pointwise mode takes.
size_t operandsOf(uint32_t mode) {
  switch (mode) {
  case PointwiseExp:
  case PointwiseLog:
  case PointwiseIdentity:
  case PointwiseIndex:
    return 1;
  case PointwiseSelect:
    return 3;
  default:
    return 2;
  }
}

Outcome makeNode(const DescriptorState &state, Node &node) {
  auto add = [&](Attribute attribute) {
    if (state.has(attribute))
      node.inputs.push_back(state.reference<Tensor>(attribute));
  };
  switch (state.type) {
  case DescriptorMatmulOperation:
    node.kind = Node::Matmul;
    add(AttrMatmulA);
    add(AttrMatmulB);
    node.output = state.reference<Tensor>(AttrMatmulC);
    break;
  case DescriptorReductionOperation:
    node.kind = Node::Reduce;
    node.computation = *state.reference<Computation>(AttrReductionOperation);
    add(AttrReductionX);
    node.output = state.reference<Tensor>(AttrReductionY);
    break;
  case DescriptorReshapeOperation:
    node.kind = Node::Reshape;
    add(AttrReshapeX);
    node.output = state.reference<Tensor>(AttrReshapeY);
    break;
  default:
    node.kind = Node::Pointwise;
    node.computation = *state.reference<Computation>(AttrPointwiseOperation);
    add(AttrPointwiseX);
    add(AttrPointwiseB);
    add(AttrPointwiseT);
    node.output = state.reference<Tensor>(AttrPointwiseY);
    if (node.inputs.size() != operandsOf(node.computation.mode))
      return badParam(text("pointwise mode ", node.computation.mode, " takes ",
                           operandsOf(node.computation.mode), " operands, given ",
                           node.inputs.size()));
  }
  return node.check();
}

Outcome makeGraph(const DescriptorState &state, Graph &graph) {
  std::vector<Node> nodes;
  for (const auto &meaning : state.attributes.at(AttrGraphOperations).references) {
    auto *node = std::get_if<Node>(meaning.get());
    if (!node)
      return {StatusDescriptorType, "the graph has something that is no operation"};
    nodes.push_back(*node);
  }
  return Graph::make(std::move(nodes), graph);
}

Outcome makePack(const DescriptorState &state, VariantPack &pack) {
  std::vector<int64_t> ids = state.get<int64_t>(AttrPackUniqueIds);
  std::vector<const void *> pointers = state.get<const void *>(AttrPackPointers);
  if (ids.size() != pointers.size())
    return badParam(text("the variant pack has ", ids.size(), " numbers of tensors and ",
                         pointers.size(), " pointers"));
  for (size_t i = 0; i < ids.size(); ++i)
    if (!pack.pointers.emplace(ids[i], pointers[i]).second)
      return {StatusDuplicatedEntries, text("tensor ", ids[i], " has two pointers")};
  pack.workspace = state.get<void *>(AttrPackWorkspace).front();
  return {};
}

Proposals makeProposals(const DescriptorState &state) {
  Proposals proposals{state.reference<Graph>(AttrHeuristicGraph), {}};
  requireMode("heuristic mode", state.get<uint32_t>(AttrHeuristicMode).front(),
              {HeuristicA, HeuristicFallback});
  // Nothing is proposed for what can't be done: the reason is in the log.
  if (answer("cudnnBackendFinalize", checkSupport(*proposals.graph)) == StatusSuccess)
    proposals.workspaces = proposeWorkspaces(*proposals.graph);
  return proposals;
}

template <typename Kind>
Outcome mean(DescriptorState &state, Outcome (*make)(const DescriptorState &, Kind &)) {
  Kind kind{};
  Outcome outcome = make(state, kind);
  if (!outcome.isRefusal())
    state.meaning = std::make_shared<Meaning>(std::move(kind));
  return outcome;
}

} // namespace

Outcome finalize(DescriptorState &state) {
  if (state.meaning)
    return badParam(text(descriptorName(state.type), " is finalized already"));
  for (const Rule &rule : rulesOf(state.type))
    if (rule.isRequired && !state.has(rule.attribute))
      return badParam(text(descriptorName(state.type), " lacks ", rule.name));
  switch (state.type) {
  case DescriptorTensor:
    return mean(state, makeTensor);
  case DescriptorPointwise:
  case DescriptorMatmul:
  case DescriptorReduction:
    return mean(state, makeComputation);
  case DescriptorOperationGraph:
    return mean(state, makeGraph);
  case DescriptorVariantPack:
    return mean(state, makePack);
  case DescriptorHeuristic:
    state.meaning = std::make_shared<Meaning>(makeProposals(state));
    return {};
  case DescriptorExecutionPlan:
    state.meaning = std::make_shared<Meaning>(*state.reference<Config>(AttrPlanEngineConfig));
    return {};
  case DescriptorEngineConfig:
    return badParam("an engine configuration is not one of a heuristic's results");
  default:
    return mean(state, makeNode);
  }
}

const char *descriptorName(DescriptorType type) {
  switch (type) {
  case DescriptorTensor:
    return "a tensor descriptor";
  case DescriptorPointwise:
    return "a pointwise descriptor";
  case DescriptorMatmul:
    return "a matmul descriptor";
  case DescriptorReduction:
    return "a reduction descriptor";
  case DescriptorPointwiseOperation:
    return "a pointwise operation";
  case DescriptorMatmulOperation:
    return "a matmul operation";
  case DescriptorReductionOperation:
    return "a reduction operation";
  case DescriptorReshapeOperation:
    return "a reshape operation";
  case DescriptorOperationGraph:
    return "an operation graph";
  case DescriptorHeuristic:
    return "a heuristic";
  case DescriptorEngineConfig:
    return "an engine configuration";
  case DescriptorExecutionPlan:
    return "an execution plan";
  case DescriptorVariantPack:
    return "a variant pack";
  default:
    endUnsupported(text("descriptor type ", static_cast<uint32_t>(type)),
                   "tensors, pointwise, matmul, reduction and reshape operations, graphs, "
                   "heuristics, engine configurations, plans and variant packs");
  }
}

} // namespace ulsc::simulator
