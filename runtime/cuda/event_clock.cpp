#include "cuda/event_clock.h"

namespace ulsc::runtime {

EventClock::~EventClock() {
  for (cuda::Event event : events)
    driver.cuEventDestroy_v2(event);
}

void EventClock::begin() {
  used = 0;
  origin = secondsNow();
  mark();
}

int64_t EventClock::mark() {
  if (used == events.size()) {
    cuda::Event event = nullptr;
    driver.check(driver.cuEventCreate(&event, cuda::EventDefault), "cuEventCreate");
    events.push_back(event);
  }
  driver.recordForHost(events[used], stream);
  return static_cast<int64_t>(used++);
}

double EventClock::secondsAt(int64_t mark) const {
  float milliseconds = 0;
  driver.check(
      driver.cuEventElapsedTime(&milliseconds, events[0], events[static_cast<size_t>(mark)]),
      "cuEventElapsedTime");
  return origin + milliseconds * 1e-3;
}

} // namespace ulsc::runtime
