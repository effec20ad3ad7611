// Ranges of strided tensors.
#include "simulator/cudnn/tensor_ranges.h"

#include <algorithm>
#include <numeric>

namespace ulsc::simulator {

std::vector<Range> rangesOf(const Tensor &tensor, const void *pointer, bool &overlaps) {
  std::array<size_t, 4> order;
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t left, size_t right) {
    return tensor.strides[left] < tensor.strides[right];
  });
  // Dimensions without gaps between their elements are one run; the others multiply runs.
  int64_t run = 1;
  std::vector<int64_t> begins{0};
  for (size_t dimension : order) {
    int64_t size = tensor.sizes[dimension], stride = tensor.strides[dimension];
    if (size == 1)
      continue;
    if (begins.size() == 1 && stride == run) {
      run *= size;
      continue;
    }
    std::vector<int64_t> more;
    more.reserve(begins.size() * static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i)
      for (int64_t begin : begins)
        more.push_back(begin + i * stride);
    begins = std::move(more);
  }
  std::vector<Range> ranges;
  ranges.reserve(begins.size());
  for (int64_t begin : begins)
    ranges.push_back({static_cast<const char *>(pointer) + begin * tensor.elementBytes(),
                      run * tensor.elementBytes()});
  overlaps = normalise(ranges);
  return ranges;
}

} // namespace ulsc::simulator
