// The bytes of memory that a strided tensor occupies, without the gaps.
#ifndef ULSC_RUNTIME_SIMULATOR_CUDNN_TENSOR_RANGES_H
#define ULSC_RUNTIME_SIMULATOR_CUDNN_TENSOR_RANGES_H

#include "simulator/core/operation.h"
#include "simulator/cudnn/graph.h"

namespace ulsc::simulator {

/// Ascending, touching ones merged. `overlaps` says whether some byte belongs to two elements.
std::vector<Range> rangesOf(const Tensor &tensor, const void *pointer, bool &overlaps);

/// Whether a byte is in both lists, which ascend.
bool intersect(const std::vector<Range> &left, const std::vector<Range> &right);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUDNN_TENSOR_RANGES_H
