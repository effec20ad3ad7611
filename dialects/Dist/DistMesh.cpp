//===- DistMesh.cpp - Arithmetic of mesh axes and their parts
//----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ulsc::dist;

StringRef ulsc::dist::getWholeAxis(StringRef text) { return text.split(':').first; }

std::optional<AxisPart> MeshAttr::findAxis(StringRef text) const {
  std::optional<unsigned> position = getAxisPosition(getWholeAxis(text));
  if (!position)
    return std::nullopt;
  AxisPart part{*position, getAxes()[*position].getSize(), 1};
  StringRef rest = text.split(':').second;
  if (!text.contains(':'))
    return part;
  int64_t before, size;
  if (!rest.consume_front("(") || rest.consumeInteger(10, before) || !rest.consume_front(")") ||
      rest.getAsInteger(10, size) || before < 1 || size < 1 || part.size / before < size ||
      part.size % (before * size) != 0)
    return std::nullopt;
  return AxisPart{*position, size, part.size / before / size};
}

std::optional<unsigned> MeshAttr::getAxisPosition(StringRef axis) const {
  for (auto [i, candidate] : llvm::enumerate(getAxes()))
    if (candidate.getName() == axis)
      return i;
  return std::nullopt;
}

std::optional<int64_t> MeshAttr::getAxisSize(StringRef axis) const {
  std::optional<AxisPart> part = findAxis(axis);
  return part ? std::optional(part->size) : std::nullopt;
}

int64_t MeshAttr::getDeviceCount() const {
  int64_t count = 1;
  for (MeshAxisAttr axis : getAxes())
    count *= axis.getSize();
  return count;
}

int64_t MeshAttr::getSize(ArrayRef<StringAttr> axes) const {
  int64_t size = 1;
  for (StringAttr axis : axes)
    size *= *getAxisSize(axis);
  return size;
}

SmallVector<int64_t> MeshAttr::getCoordinates(int64_t rank) const {
  SmallVector<int64_t> coordinates(getAxes().size());
  for (int64_t i = getAxes().size() - 1; i >= 0; --i) {
    coordinates[i] = rank % getAxes()[i].getSize();
    rank /= getAxes()[i].getSize();
  }
  return coordinates;
}

int64_t MeshAttr::getPosition(int64_t rank, ArrayRef<StringAttr> axes) const {
  SmallVector<int64_t> coordinates = getCoordinates(rank);
  int64_t position = 0;
  for (StringAttr axis : axes) {
    AxisPart part = *findAxis(axis);
    position = position * part.size + part.getCoordinate(coordinates[part.position]);
  }
  return position;
}

SmallVector<int64_t> MeshAttr::getGroup(int64_t rank, ArrayRef<StringAttr> axes) const {
  SmallVector<int64_t> strides(getAxes().size(), 1);
  for (int64_t i = int64_t(getAxes().size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * getAxes()[i + 1].getSize();
  SmallVector<int64_t> coordinates = getCoordinates(rank);
  int64_t base = rank;
  SmallVector<std::pair<int64_t, int64_t>> steps;
  for (StringAttr axis : axes) {
    AxisPart part = *findAxis(axis);
    int64_t stride = strides[part.position] * part.minor;
    base -= part.getCoordinate(coordinates[part.position]) * stride;
    steps.emplace_back(part.size, stride);
  }
  SmallVector<int64_t> group{base};
  for (auto [size, stride] : steps) {
    SmallVector<int64_t> next;
    for (int64_t start : group)
      for (int64_t i = 0; i < size; ++i)
        next.push_back(start + i * stride);
    group = std::move(next);
  }
  return group;
}

SmallVector<int64_t> ulsc::dist::getMinorRankCounts(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> counts{1};
  int64_t whole = 1;
  for (int64_t size : llvm::reverse(sizes)) {
    for (int64_t part = 2; part <= size; ++part)
      if (size % part == 0)
        counts.push_back(whole * part);
    whole *= size;
  }
  return counts;
}

std::optional<SmallVector<StringAttr>> MeshAttr::getMinorAxes(ArrayRef<StringAttr> axes,
                                                              int64_t ranks) const {
  SmallVector<StringAttr> minor;
  for (StringAttr axis : llvm::reverse(axes)) {
    int64_t size = *getAxisSize(axis);
    if (ranks == 1)
      break;
    if (ranks % size == 0) {
      minor.push_back(axis);
      ranks /= size;
      continue;
    }
    if (size % ranks != 0)
      return std::nullopt;
    minor.push_back(StringAttr::get(getContext(), axis.getValue() + ":(" + Twine(size / ranks) +
                                                      ")" + Twine(ranks)));
    ranks = 1;
  }
  if (ranks != 1)
    return std::nullopt;
  return SmallVector<StringAttr>(llvm::reverse(minor));
}
