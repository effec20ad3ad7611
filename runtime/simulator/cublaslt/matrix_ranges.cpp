// Ranges of strided matrices.
#include "simulator/cublaslt/matrix_ranges.h"

namespace ulsc::simulator {

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

} // namespace ulsc::simulator
