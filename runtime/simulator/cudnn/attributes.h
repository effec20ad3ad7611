// The attributes that a descriptor of each type has.
#ifndef ULSC_RUNTIME_SIMULATOR_CUDNN_ATTRIBUTES_H
#define ULSC_RUNTIME_SIMULATOR_CUDNN_ATTRIBUTES_H

#include "simulator/cudnn/descriptors.h"

#include <optional>

namespace ulsc::simulator {

struct Rule {
  cudnn::Attribute attribute;
  const char *name;
  cudnn::AttributeType type;
  int64_t least, most; ///< values
  bool isRequired;
  std::optional<cudnn::DescriptorType> refersTo = std::nullopt;
};

struct Rules {
  const Rule *first, *last;
  const Rule *begin() const { return first; }
  const Rule *end() const { return last; }
};

/// Those that programs set; none for descriptors that only the library fills in.
Rules rulesOf(cudnn::DescriptorType type);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUDNN_ATTRIBUTES_H
