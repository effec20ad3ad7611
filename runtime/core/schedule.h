// The learning rate of a step.
#ifndef ULSC_RUNTIME_CORE_SCHEDULE_H
#define ULSC_RUNTIME_CORE_SCHEDULE_H

#include <cstdint>
#include <string>

namespace ulsc::runtime {

struct Schedule {
  std::string kind = "constant"; // constant, cosine or linear
  double peak = 0, least = 0;    // --lr, --min-lr
  int64_t warmup = 0, steps = 1; // --warmup-steps, --steps (from the beginning of the run)

  /// With s the steps completed before this one, w the warmup steps and S all steps:
  ///   s < w:     peak * (s + 1) / w, so that the first step already learns and step w has the
  ///   peak; otherwise  p = (s - w) / (S - w) in [0, 1), and
  ///     constant peak
  ///     linear   peak + (least - peak) * p
  ///     cosine   least + (peak - least) * (1 + cos(pi * p)) / 2
  double at(int64_t step) const;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_SCHEDULE_H
