// Where the time of the last steps went, for a person with a trace viewer.
#ifndef ULSC_RUNTIME_METRICS_TRACE_H
#define ULSC_RUNTIME_METRICS_TRACE_H

#include "core/manifest.h"
#include "device/work_clock.h"
#include "ulsc/RuntimeABI.h"

#include <map>
#include <string>
#include <vector>

namespace ulsc::runtime {

class Communicator;

/// One call of the step into the runtime. Names and descriptors are constants of the program.
struct TraceEvent {
  enum Kind { Step, Input, Block, Kernel, Gemm, Start, Wait };
  Kind kind;
  const char *name = nullptr;       // of a block, a kernel or a GEMM
  const void *descriptor = nullptr; // ulsc_gemm_desc or ulsc_collective_desc
  int64_t number = 0; // a collective's slot, the step, or bytes that a kernel accesses
  /// Of the device's clock; -1 for what the host does between the steps' work.
  int64_t beginMark = -1, endMark = -1;
  double begin = 0, end = 0; // seconds of secondsNow; of what has marks known after the step
  double waited = 0; // of a block: seconds in which it started collectives or waited for them
  size_t first = 0;  // of a block: position of the first event inside
};

/// The events of this rank's last steps. Constructed and written by all ranks together.
class Trace {
public:
  /// Keeps the last `steps` steps. Times count from a barrier in here, which lines up the clocks of
  /// several machines as well as a barrier can.
  Trace(const Manifest &manifest, Communicator &communicator, int64_t steps);

  void beginStep(int64_t number);
  /// Reads the step's marks from `clock`.
  void endStep(double inputSeconds, const WorkClock &clock);
  void add(const TraceEvent &event) { events.push_back(event); }
  void beginBlock(const char *name, int64_t mark);
  void endBlock(int64_t mark);

  /// Rank 0 writes the events of all ranks to `path` in Chrome's trace format: a process per rank,
  /// with the step, what it computes and waits for, the collectives under way and the calls of
  /// blocks as threads; and, as "otherData", what the program computes.
  void write(const std::string &path) const;

private:
  class EventList;
  std::string text() const;
  void addCollective(EventList &list, const TraceEvent &event,
                     std::map<int64_t, TraceEvent> &started) const;

  const Manifest &manifest;
  Communicator &communicator;
  int64_t steps;
  double origin;
  std::vector<TraceEvent> events;
  std::vector<TraceEvent> openBlocks;
  std::vector<size_t> stepBegins; // positions of the kept steps' Step events
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_METRICS_TRACE_H
