#include "core/slice.h"

#include <algorithm>

namespace ulsc::runtime {

Slice sliceOf(const StateTensor &tensor, const Mesh &mesh, const Shape &coordinates) {
  Slice slice;
  slice.logicalShape = tensor.logicalShape;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    int64_t local = tensor.shape[i] / mesh.sizeOver(tensor.sharding[i]);
    int64_t begin = local * mesh.indexOver(tensor.sharding[i], coordinates);
    slice.localShape.push_back(local);
    slice.begin.push_back(begin);
    slice.size.push_back(std::clamp<int64_t>(tensor.logicalShape[i] - begin, 0, local));
  }
  return slice;
}

bool isFirstReplica(const StateTensor &tensor, const Mesh &mesh, const Shape &coordinates) {
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    bool isSharded = false;
    for (const std::vector<std::string> &names : tensor.sharding)
      isSharded |= std::find(names.begin(), names.end(), mesh.axes[axis].name) != names.end();
    if (!isSharded && coordinates[axis] != 0)
      return false;
  }
  return true;
}

Slice intersect(const Slice &slice, const Shape &begin, const Shape &size) {
  Slice result = slice;
  for (size_t i = 0; i < begin.size(); ++i) {
    int64_t low = std::max(slice.begin[i], begin[i]);
    int64_t high = std::min(slice.begin[i] + slice.size[i], begin[i] + size[i]);
    result.begin[i] = low;
    result.size[i] = std::max<int64_t>(0, high - low);
  }
  return result;
}

Layout layoutAt(const Shape &shape, const Shape &origin) {
  Layout layout;
  layout.strides.resize(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    layout.strides[i] = stride;
    layout.start += origin[i] * stride;
    stride *= shape[i];
  }
  return layout;
}

} // namespace ulsc::runtime
