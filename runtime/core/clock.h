#ifndef ULSC_RUNTIME_CORE_CLOCK_H
#define ULSC_RUNTIME_CORE_CLOCK_H

#include <chrono>

namespace ulsc::runtime {

/// Seconds of a clock that never goes back.
inline double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_CLOCK_H
