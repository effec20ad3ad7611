// The bytes of memory that a strided tensor occupies, without the gaps.
#ifndef ULSC_RUNTIME_SIMULATOR_CUDNN_TENSOR_RANGES_H
#define ULSC_RUNTIME_SIMULATOR_CUDNN_TENSOR_RANGES_H

#include "simulator/core/ranges.h"
#include "simulator/cudnn/graph.h"

namespace ulsc::simulator {

/// Ascending, touching ones merged. `overlaps` says whether some byte belongs to two elements.
std::vector<Range> rangesOf(const Tensor &tensor, const void *pointer, bool &overlaps);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUDNN_TENSOR_RANGES_H
