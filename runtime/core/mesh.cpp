#include "core/mesh.h"

#include "core/error.h"

#include <cstdio>

namespace ulsc::runtime {

int64_t elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string shapeText(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

int64_t Mesh::ranks() const {
  int64_t count = 1;
  for (const MeshAxis &axis : axes)
    count *= axis.size;
  return count;
}

Shape Mesh::coordinates(int64_t rank) const {
  Shape result(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    result[i] = rank % axes[i].size;
    rank /= axes[i].size;
  }
  return result;
}

size_t Mesh::axisIndex(const std::string &name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return i;
  raise("the manifest uses mesh axis '", name, "', but the mesh is ", text());
}

AxisPart Mesh::findPart(const std::string &name) const {
  size_t colon = name.find(':');
  size_t axis = axisIndex(name.substr(0, colon));
  int64_t whole = axes[axis].size;
  if (colon == std::string::npos)
    return {axis, whole, 1};
  long long before = 0, size = 0;
  int length = 0;
  bool isRead = std::sscanf(name.c_str() + colon, ":(%lld)%lld%n", &before, &size, &length) == 2 &&
                colon + length == name.size();
  if (!isRead || before < 1 || size < 1 || whole / before < size || whole % (before * size) != 0)
    raise("the manifest names '", name, "', which is no part of mesh axis ", axes[axis].name, "=",
          whole);
  return {axis, size, whole / before / size};
}

int64_t Mesh::firstInGroup(const std::vector<std::string> &names, int64_t rank) const {
  Shape own = coordinates(rank);
  int64_t first = rank;
  for (const std::string &name : names) {
    AxisPart part = findPart(name);
    int64_t stride = part.minor;
    for (size_t i = part.axis + 1; i < axes.size(); ++i)
      stride *= axes[i].size;
    first -= part.coordinate(own[part.axis]) * stride;
  }
  return first;
}

int64_t Mesh::indexOver(const std::vector<std::string> &names, const Shape &coordinates) const {
  int64_t index = 0;
  for (const std::string &name : names) {
    AxisPart part = findPart(name);
    index = index * part.size + part.coordinate(coordinates[part.axis]);
  }
  return index;
}

int64_t Mesh::sizeOver(const std::vector<std::string> &names) const {
  int64_t size = 1;
  for (const std::string &name : names)
    size *= findPart(name).size;
  return size;
}

std::string Mesh::text() const {
  std::string result;
  for (const MeshAxis &axis : axes)
    result += (result.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return result.empty() ? "1 device" : result;
}

} // namespace ulsc::runtime
