#include "core/slice.h"

#include <algorithm>

namespace ulsc::runtime {

namespace {

// The padded block that `sharding` gives a rank.
struct Block {
  Shape begin, shape;
};

Block blockOf(const StateTensor &tensor, const Mesh &mesh, const Shape &coordinates) {
  Block block;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    block.shape.push_back(tensor.shape[i] / mesh.sizeOver(tensor.sharding[i]));
    block.begin.push_back(block.shape[i] * mesh.indexOver(tensor.sharding[i], coordinates));
  }
  return block;
}

// The largest box of a block's elements from `first` on that is a contiguous part of [first, end):
// one index in the leading dimensions, several in `dim`, all in those behind it.
Box largestBox(const Block &block, const Shape &strides, int64_t first, int64_t end) {
  Box box;
  size_t rank = block.shape.size(), dim = 0;
  while (dim < rank && (first % strides[dim] != 0 || end - first < strides[dim]))
    ++dim;
  for (size_t i = 0; i < rank; ++i) {
    int64_t index = first / strides[i] % block.shape[i];
    box.begin.push_back(block.begin[i] + index);
    box.size.push_back(i < dim    ? 1
                       : i == dim ? std::min((end - first) / strides[i], block.shape[i] - index)
                                  : block.shape[i]);
  }
  box.local.strides = strides;
  return box;
}

bool holds(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace

int64_t Part::elements() const {
  int64_t count = 0;
  for (const Box &box : boxes)
    count += box.elements();
  return count;
}

int64_t localElements(const StateTensor &tensor, const Mesh &mesh) {
  int64_t count = 1, chunks = mesh.sizeOver(tensor.flat);
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    count *= tensor.shape[i] / mesh.sizeOver(tensor.sharding[i]);
  return (count + chunks - 1) / chunks;
}

Part partOf(const StateTensor &tensor, const Mesh &mesh, const Shape &coordinates) {
  Part part{tensor.logicalShape, {}};
  Block block = blockOf(tensor, mesh, coordinates);
  Shape strides = layoutAt(block.shape, Shape(block.shape.size(), 0)).strides;
  // Without flat axes this is the whole block: one box.
  int64_t chunk = localElements(tensor, mesh);
  int64_t begin = chunk * mesh.indexOver(tensor.flat, coordinates);
  int64_t end = std::min(begin + chunk, elementCount(block.shape));
  for (int64_t first = begin; first < end;) {
    Box box = largestBox(block, strides, first, end);
    box.local.start = first - begin;
    first += box.elements();
    for (size_t i = 0; i < box.size.size(); ++i)
      box.size[i] = std::clamp<int64_t>(tensor.logicalShape[i] - box.begin[i], 0, box.size[i]);
    if (box.elements() > 0)
      part.boxes.push_back(std::move(box));
  }
  return part;
}

bool isFirstReplica(const StateTensor &tensor, const Mesh &mesh, const Shape &coordinates) {
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    bool isSplit = holds(tensor.flat, mesh.axes[axis].name);
    for (const std::vector<std::string> &names : tensor.sharding)
      isSplit |= holds(names, mesh.axes[axis].name);
    int64_t speaker = mesh.axes[axis].name == stageAxis ? tensor.owner : 0;
    if (!isSplit && coordinates[axis] != speaker)
      return false;
  }
  return true;
}

Box intersect(const Box &box, const Shape &begin, const Shape &size) {
  Box result = box;
  for (size_t i = 0; i < begin.size(); ++i) {
    int64_t low = std::max(box.begin[i], begin[i]);
    int64_t high = std::min(box.begin[i] + box.size[i], begin[i] + size[i]);
    result.begin[i] = low;
    result.size[i] = std::max<int64_t>(0, high - low);
    result.local.start += (low - box.begin[i]) * box.local.strides[i];
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
