// The body of parallelFor; include device/thread_pool.h.
#ifndef ULSC_RUNTIME_DEVICE_PARALLEL_FOR_H
#define ULSC_RUNTIME_DEVICE_PARALLEL_FOR_H

#include "device/thread_pool.h"

#include <algorithm>
#include <atomic>

namespace ulsc::runtime {

template <typename Function>
void parallelFor(int threads, int64_t extent, int64_t grain, Function &&function) {
  if (extent <= 0)
    return;
  grain = std::max<int64_t>(grain, 1);
  if (threads <= 1 || extent <= grain || insideThreads()) {
    function(int64_t(0), extent, int64_t(insideThreads() ? threadIndex() : 0));
    return;
  }
  struct State {
    Function &function;
    std::atomic<int64_t> next;
    int64_t extent, chunk;
  };
  // Four chunks a thread even out uneven rows (causal attention) and cores that others use, too.
  int64_t grains = (extent + grain - 1) / grain;
  int64_t chunk = std::max<int64_t>(1, (grains + threads * 4 - 1) / (threads * 4)) * grain;
  State state{function, {0}, extent, chunk};
  runOnThreads(
      threads,
      [](void *data) {
        State &state = *static_cast<State *>(data);
        for (;;) {
          int64_t begin = state.next.fetch_add(state.chunk, std::memory_order_relaxed);
          if (begin >= state.extent)
            return;
          state.function(begin, std::min(begin + state.chunk, state.extent),
                         int64_t(threadIndex()));
        }
      },
      &state);
}

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_DEVICE_PARALLEL_FOR_H
