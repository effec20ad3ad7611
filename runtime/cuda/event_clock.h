// When a stream came to its marks: events that the device times.
#ifndef ULSC_RUNTIME_CUDA_EVENT_CLOCK_H
#define ULSC_RUNTIME_CUDA_EVENT_CLOCK_H

#include "cuda/driver.h"
#include "device/work_clock.h"

namespace ulsc::runtime {

class EventClock final : public WorkClock {
public:
  EventClock(const CudaDriver &driver, cuda::Stream stream) : driver(driver), stream(stream) {}
  ~EventClock() override;

  void begin() override;
  int64_t mark() override;
  double secondsAt(int64_t mark) const override;
  /// The mark of `begin`.
  cuda::Event beginning() const { return events.front(); }

private:
  const CudaDriver &driver;
  cuda::Stream stream;
  std::vector<cuda::Event> events; // the first is the step's beginning; those of a step are reused
  size_t used = 0;
  double origin = 0; // of the host's clock, when the first was recorded in an idle stream
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_EVENT_CLOCK_H
