// Attributes of descriptors: which there are, of what type, and how many values they have. One that
// is not simulated ends the process: ignoring it could change a result.
#include "simulator/cudnn/attributes.h"

#include "simulator/core/report.h"

#include <algorithm>
#include <cstring>

namespace ulsc::simulator {

using namespace cudnn;

namespace {

constexpr int64_t any = INT64_MAX;

const Rule tensorRules[] = {
    {AttrTensorDataType, "CUDNN_ATTR_TENSOR_DATA_TYPE", TypeDataType, 1, 1, true},
    {AttrTensorSizes, "CUDNN_ATTR_TENSOR_DIMENSIONS", TypeInt64, 4, 4, true},
    {AttrTensorStrides, "CUDNN_ATTR_TENSOR_STRIDES", TypeInt64, 4, 4, true},
    {AttrTensorUniqueId, "CUDNN_ATTR_TENSOR_UNIQUE_ID", TypeInt64, 1, 1, true},
    {AttrTensorAlignment, "CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT", TypeInt64, 1, 1, true},
    {AttrTensorIsVirtual, "CUDNN_ATTR_TENSOR_IS_VIRTUAL", TypeBoolean, 1, 1, false},
    {AttrTensorIsByValue, "CUDNN_ATTR_TENSOR_IS_BY_VALUE", TypeBoolean, 1, 1, false},
};
const Rule pointwiseRules[] = {
    {AttrPointwiseMode, "CUDNN_ATTR_POINTWISE_MODE", TypePointwiseMode, 1, 1, true},
    {AttrPointwisePrecision, "CUDNN_ATTR_POINTWISE_MATH_PREC", TypeDataType, 1, 1, true},
    {AttrPointwiseAxis, "CUDNN_ATTR_POINTWISE_AXIS", TypeInt64, 1, 1, false},
};
const Rule matmulRules[] = {
    {AttrMatmulPrecision, "CUDNN_ATTR_MATMUL_COMP_TYPE", TypeDataType, 1, 1, true},
};
const Rule reductionRules[] = {
    {AttrReductionOperator, "CUDNN_ATTR_REDUCTION_OPERATOR", TypeReduction, 1, 1, true},
    {AttrReductionPrecision, "CUDNN_ATTR_REDUCTION_COMP_TYPE", TypeDataType, 1, 1, true},
};
const Rule pointwiseOperationRules[] = {
    {AttrPointwiseOperation, "CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR", TypeDescriptor, 1, 1,
     true, DescriptorPointwise},
    {AttrPointwiseX, "CUDNN_ATTR_OPERATION_POINTWISE_XDESC", TypeDescriptor, 1, 1, true,
     DescriptorTensor},
    {AttrPointwiseB, "CUDNN_ATTR_OPERATION_POINTWISE_BDESC", TypeDescriptor, 1, 1, false,
     DescriptorTensor},
    {AttrPointwiseT, "CUDNN_ATTR_OPERATION_POINTWISE_TDESC", TypeDescriptor, 1, 1, false,
     DescriptorTensor},
    {AttrPointwiseY, "CUDNN_ATTR_OPERATION_POINTWISE_YDESC", TypeDescriptor, 1, 1, true,
     DescriptorTensor},
};
const Rule matmulOperationRules[] = {
    {AttrMatmulOperation, "CUDNN_ATTR_OPERATION_MATMUL_DESC", TypeDescriptor, 1, 1, true,
     DescriptorMatmul},
    {AttrMatmulA, "CUDNN_ATTR_OPERATION_MATMUL_ADESC", TypeDescriptor, 1, 1, true,
     DescriptorTensor},
    {AttrMatmulB, "CUDNN_ATTR_OPERATION_MATMUL_BDESC", TypeDescriptor, 1, 1, true,
     DescriptorTensor},
    {AttrMatmulC, "CUDNN_ATTR_OPERATION_MATMUL_CDESC", TypeDescriptor, 1, 1, true,
     DescriptorTensor},
};
const Rule reductionOperationRules[] = {
    {AttrReductionOperation, "CUDNN_ATTR_OPERATION_REDUCTION_DESC", TypeDescriptor, 1, 1, true,
     DescriptorReduction},
    {AttrReductionX, "CUDNN_ATTR_OPERATION_REDUCTION_XDESC", TypeDescriptor, 1, 1, true,
     DescriptorTensor},
    {AttrReductionY, "CUDNN_ATTR_OPERATION_REDUCTION_YDESC", TypeDescriptor, 1, 1, true,
     DescriptorTensor},
};
const Rule reshapeOperationRules[] = {
    {AttrReshapeX, "CUDNN_ATTR_OPERATION_RESHAPE_XDESC", TypeDescriptor, 1, 1, true,
     DescriptorTensor},
    {AttrReshapeY, "CUDNN_ATTR_OPERATION_RESHAPE_YDESC", TypeDescriptor, 1, 1, true,
     DescriptorTensor},
};
// Operations of a graph may be of several types: its meaning is checked instead.
const Rule graphRules[] = {
    {AttrGraphOperations, "CUDNN_ATTR_OPERATIONGRAPH_OPS", TypeDescriptor, 1, any, true},
    {AttrGraphHandle, "CUDNN_ATTR_OPERATIONGRAPH_HANDLE", TypeHandle, 1, 1, true},
};
const Rule heuristicRules[] = {
    {AttrHeuristicGraph, "CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH", TypeDescriptor, 1, 1, true,
     DescriptorOperationGraph},
    {AttrHeuristicMode, "CUDNN_ATTR_ENGINEHEUR_MODE", TypeHeuristicMode, 1, 1, true},
};
const Rule planRules[] = {
    {AttrPlanEngineConfig, "CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG", TypeDescriptor, 1, 1, true,
     DescriptorEngineConfig},
    {AttrPlanHandle, "CUDNN_ATTR_EXECUTION_PLAN_HANDLE", TypeHandle, 1, 1, true},
};
const Rule packRules[] = {
    {AttrPackUniqueIds, "CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS", TypeInt64, 1, any, true},
    {AttrPackPointers, "CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS", TypePointer, 1, any, true},
    {AttrPackWorkspace, "CUDNN_ATTR_VARIANT_PACK_WORKSPACE", TypePointer, 1, 1, true},
};

size_t sizeOf(AttributeType type) {
  switch (type) {
  case TypeBoolean:
  case TypeChar:
    return 1;
  case TypeHandle:
  case TypeInt64:
  case TypePointer:
  case TypeDescriptor:
    return 8;
  default:
    return 4;
  }
}

template <size_t Count>
Rules all(const Rule (&rules)[Count]) {
  return {rules, rules + Count};
}

/// Finds the finished descriptors that an attribute refers to.
Outcome refer(const Rule &rule, AttributeValues &values) {
  auto *descriptors = reinterpret_cast<const Descriptor *>(values.bytes.data());
  for (int64_t i = 0; i < values.count; ++i) {
    const DescriptorState *state = findDescriptor(descriptors[i]);
    if (!state)
      return {StatusNullPointer, text(rule.name, " has a null descriptor")};
    if (rule.refersTo && state->type != *rule.refersTo)
      return {StatusDescriptorType, text(rule.name, " is ", descriptorName(state->type), ", not ",
                                         descriptorName(*rule.refersTo))};
    if (!state->meaning)
      return {StatusNotFinalized,
              text(rule.name, " is ", descriptorName(state->type), " that isn't finalized")};
    values.references.push_back(state->meaning);
  }
  return {};
}

} // namespace

Rules rulesOf(DescriptorType type) {
  switch (type) {
  case DescriptorTensor:
    return all(tensorRules);
  case DescriptorPointwise:
    return all(pointwiseRules);
  case DescriptorMatmul:
    return all(matmulRules);
  case DescriptorReduction:
    return all(reductionRules);
  case DescriptorPointwiseOperation:
    return all(pointwiseOperationRules);
  case DescriptorMatmulOperation:
    return all(matmulOperationRules);
  case DescriptorReductionOperation:
    return all(reductionOperationRules);
  case DescriptorReshapeOperation:
    return all(reshapeOperationRules);
  case DescriptorOperationGraph:
    return all(graphRules);
  case DescriptorHeuristic:
    return all(heuristicRules);
  case DescriptorExecutionPlan:
    return all(planRules);
  case DescriptorVariantPack:
    return all(packRules);
  default:
    return {nullptr, nullptr};
  }
}

Outcome setAttribute(DescriptorState &state, Attribute attribute, AttributeType type, int64_t count,
                     const void *values) {
  if (state.meaning)
    return badParam(text(descriptorName(state.type), " is finalized already"));
  Rules rules = rulesOf(state.type);
  auto rule = std::find_if(rules.begin(), rules.end(),
                           [&](const Rule &each) { return each.attribute == attribute; });
  if (rule == rules.end())
    endUnsupported(text("attribute ", uint32_t(attribute), " of ", descriptorName(state.type)),
                   "those in runtime/cuda/cudnn_api.h");
  if (type != rule->type)
    return {StatusAttributeType, text(rule->name, " is given as type ", uint32_t(type),
                                      ", it has type ", uint32_t(rule->type))};
  if (count < rule->least || count > rule->most)
    return badParam(text(rule->name, " is given ", count, " values, it has ", rule->least,
                         rule->most > rule->least ? " or more" : ""));
  if (!values)
    return {StatusNullPointer, text("the values of ", rule->name, " are null")};
  AttributeValues kept;
  kept.count = count;
  auto *bytes = static_cast<const char *>(values);
  kept.bytes.assign(bytes, bytes + static_cast<size_t>(count) * sizeOf(type));
  if (type == TypeDescriptor)
    if (Outcome outcome = refer(*rule, kept); outcome.isRefusal())
      return outcome;
  state.attributes[attribute] = std::move(kept);
  return {};
}

namespace {

/// Fills in configurations that the program made, best first.
Outcome getResults(const Proposals &proposals, int64_t requested, int64_t *count, void *values) {
  auto found = static_cast<int64_t>(proposals.workspaces.size());
  *count = std::min(requested, found);
  if (requested == 0)
    *count = found;
  auto *descriptors = static_cast<Descriptor *>(values);
  for (int64_t i = 0; i < std::min(requested, found); ++i) {
    DescriptorState *config = findDescriptor(descriptors[i]);
    if (!config || config->type != DescriptorEngineConfig)
      return {StatusDescriptorType, text("place ", i, " for a result is no engine configuration")};
    config->meaning = std::make_shared<Meaning>(
        Config{proposals.graph, proposals.workspaces[static_cast<size_t>(i)]});
  }
  return {};
}

} // namespace

Outcome getAttribute(DescriptorState &state, Attribute attribute, AttributeType type,
                     int64_t requested, int64_t *count, void *values) {
  bool isResults = state.type == DescriptorHeuristic && attribute == AttrHeuristicResults;
  bool isWorkspace =
      (state.type == DescriptorExecutionPlan && attribute == AttrPlanWorkspaceBytes) ||
      (state.type == DescriptorEngineConfig && attribute == AttrConfigWorkspaceBytes);
  if (!isResults && !isWorkspace)
    endUnsupported(
        text("asking for attribute ", uint32_t(attribute), " of ", descriptorName(state.type)),
        "heuristics' results and workspaces");
  if (!state.meaning)
    return {StatusNotFinalized, text(descriptorName(state.type), " isn't finalized")};
  if (type != (isResults ? TypeDescriptor : TypeInt64))
    return {StatusAttributeType,
            text("attribute ", uint32_t(attribute), " is not of type ", uint32_t(type))};
  if (!count || (requested > 0 && !values))
    return {StatusNullPointer, "there is no place for the values"};
  if (isResults)
    return getResults(std::get<Proposals>(*state.meaning), requested, count, values);
  *count = 1;
  if (requested >= 1)
    std::memcpy(values, &std::get<Config>(*state.meaning).workspaceBytes, sizeof(int64_t));
  return {};
}

} // namespace ulsc::simulator
