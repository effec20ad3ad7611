// What a rank holds of a tensor: boxes of logical elements, walked in runs of contiguous ones.
#ifndef ULSC_RUNTIME_CORE_SLICE_H
#define ULSC_RUNTIME_CORE_SLICE_H

#include "core/manifest.h"

#include <vector>

namespace ulsc::runtime {

/// Where a rectangle lies in memory: strides of dimensions and the position of its first element.
struct Layout {
  Shape strides;
  int64_t start = 0;
};

/// A row-major tensor of `shape`, seen from the element at `origin`.
Layout layoutAt(const Shape &shape, const Shape &origin);

/// A hyper-rectangle of logical elements that lies in a rank's memory.
struct Box {
  Shape begin, size; // in the logical tensor
  Layout local;      // in the rank's memory of the tensor

  int64_t elements() const { return elementCount(size); }
};

/// All logical elements that a rank holds of a tensor: one box where the rank holds its whole
/// block, a few where it holds a flat chunk of it, none where all is padding. The boxes are in
/// ascending order of the logical and of the local elements.
struct Part {
  Shape logicalShape; // of the whole tensor
  std::vector<Box> boxes;

  int64_t elements() const;
};

/// The part of the rank with these mesh coordinates.
Part partOf(const StateTensor &tensor, const Mesh &mesh, const Shape &coordinates);

/// Elements of each rank's memory of the tensor, with padding.
int64_t localElements(const StateTensor &tensor, const Mesh &mesh);

/// Whether the rank is the first of those that hold this part: it speaks for it in files. It is on
/// the stage that owns the tensor.
bool isFirstReplica(const StateTensor &tensor, const Mesh &mesh, const Shape &coordinates);

/// The part of `box` that also lies in the rectangle [begin, begin + size) of the logical tensor.
Box intersect(const Box &box, const Shape &begin, const Shape &size);

/// Walks two layouts of the same rectangle together, in row-major order, in the longest runs that
/// are contiguous in both. `visit` takes (first position, second position, count).
template <typename Visit>
void forEachRun(const Shape &size, const Layout &first, const Layout &second, Visit &&visit) {
  if (elementCount(size) == 0)
    return;
  // Trailing dimensions that are dense in both layouts make one run.
  size_t outer = size.size();
  int64_t run = 1;
  while (outer > 0 && (size[outer - 1] == 1 ||
                       (first.strides[outer - 1] == run && second.strides[outer - 1] == run)))
    run *= size[--outer];
  Shape index(outer, 0);
  int64_t a = first.start, b = second.start;
  for (;;) {
    visit(a, b, run);
    size_t dim = outer;
    while (dim-- > 0) {
      a += first.strides[dim];
      b += second.strides[dim];
      if (++index[dim] < size[dim])
        break;
      a -= first.strides[dim] * size[dim];
      b -= second.strides[dim] * size[dim];
      index[dim] = 0;
    }
    if (dim == size_t(-1))
      return;
  }
}

/// Runs of a rank's part, ascending: `visit` takes (logical flat index, index in local memory,
/// count).
template <typename Visit>
void forEachRun(const Part &part, Visit &&visit) {
  for (const Box &box : part.boxes)
    forEachRun(box.size, layoutAt(part.logicalShape, box.begin), box.local, visit);
}

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_SLICE_H
