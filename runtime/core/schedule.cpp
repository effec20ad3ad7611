#include "core/schedule.h"

#include <algorithm>
#include <cmath>

namespace ulsc::runtime {

double Schedule::at(int64_t step) const {
  if (step < warmup)
    return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  double length = static_cast<double>(std::max<int64_t>(1, steps - warmup));
  double progress = std::min(1.0, static_cast<double>(step - warmup) / length);
  if (kind == "linear")
    return peak + (least - peak) * progress;
  if (kind == "cosine")
    return least + (peak - least) * 0.5 * (1.0 + std::cos(3.14159265358979323846 * progress));
  return peak;
}

} // namespace ulsc::runtime
