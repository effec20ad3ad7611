// Sets of bytes that an operation touches.
#ifndef ULSC_RUNTIME_SIMULATOR_CORE_RANGES_H
#define ULSC_RUNTIME_SIMULATOR_CORE_RANGES_H

#include "simulator/core/operation.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ulsc::simulator {

inline const char *beginOf(const Range &range) { return static_cast<const char *>(range.begin); }
inline const char *endOf(const Range &range) { return beginOf(range) + range.bytes; }

/// Sorts and merges; true if two overlap.
bool normalise(std::vector<Range> &ranges);

/// Whether two normalised sets have a byte in common.
bool intersect(const std::vector<Range> &left, const std::vector<Range> &right);

/// Memory with the name of what it is to an operation.
struct Use {
  std::string name;
  std::vector<Range> ranges; ///< normalised
};

std::vector<Range> joined(const std::vector<Use> &uses);

/// What is written, and what is read or written, too, in a byte of it; the first such pair. Where
/// `isAllowed(written, read)`, a read may be.
std::optional<std::pair<Use, Use>>
findOverlap(const std::vector<Use> &reads, const std::vector<Use> &writes,
            const std::function<bool(const Use &, const Use &)> &isAllowed = nullptr);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CORE_RANGES_H
