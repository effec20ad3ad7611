// When the work of a step was done.
#ifndef ULSC_RUNTIME_DEVICE_WORK_CLOCK_H
#define ULSC_RUNTIME_DEVICE_WORK_CLOCK_H

#include "core/clock.h"

#include <cstdint>
#include <vector>

namespace ulsc::runtime {

/// Marks lie between the calls of a step. A device that works behind the program's back knows when
/// it came to them only when the step has ended.
class WorkClock {
public:
  virtual ~WorkClock() = default;

  /// Forgets all marks. Between steps, when the device has nothing to do.
  virtual void begin() = 0;
  /// Places a mark behind what has been submitted so far.
  virtual int64_t mark() = 0;
  /// When all work before the mark was done and what follows could begin, in seconds of
  /// `secondsNow`. After the step.
  virtual double secondsAt(int64_t mark) const = 0;
};

/// For devices whose calls return when their work is done.
class HostClock final : public WorkClock {
public:
  void begin() override { marks.clear(); }
  int64_t mark() override {
    marks.push_back(secondsNow());
    return static_cast<int64_t>(marks.size()) - 1;
  }
  double secondsAt(int64_t mark) const override { return marks[static_cast<size_t>(mark)]; }

private:
  std::vector<double> marks;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_DEVICE_WORK_CLOCK_H
