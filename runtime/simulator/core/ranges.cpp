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

} // namespace ulsc::simulator
