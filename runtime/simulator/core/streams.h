// Streams, events and the seeded scheduler. A stream is a lazy queue: nothing runs until the host
// waits or asks, then a random ready head runs, again and again. Work that lacks an event so runs
// in orders a GPU would show once in a thousand steps. All functions may be called from any thread.
#ifndef ULSC_RUNTIME_SIMULATOR_CORE_STREAMS_H
#define ULSC_RUNTIME_SIMULATOR_CORE_STREAMS_H

#include "simulator/core/operation.h"

namespace ulsc::simulator {

class Stream;
class Event;
/// What CUstream, cudaStream_t point to. Null and 1 are the legacy default stream, which is ordered
/// with all streams that weren't created as non-blocking; 2 is the default stream of a thread.
using StreamHandle = Stream *;
using EventHandle = Event *;

/// Answers of calls that an application may get wrong without ending the process; the drop-ins turn
/// them into their own error codes.
enum class Status {
  Success,
  NotReady,
  InvalidHandle,
  CaptureUnsupported, ///< What was asked for may not happen while the stream is captured.
  CaptureInvalidated, ///< An earlier refused call has spoilt the capture.
  CaptureMerge,       ///< Would join two captures.
  CaptureUnmatched,   ///< The capture was begun on another stream.
  CaptureUnjoined,    ///< A stream that was forked off has not been joined.
  CaptureIsolation,   ///< Waits for an event that was recorded outside the capture.
  CaptureImplicit,    ///< The legacy stream would have to wait for the capture.
  CapturedEvent,      ///< The event's last record is a node of a graph.
};

// Streams.
StreamHandle createStream(bool isNonBlocking, int priority);
/// What is queued still runs.
Status destroyStream(StreamHandle stream);
bool isStream(StreamHandle stream);
/// "stream 3"; the legacy default stream is "stream 0".
std::string streamName(StreamHandle stream);
int streamPriority(StreamHandle stream);
bool isNonBlocking(StreamHandle stream);

/// Appends to the stream, or, while the stream is captured, to its graph.
Status enqueue(StreamHandle stream, Operation operation);
/// Runs ready heads of any stream until everything queued on this one has run. When no head is
/// ready it waits for other processes, and after ULSC_SIMULATOR_TIMEOUT seconds reports the state
/// of all streams.
Status synchronizeStream(StreamHandle stream);
Status synchronizeDevice();
/// Lets some heads run, so that polling ends. NotReady while something is queued.
Status queryStream(StreamHandle stream);

// Events.
EventHandle createEvent();
Status destroyEvent(EventHandle event);
Status recordEvent(EventHandle event, StreamHandle stream);
/// Orders the stream after the event's latest record; an event without one orders nothing.
Status waitEvent(StreamHandle stream, EventHandle event);
Status queryEvent(EventHandle event);
Status synchronizeEvent(EventHandle event);
/// Host seconds between the moments in which the two records ran.
Status elapsedSeconds(double &seconds, EventHandle begin, EventHandle end);

/// The source op of what this thread enqueues next, until set again.
void setSource(const char *source);

/// Adds a paragraph to the report about streams that never become ready: the NCCL drop-in tells
/// what every rank waits for. May return an empty string.
void onStall(std::string (*describe)());

/// Called each time a waiting host call finds no ready head, with the device locked: the NCCL
/// drop-in looks for ranks that have died.
void onIdle(void (*check)());

/// A random number below `bound` from the generator that ULSC_SIMULATOR_SEED starts.
uint64_t randomBelow(uint64_t bound);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CORE_STREAMS_H
