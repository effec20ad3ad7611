// Runs the heads of queues in a seeded order, and waits for other processes where none is ready.
#include "simulator/core/device.h"
#include "simulator/core/memory.h"
#include "simulator/core/races.h"
#include "simulator/core/report.h"
#include "simulator/core/settings.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace ulsc::simulator {

namespace {

using SteadyClock = std::chrono::steady_clock;

double now() {
  return std::chrono::duration<double>(SteadyClock::now().time_since_epoch()).count();
}

std::vector<std::string (*)()> &stallDescriptions() {
  static auto *result = new std::vector<std::string (*)()>;
  return *result;
}

std::vector<void (*)()> &idleChecks() {
  static auto *result = new std::vector<void (*)()>;
  return *result;
}

/// When the host last called: a collective must also advance while the host waits elsewhere.
std::atomic<double> lastHostCall{0};

void checkRanges(const Operation &operation) {
  for (const Range &range : operation.reads) {
    checkBounds(range.begin, range.bytes, "reads");
    if (operation.requiresValues && range.bytes > 0)
      checkValues(range.begin, range.bytes, "reads");
    touchRange(range.begin, range.bytes, false);
  }
  for (const Range &range : operation.writes) {
    checkBounds(range.begin, range.bytes, "writes");
    touchRange(range.begin, range.bytes, true);
  }
}

void runOperation(Stream &stream, const Operation &operation) {
  Device &state = device();
  stream.clock.advance(stream.number);
  state.runningNumber = state.log.add(stream.number, stream.clock.at(stream.number), operation.name,
                                      operation.source);
  state.running = &operation;
  state.runningClock = &stream.clock;
  state.runningStream = &stream;
  checkRanges(operation);
  if (operation.run)
    operation.run();
  if (operation.requiresValues)
    for (const Range &range : operation.writes)
      if (range.bytes > 0)
        markValues(range.begin, range.bytes);
  state.running = nullptr;
  state.runningClock = nullptr;
  state.runningStream = nullptr;
  state.runningNumber = 0;
}

void runItem(Stream &stream) {
  QueueItem item = std::move(stream.queue.front());
  stream.queue.pop_front();
  stream.clock.join(item.host);
  switch (item.kind) {
  case QueueItem::Run:
    runOperation(stream, item.operation);
    break;
  case QueueItem::Record:
    item.point->clock = stream.clock;
    item.point->seconds = now();
    item.point->hasRun = true;
    break;
  case QueueItem::Wait:
    stream.clock.join(item.point->clock);
    break;
  }
}

bool isHeadReady(const Stream &stream) {
  if (stream.queue.empty())
    return false;
  const QueueItem &head = stream.queue.front();
  if (head.kind == QueueItem::Wait)
    return head.point->hasRun;
  return head.kind == QueueItem::Record || !head.operation.isReady || head.operation.isReady();
}

std::string describeHead(const Stream &stream) {
  const QueueItem &head = stream.queue.front();
  std::string rest = text(" and ", stream.queue.size() - 1, " more behind it");
  if (head.kind == QueueItem::Wait)
    return "waits for an event that has not happened" + rest;
  std::string source =
      head.operation.source.empty() ? "" : " (source " + head.operation.source + ")";
  return "'" + head.operation.name + "'" + source + ", which is not ready" + rest;
}

[[noreturn]] void reportStall() {
  Finding finding{"stall",
                  text("nothing could run for ", settings().timeoutSeconds, " seconds"),
                  {},
                  "collectives in the same order on all ranks; every rank comes to each"};
  for (auto &stream : device().streams)
    if (!stream->queue.empty())
      finding.details.push_back({text("stream ", stream->number), describeHead(*stream)});
  for (auto *describe : stallDescriptions())
    if (std::string more = describe(); !more.empty())
      finding.details.push_back({"ranks", more});
  report(finding);
}

/// Advances collectives while the host is busy outside, for example in a barrier of MPI that
/// another rank reaches only after this rank's part of a collective.
void advanceInBackground() {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (now() - lastHostCall < 0.2)
      continue;
    DeviceLock lock(device().mutex);
    while (runOneHead()) {
    }
  }
}

void startBackground() {
  static std::once_flag once;
  std::call_once(once, [] { std::thread(advanceInBackground).detach(); });
}

Status checkSynchronisable(Stream &stream) {
  if (!stream.capture)
    return Status::Success;
  spoilCapture(stream);
  return Status::CaptureUnsupported;
}

} // namespace

void push(Stream &stream, QueueItem item) {
  lastHostCall = now();
  if (item.operation.isReady)
    startBackground();
  stream.queue.push_back(std::move(item));
}

bool runOneHead() {
  Device &state = device();
  if (state.runningNumber) // a run function that asks the device to go on
    return false;
  std::vector<Stream *> ready;
  for (auto &stream : state.streams)
    if (isHeadReady(*stream))
      ready.push_back(stream.get());
  if (ready.empty())
    return false;
  runItem(*ready[randomBelow(ready.size())]);
  return true;
}

void runUntil(const std::function<bool()> &isDone) {
  double waitingSince = 0;
  int microseconds = 20;
  for (;;) {
    {
      DeviceLock lock(device().mutex);
      lastHostCall = now();
      if (isDone())
        return;
      if (runOneHead()) {
        waitingSince = 0;
        microseconds = 20;
        continue;
      }
      for (auto *check : idleChecks())
        check();
      if (waitingSince == 0)
        waitingSince = now();
      if (now() - waitingSince > settings().timeoutSeconds)
        reportStall();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    microseconds = std::min(1000, microseconds * 2);
  }
}

Status synchronizeStream(StreamHandle handle) {
  Device &state = device();
  Stream *stream;
  {
    DeviceLock lock(state.mutex);
    stream = resolve(handle);
    if (!stream)
      return Status::InvalidHandle;
    if (Status status = checkSynchronisable(*stream); status != Status::Success)
      return status;
    if (stream->number == 0) // work of blocking streams belongs to the legacy stream
      enqueue(handle, {"synchronize", "", {}, {}, nullptr, nullptr, true});
  }
  runUntil([&] { return stream->queue.empty(); });
  DeviceLock lock(state.mutex);
  state.host.join(stream->clock);
  return Status::Success;
}

Status synchronizeDevice() {
  Device &state = device();
  if (Status status = refuseInCapture(); status != Status::Success)
    return status;
  runUntil([&] {
    return std::all_of(state.streams.begin(), state.streams.end(),
                       [](auto &stream) { return stream->queue.empty(); });
  });
  DeviceLock lock(state.mutex);
  for (auto &stream : state.streams)
    state.host.join(stream->clock);
  return Status::Success;
}

Status queryStream(StreamHandle handle) {
  Device &state = device();
  DeviceLock lock(state.mutex);
  Stream *stream = resolve(handle);
  if (!stream)
    return Status::InvalidHandle;
  if (Status status = checkSynchronisable(*stream); status != Status::Success)
    return status;
  lastHostCall = now();
  for (uint64_t count = 1 + randomBelow(3); count; --count)
    runOneHead();
  if (!stream->queue.empty())
    return Status::NotReady;
  state.host.join(stream->clock);
  return Status::Success;
}

Status queryEvent(EventHandle event) {
  Device &state = device();
  DeviceLock lock(state.mutex);
  if (std::find(state.events.begin(), state.events.end(), event) == state.events.end())
    return Status::InvalidHandle;
  auto point = event->point;
  if (!point)
    return Status::Success;
  if (point->isCaptured)
    return Status::CapturedEvent;
  lastHostCall = now();
  for (uint64_t count = 1 + randomBelow(3); count && !point->hasRun; --count)
    runOneHead();
  if (!point->hasRun)
    return Status::NotReady;
  state.host.join(point->clock);
  return Status::Success;
}

Status synchronizeEvent(EventHandle event) {
  Device &state = device();
  std::shared_ptr<EventPoint> point;
  {
    DeviceLock lock(state.mutex);
    if (std::find(state.events.begin(), state.events.end(), event) == state.events.end())
      return Status::InvalidHandle;
    point = event->point;
  }
  if (!point)
    return Status::Success;
  if (point->isCaptured)
    return Status::CapturedEvent;
  runUntil([&] { return point->hasRun; });
  DeviceLock lock(state.mutex);
  state.host.join(point->clock);
  return Status::Success;
}

Status elapsedSeconds(double &seconds, EventHandle begin, EventHandle end) {
  Device &state = device();
  DeviceLock lock(state.mutex);
  for (EventHandle event : {begin, end})
    if (std::find(state.events.begin(), state.events.end(), event) == state.events.end() ||
        !event->point)
      return Status::InvalidHandle;
  if (begin->point->isCaptured || end->point->isCaptured)
    return Status::CapturedEvent;
  if (!begin->point->hasRun || !end->point->hasRun)
    return Status::NotReady;
  seconds = end->point->seconds - begin->point->seconds;
  return Status::Success;
}

void onIdle(void (*check)()) { idleChecks().push_back(check); }

void onStall(std::string (*describe)()) { stallDescriptions().push_back(describe); }

} // namespace ulsc::simulator
