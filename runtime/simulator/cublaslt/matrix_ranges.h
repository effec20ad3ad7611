// The bytes of memory that strided matrices occupy, without the gaps between them.
#ifndef ULSC_RUNTIME_SIMULATOR_CUBLASLT_MATRIX_RANGES_H
#define ULSC_RUNTIME_SIMULATOR_CUBLASLT_MATRIX_RANGES_H

#include "simulator/core/ranges.h"
#include "simulator/cublaslt/problem.h"

namespace ulsc::simulator {

/// The ranges of a batch of matrices, ascending, touching ones merged. `overlaps`, where given,
/// says whether some byte belongs to two elements.
std::vector<Range> rangesOf(const Matrix &matrix, const void *pointer, bool *overlaps = nullptr);

/// The same for `length` elements per batch entry, `stride` apart.
std::vector<Range> rangesOfVectors(const void *pointer, int64_t length, int64_t batch,
                                   int64_t stride, int64_t elementBytes);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUBLASLT_MATRIX_RANGES_H
