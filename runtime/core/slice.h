// Where a rank's block of a tensor lies in the logical tensor, as runs of contiguous elements.
#ifndef ULSC_RUNTIME_CORE_SLICE_H
#define ULSC_RUNTIME_CORE_SLICE_H

#include "core/manifest.h"

namespace ulsc::runtime {

/// The part of one rank's padded block that holds logical elements: a hyper-rectangle.
struct Slice {
  Shape logicalShape; // of the whole tensor
  Shape localShape;   // of the rank's padded block
  Shape begin;        // of the block in the whole tensor
  Shape size;         // logical elements of the block, per dimension; 0 where it is all padding

  int64_t elements() const { return elementCount(size); }
};

/// The block of the rank with these mesh coordinates.
Slice sliceOf(const StateTensor &tensor, const Mesh &mesh, const Shape &coordinates);

/// Whether the rank is the first of those that hold this block: it speaks for it in files.
bool isFirstReplica(const StateTensor &tensor, const Mesh &mesh, const Shape &coordinates);

/// The part of `slice` that also lies in the rectangle [begin, begin + size) of the logical tensor.
Slice intersect(const Slice &slice, const Shape &begin, const Shape &size);

/// Where a rectangle lies in memory: strides of dimensions and the position of its first element.
struct Layout {
  Shape strides;
  int64_t start = 0;
};

/// A row-major tensor of `shape`, seen from the element at `origin`.
Layout layoutAt(const Shape &shape, const Shape &origin);

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

/// Runs of a rank's block: `visit` takes (logical flat index, index in the local block, count).
template <typename Visit>
void forEachRun(const Slice &slice, Visit &&visit) {
  forEachRun(slice.size, layoutAt(slice.logicalShape, slice.begin),
             layoutAt(slice.localShape, Shape(slice.localShape.size(), 0)), visit);
}

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_SLICE_H
