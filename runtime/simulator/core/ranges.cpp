// Sets of bytes that an operation touches.
#include "simulator/core/ranges.h"

#include <algorithm>

namespace ulsc::simulator {

bool normalise(std::vector<Range> &ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &left, const Range &right) { return left.begin < right.begin; });
  bool overlaps = false;
  size_t last = 0;
  for (size_t i = 1; i < ranges.size(); ++i) {
    overlaps |= beginOf(ranges[i]) < endOf(ranges[last]);
    if (beginOf(ranges[i]) <= endOf(ranges[last]))
      ranges[last].bytes = std::max(endOf(ranges[last]), endOf(ranges[i])) - beginOf(ranges[last]);
    else
      ranges[++last] = ranges[i];
  }
  if (!ranges.empty())
    ranges.resize(last + 1);
  return overlaps;
}

bool intersect(const std::vector<Range> &left, const std::vector<Range> &right) {
  auto l = left.begin(), r = right.begin();
  while (l != left.end() && r != right.end()) {
    if (endOf(*l) <= beginOf(*r))
      ++l;
    else if (endOf(*r) <= beginOf(*l))
      ++r;
    else
      return true;
  }
  return false;
}

std::vector<Range> joined(const std::vector<Use> &uses) {
  std::vector<Range> ranges;
  for (const Use &use : uses)
    ranges.insert(ranges.end(), use.ranges.begin(), use.ranges.end());
  return ranges;
}

std::optional<std::pair<Use, Use>>
findOverlap(const std::vector<Use> &reads, const std::vector<Use> &writes,
            const std::function<bool(const Use &, const Use &)> &isAllowed) {
  for (size_t i = 0; i < writes.size(); ++i) {
    for (const Use &read : reads)
      if (!(isAllowed && isAllowed(writes[i], read)) && intersect(writes[i].ranges, read.ranges))
        return std::pair(writes[i], read);
    for (size_t j = 0; j < i; ++j)
      if (intersect(writes[i].ranges, writes[j].ranges))
        return std::pair(writes[i], writes[j]);
  }
  return std::nullopt;
}

} // namespace ulsc::simulator
