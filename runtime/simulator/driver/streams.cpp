// Streams and events.
#include "simulator/core/streams.h"

#include "simulator/driver/driver.h"

#include <algorithm>
#include <mutex>
#include <set>

namespace ulsc::simulator::driver {

namespace {

std::mutex mutex;
std::set<const void *> untimed; ///< Events without timing.

Result makeStream(cuda::Stream *stream, unsigned flags, int priority) {
  if (Result result = checkContext(); result != cuda::Success)
    return result;
  if (!stream || flags > cuda::StreamNonBlocking)
    return cuda::InvalidValue;
  priority = std::min(0, std::max(-5, priority));
  *stream = reinterpret_cast<cuda::Stream>(createStream(flags & cuda::StreamNonBlocking, priority));
  return cuda::Success;
}

} // namespace

} // namespace ulsc::simulator::driver

using namespace ulsc;
using namespace ulsc::simulator;
using namespace ulsc::simulator::driver;

ULSC_EXPORT Result cuStreamCreate(cuda::Stream *stream, unsigned flags) {
  return makeStream(stream, flags, 0);
}
ULSC_EXPORT Result cuStreamCreateWithPriority(cuda::Stream *stream, unsigned flags, int priority) {
  return makeStream(stream, flags, priority);
}
ULSC_EXPORT Result cuStreamDestroy_v2(cuda::Stream stream) {
  return resultOf(destroyStream(streamOf(stream)));
}
ULSC_EXPORT Result cuStreamSynchronize(cuda::Stream stream) {
  return resultOf(synchronizeStream(streamOf(stream)));
}
ULSC_EXPORT Result cuStreamQuery(cuda::Stream stream) {
  return resultOf(queryStream(streamOf(stream)));
}
ULSC_EXPORT Result cuStreamWaitEvent(cuda::Stream stream, cuda::Event event, unsigned flags) {
  return flags ? cuda::NotSupported : resultOf(waitEvent(streamOf(stream), eventOf(event)));
}
ULSC_EXPORT Result cuStreamGetPriority(cuda::Stream stream, int *priority) {
  if (!isStream(streamOf(stream)) || !priority)
    return priority ? cuda::InvalidHandle : cuda::InvalidValue;
  *priority = streamPriority(streamOf(stream));
  return cuda::Success;
}
ULSC_EXPORT Result cuStreamGetFlags(cuda::Stream stream, unsigned *flags) {
  if (!isStream(streamOf(stream)) || !flags)
    return flags ? cuda::InvalidHandle : cuda::InvalidValue;
  *flags = isNonBlocking(streamOf(stream)) ? cuda::StreamNonBlocking : cuda::StreamDefault;
  return cuda::Success;
}

ULSC_EXPORT Result cuEventCreate(cuda::Event *event, unsigned flags) {
  if (Result result = checkContext(); result != cuda::Success)
    return result;
  if (!event)
    return cuda::InvalidValue;
  if (flags > (cuda::EventBlockingSync | cuda::EventDisableTiming)) // between processes
    return cuda::NotSupported;
  *event = reinterpret_cast<cuda::Event>(createEvent());
  std::lock_guard<std::mutex> lock(mutex);
  untimed.erase(*event);
  if (flags & cuda::EventDisableTiming)
    untimed.insert(*event);
  return cuda::Success;
}
ULSC_EXPORT Result cuEventDestroy_v2(cuda::Event event) {
  return resultOf(destroyEvent(eventOf(event)));
}
ULSC_EXPORT Result cuEventRecord(cuda::Event event, cuda::Stream stream) {
  return resultOf(recordEvent(eventOf(event), streamOf(stream)));
}
ULSC_EXPORT Result cuEventRecordWithFlags(cuda::Event event, cuda::Stream stream, unsigned flags) {
  if (flags > cuda::EventRecordExternal || (flags && !isCapturing(streamOf(stream))))
    return cuda::InvalidValue;
  return resultOf(flags == cuda::EventRecordExternal
                      ? recordExternalEvent(eventOf(event), streamOf(stream))
                      : recordEvent(eventOf(event), streamOf(stream)));
}
ULSC_EXPORT Result cuEventQuery(cuda::Event event) { return resultOf(queryEvent(eventOf(event))); }
ULSC_EXPORT Result cuEventSynchronize(cuda::Event event) {
  return resultOf(synchronizeEvent(eventOf(event)));
}
ULSC_EXPORT Result cuEventElapsedTime_v2(float *milliseconds, cuda::Event begin, cuda::Event end) {
  if (!milliseconds)
    return cuda::InvalidValue;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (untimed.count(begin) || untimed.count(end))
      return cuda::InvalidHandle;
  }
  double seconds = 0;
  Result result = resultOf(elapsedSeconds(seconds, eventOf(begin), eventOf(end)));
  if (result == cuda::Success)
    *milliseconds = float(seconds * 1e3);
  return result;
}
ULSC_EXPORT Result cuEventElapsedTime(float *milliseconds, cuda::Event begin, cuda::Event end) {
  return cuEventElapsedTime_v2(milliseconds, begin, end);
}
