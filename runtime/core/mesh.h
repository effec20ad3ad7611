// The mesh of ranks, and shapes.
#ifndef ULSC_RUNTIME_CORE_MESH_H
#define ULSC_RUNTIME_CORE_MESH_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ulsc::runtime {

using Shape = std::vector<int64_t>;

/// The product of all sizes.
int64_t elementCount(const Shape &shape);
/// "[2, 3]".
std::string shapeText(const Shape &shape);

struct MeshAxis {
  std::string name;
  int64_t size;
};

/// A whole axis, or the part that "dp:(2)4" names: of 4 ranks behind a major part of 2.
struct AxisPart {
  size_t axis;
  int64_t size;
  int64_t minor; // ranks of the axis behind the part

  int64_t coordinate(int64_t onAxis) const { return onAxis / minor % size; }
};

/// Axes major to minor; ranks are row-major over them.
struct Mesh {
  std::vector<MeshAxis> axes;

  int64_t ranks() const;
  Shape coordinates(int64_t rank) const;
  /// The index of an axis; throws for a name that the mesh lacks.
  size_t axisIndex(const std::string &name) const;
  /// What `name` means; throws where the mesh has no such axis, or the axis no such part.
  AxisPart findPart(const std::string &name) const;
  /// The lowest of the ranks that differ from `rank` only along the named axes.
  int64_t firstInGroup(const std::vector<std::string> &names, int64_t rank) const;
  /// Row-major index of `coordinates` over the named axes, and the product of their sizes.
  int64_t indexOver(const std::vector<std::string> &names, const Shape &coordinates) const;
  int64_t sizeOver(const std::vector<std::string> &names) const;
  /// "dp=2,tp=2"; "1 device" without axes.
  std::string text() const;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_MESH_H
