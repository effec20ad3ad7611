// Handles of streams and events, and what their calls append to queues.
#include "simulator/core/streams.h"

#include "simulator/core/device.h"
#include "simulator/core/report.h"
#include "simulator/core/settings.h"

namespace ulsc::simulator {

namespace {

thread_local std::string currentSource;

const StreamHandle legacyHandle = reinterpret_cast<StreamHandle>(1);
const StreamHandle threadHandle = reinterpret_cast<StreamHandle>(2);

Event *resolveEvent(EventHandle handle) {
  auto &all = device().events;
  return std::find(all.begin(), all.end(), handle) == all.end() ? nullptr : handle;
}

/// The legacy stream waits for all blocking streams as they are now, and they for it from here on.
void orderLegacy(Stream &legacy) {
  Device &state = device();
  for (auto &stream : state.streams) {
    if (stream.get() == &legacy || stream->isNonBlocking || stream->isInternal)
      continue;
    auto point = std::make_shared<EventPoint>();
    push(*stream, {QueueItem::Record, {}, point, state.host});
    push(legacy, {QueueItem::Wait, {}, point, state.host});
  }
}

void followLegacy(Stream &stream) {
  Device &state = device();
  if (stream.isNonBlocking || stream.isInternal || stream.number == 0 ||
      stream.legacySeen == state.legacyPoint)
    return;
  stream.legacySeen = state.legacyPoint;
  push(stream, {QueueItem::Wait, {}, state.legacyPoint, state.host});
}

/// Whether a blocking stream is captured, which the legacy stream may not wait for.
Status checkLegacyCapture() {
  for (auto &stream : device().streams)
    if (stream->capture && !stream->isNonBlocking) {
      spoilCapture(*stream);
      return Status::CaptureImplicit;
    }
  return Status::Success;
}

Status append(Stream &stream, QueueItem item) {
  Device &state = device();
  bool isLegacy = stream.number == 0;
  if (isLegacy) {
    if (Status status = checkLegacyCapture(); status != Status::Success)
      return status;
    orderLegacy(stream);
  } else {
    followLegacy(stream);
  }
  item.host = state.host;
  if (item.operation.queued)
    item.operation.queued(item.operation);
  push(stream, std::move(item));
  if (isLegacy) {
    state.legacyPoint = std::make_shared<EventPoint>();
    push(stream, {QueueItem::Record, {}, state.legacyPoint, state.host});
  }
  return Status::Success;
}

} // namespace

Device::Device() : random(settings().seed) {
  for (uint32_t number = 0; number < 2; ++number) {
    streams.push_back(std::make_unique<Stream>());
    streams.back()->number = number;
  }
}

Device &device() {
  static auto *result = new Device; // never destroyed: threads may still run at exit
  return *result;
}

Stream *resolve(StreamHandle handle) {
  Device &state = device();
  if (!handle || handle == legacyHandle)
    return state.streams[0].get();
  if (handle == threadHandle)
    return state.streams[1].get();
  for (auto &stream : state.streams)
    if (stream.get() == handle)
      return stream->isDestroyed ? nullptr : stream.get();
  return nullptr;
}

Stream *newStream(bool isNonBlocking, int priority) {
  Device &state = device();
  auto made = std::make_unique<Stream>();
  made->number = uint32_t(state.streams.size());
  made->isNonBlocking = isNonBlocking;
  made->priority = priority;
  state.streams.push_back(std::move(made));
  return state.streams.back().get();
}

StreamHandle createStream(bool isNonBlocking, int priority) {
  DeviceLock lock(device().mutex);
  return newStream(isNonBlocking, priority);
}

Status destroyStream(StreamHandle handle) {
  DeviceLock lock(device().mutex);
  Stream *stream = resolve(handle);
  if (!stream || stream->number < 2)
    return Status::InvalidHandle;
  if (stream->capture) {
    spoilCapture(*stream);
    return Status::CaptureUnsupported;
  }
  stream->isDestroyed = true;
  return Status::Success;
}

bool isStream(StreamHandle stream) {
  DeviceLock lock(device().mutex);
  return resolve(stream) != nullptr;
}

std::string streamName(StreamHandle handle) {
  DeviceLock lock(device().mutex);
  Stream *stream = resolve(handle);
  return stream ? text("stream ", stream->number) : "a stream that doesn't exist";
}

int streamPriority(StreamHandle handle) {
  DeviceLock lock(device().mutex);
  Stream *stream = resolve(handle);
  return stream ? stream->priority : 0;
}

bool isNonBlocking(StreamHandle handle) {
  DeviceLock lock(device().mutex);
  Stream *stream = resolve(handle);
  return stream && stream->isNonBlocking;
}

Status enqueue(StreamHandle handle, Operation operation) {
  DeviceLock lock(device().mutex);
  Stream *stream = resolve(handle);
  if (!stream)
    return Status::InvalidHandle;
  if (operation.source.empty())
    operation.source = currentSource;
  if (stream->capture)
    return captureOperation(*stream, std::move(operation));
  return append(*stream, {QueueItem::Run, std::move(operation), nullptr, {}});
}

EventHandle createEvent() {
  DeviceLock lock(device().mutex);
  device().events.push_back(new Event);
  return device().events.back();
}

Status destroyEvent(EventHandle handle) {
  DeviceLock lock(device().mutex);
  Event *event = resolveEvent(handle);
  if (!event)
    return Status::InvalidHandle;
  auto &all = device().events;
  all.erase(std::find(all.begin(), all.end(), event));
  delete event;
  return Status::Success;
}

Status recordEvent(EventHandle handle, StreamHandle streamHandle) {
  DeviceLock lock(device().mutex);
  Event *event = resolveEvent(handle);
  Stream *stream = resolve(streamHandle);
  if (!event || !stream)
    return Status::InvalidHandle;
  if (stream->capture)
    return captureRecord(*stream, *event);
  event->point = std::make_shared<EventPoint>();
  return append(*stream, {QueueItem::Record, {}, event->point, {}});
}

Status recordExternalEvent(EventHandle handle, StreamHandle streamHandle) {
  DeviceLock lock(device().mutex);
  Event *event = resolveEvent(handle);
  Stream *stream = resolve(streamHandle);
  if (!event || !stream || !stream->capture)
    return Status::InvalidHandle;
  return captureExternalRecord(*stream, handle);
}

Status waitEvent(StreamHandle streamHandle, EventHandle handle) {
  DeviceLock lock(device().mutex);
  Event *event = resolveEvent(handle);
  Stream *stream = resolve(streamHandle);
  if (!event || !stream)
    return Status::InvalidHandle;
  if (!event->point)
    return Status::Success;
  if (stream->capture || event->point->isCaptured)
    return captureWait(*stream, *event);
  return append(*stream, {QueueItem::Wait, {}, event->point, {}});
}

void setSource(const char *source) { currentSource = source ? source : ""; }

uint64_t randomBelow(uint64_t bound) {
  DeviceLock lock(device().mutex);
  return bound ? device().random() % bound : 0;
}

} // namespace ulsc::simulator
