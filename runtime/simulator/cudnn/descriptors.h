// cuDNN's descriptors: attributes until they are finished, then what they stand for.
#ifndef ULSC_RUNTIME_SIMULATOR_CUDNN_DESCRIPTORS_H
#define ULSC_RUNTIME_SIMULATOR_CUDNN_DESCRIPTORS_H

#include "simulator/cudnn/graph.h"

#include <map>
#include <variant>

namespace ulsc::simulator {

/// Pointers by the numbers of tensors.
struct VariantPack {
  std::map<int64_t, const void *> pointers;
  void *workspace = nullptr;
};

/// A graph that heuristics were asked about, and their workspaces.
struct Proposals {
  std::shared_ptr<const Graph> graph;
  std::vector<int64_t> workspaces;
};

/// What a finished descriptor stands for.
using Meaning =
    std::variant<std::monostate, Tensor, Computation, Node, Graph, Proposals, Config, VariantPack>;

struct AttributeValues {
  int64_t count = 0;
  std::vector<char> bytes;
  /// Of attributes that are descriptors; they live on in whoever refers to them.
  std::vector<std::shared_ptr<const Meaning>> references;
};

struct DescriptorState {
  cudnn::DescriptorType type;
  std::map<uint32_t, AttributeValues> attributes;
  std::shared_ptr<const Meaning> meaning; ///< null until it is finished

  bool has(cudnn::Attribute attribute) const { return attributes.count(attribute) != 0; }
  /// The values of an attribute that is there.
  template <typename Value>
  std::vector<Value> get(cudnn::Attribute attribute) const {
    const AttributeValues &values = attributes.at(attribute);
    auto *begin = reinterpret_cast<const Value *>(values.bytes.data());
    return std::vector<Value>(begin, begin + values.count);
  }
  template <typename Value>
  Value getOr(cudnn::Attribute attribute, Value otherwise) const {
    return has(attribute) ? get<Value>(attribute).front() : otherwise;
  }
  /// What the attribute's first descriptor stands for.
  template <typename Kind>
  std::shared_ptr<const Kind> reference(cudnn::Attribute attribute, size_t index = 0) const {
    const auto &meaning = attributes.at(attribute).references[index];
    return std::shared_ptr<const Kind>(meaning, &std::get<Kind>(*meaning));
  }
};

/// Handles and descriptors are found by their addresses, so that one which was destroyed or never
/// created is reported, not read.
cudnn::Handle createHandle();
bool destroyHandle(cudnn::Handle handle);
bool isHandle(cudnn::Handle handle);
void setStream(cudnn::Handle handle, cudnn::Stream stream);
cudnn::Stream streamOf(cudnn::Handle handle);

cudnn::Descriptor createDescriptor(cudnn::DescriptorType type);
/// Null for a null pointer.
DescriptorState *findDescriptor(cudnn::Descriptor descriptor);
bool destroyDescriptor(cudnn::Descriptor descriptor);

/// "a tensor descriptor"; ends the process for types that are not simulated.
const char *descriptorName(cudnn::DescriptorType type);

Outcome setAttribute(DescriptorState &state, cudnn::Attribute attribute, cudnn::AttributeType type,
                     int64_t count, const void *values);
Outcome getAttribute(DescriptorState &state, cudnn::Attribute attribute, cudnn::AttributeType type,
                     int64_t requested, int64_t *count, void *values);
/// Checks that the attributes are all there and go together, and gives them their meaning.
Outcome finalize(DescriptorState &state);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUDNN_DESCRIPTORS_H
