// Sets of bytes that an operation touches.
#ifndef ULSC_RUNTIME_SIMULATOR_CORE_RANGES_H
#define ULSC_RUNTIME_SIMULATOR_CORE_RANGES_H

#include "simulator/core/operation.h"

#include <vector>

namespace ulsc::simulator {

inline const char *beginOf(const Range &range) { return static_cast<const char *>(range.begin); }
inline const char *endOf(const Range &range) { return beginOf(range) + range.bytes; }

/// Sorts and merges; true if two overlap.
bool normalise(std::vector<Range> &ranges);

/// Whether two normalised sets have a byte in common.
bool intersect(const std::vector<Range> &left, const std::vector<Range> &right);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CORE_RANGES_H
