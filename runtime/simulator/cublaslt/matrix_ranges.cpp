// Ranges of strided matrices.
#include "simulator/cublaslt/matrix_ranges.h"

#include <algorithm>

namespace ulsc::simulator {

namespace {

const char *bytesOf(const Range &range) { return static_cast<const char *>(range.begin); }
const char *endOf(const Range &range) { return bytesOf(range) + range.bytes; }

/// Sorts and merges; true if two overlap.
bool normalise(std::vector<Range> &ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &left, const Range &right) { return left.begin < right.begin; });
  bool overlaps = false;
  size_t last = 0;
  for (size_t i = 1; i < ranges.size(); ++i) {
    overlaps |= bytesOf(ranges[i]) < endOf(ranges[last]);
    if (bytesOf(ranges[i]) <= endOf(ranges[last]))
      ranges[last].bytes = std::max(endOf(ranges[last]), endOf(ranges[i])) - bytesOf(ranges[last]);
    else
      ranges[++last] = ranges[i];
  }
  if (!ranges.empty())
    ranges.resize(last + 1);
  return overlaps;
}

} // namespace

std::vector<Range> rangesOf(const Matrix &matrix, const void *pointer, bool *overlaps) {
  int64_t bytes = matrix.elementBytes();
  bool isDense = matrix.leadingDimension == matrix.runLength() || matrix.runs() == 1;
  int64_t runs = isDense ? 1 : matrix.runs();
  int64_t runBytes = (isDense ? matrix.runs() : 1) * matrix.runLength() * bytes;
  std::vector<Range> ranges;
  ranges.reserve(static_cast<size_t>(runs * matrix.batch));
  for (int64_t b = 0; b < matrix.batch; ++b)
    for (int64_t run = 0; run < runs; ++run)
      ranges.push_back({static_cast<const char *>(pointer) +
                            (b * matrix.batchStride + run * matrix.leadingDimension) * bytes,
                        runBytes});
  bool found = normalise(ranges);
  if (overlaps)
    *overlaps = found;
  return ranges;
}

std::vector<Range> rangesOfVectors(const void *pointer, int64_t length, int64_t batch,
                                   int64_t stride, int64_t elementBytes) {
  std::vector<Range> ranges;
  for (int64_t b = 0; b < batch; ++b)
    ranges.push_back(
        {static_cast<const char *>(pointer) + b * stride * elementBytes, length * elementBytes});
  normalise(ranges);
  return ranges;
}

bool intersect(const std::vector<Range> &left, const std::vector<Range> &right) {
  auto l = left.begin(), r = right.begin();
  while (l != left.end() && r != right.end()) {
    if (endOf(*l) <= bytesOf(*r))
      ++l;
    else if (endOf(*r) <= bytesOf(*l))
      ++r;
    else
      return true;
  }
  return false;
}

} // namespace ulsc::simulator
