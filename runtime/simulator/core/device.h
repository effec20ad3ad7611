// The state of the simulated device that its parts share. Internal to the simulator.
#ifndef ULSC_RUNTIME_SIMULATOR_CORE_DEVICE_H
#define ULSC_RUNTIME_SIMULATOR_CORE_DEVICE_H

#include "simulator/core/clock.h"
#include "simulator/core/graphs.h"
#include "simulator/core/streams.h"

#include <deque>
#include <memory>
#include <mutex>
#include <random>

namespace ulsc::simulator {

struct Capture;

/// One record of an event: a moment in a stream.
struct EventPoint {
  bool hasRun = false;
  Clock clock;
  double seconds = 0; ///< When it ran, on a steady clock.
  // While its stream was captured:
  std::weak_ptr<Capture> capture;
  bool isCaptured = false;
  int captureIndex = -1;
  std::vector<uint32_t> captureClock;
};

/// An entry of a stream's queue.
struct QueueItem {
  enum Kind { Run, Record, Wait } kind = Run;
  Operation operation;
  std::shared_ptr<EventPoint> point;
  Clock host; ///< What the host knew to have run when it enqueued this.
};

class Stream {
public:
  uint32_t number = 0;
  bool isNonBlocking = false, isDestroyed = false, isInternal = false;
  int priority = 0;
  std::deque<QueueItem> queue;
  Clock clock;
  std::shared_ptr<EventPoint> legacySeen; ///< The legacy stream's moment it already waits for.
  std::shared_ptr<Capture> capture;
  uint32_t captureLane = 0;
};

class Event {
public:
  std::shared_ptr<EventPoint> point; ///< Null until the first record.
};

struct Device {
  Device();

  std::recursive_mutex mutex;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Stream>> streams; ///< By number: 0 legacy, 1 of threads, then others.
  std::vector<Event *> events;
  std::shared_ptr<EventPoint> legacyPoint; ///< The latest moment of the legacy stream.
  Clock host;
  OperationLog log;
  std::vector<std::weak_ptr<Capture>> captures;

  // The operation that runs now.
  const Operation *running = nullptr;
  uint32_t runningNumber = 0;
  const Clock *runningClock = nullptr;
  Stream *runningStream = nullptr;
};

Device &device();
using DeviceLock = std::lock_guard<std::recursive_mutex>;

/// The stream behind a handle of the vendor's interface; null where there is none.
Stream *resolve(StreamHandle handle);
Stream *newStream(bool isNonBlocking, int priority);
void push(Stream &stream, QueueItem item);
/// Runs one random ready head. False when there is none.
bool runOneHead();
/// Runs heads until `isDone`; waits for other processes where none is ready.
void runUntil(const std::function<bool()> &isDone);

// Capture: see graphs.cpp.
Status captureOperation(Stream &stream, Operation operation);
Status captureRecord(Stream &stream, Event &event);
Status captureExternalRecord(Stream &stream, EventHandle event);
Status captureWait(Stream &stream, Event &event);
void spoilCapture(Stream &stream);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CORE_DEVICE_H
