// Captures enqueued operations and launches them again.
#include "simulator/core/graphs.h"

#include "simulator/core/device.h"

namespace ulsc::simulator {

namespace {

/// What one call appended to a captured stream. Lanes are the streams of a capture, 0 its origin.
struct Action {
  QueueItem::Kind kind = QueueItem::Run;
  uint32_t lane = 0;
  Operation operation;
  int point = -1;                 ///< For records and waits: which moment of the graph.
  EventHandle external = nullptr; ///< For records: an event of the program's own instead.
};

} // namespace

struct Capture {
  Stream *origin = nullptr;
  CaptureMode mode = CaptureMode::Strict;
  bool isSpoilt = false;
  std::vector<Stream *> lanes;
  std::vector<Action> actions;
  int points = 0;
  std::vector<uint32_t> operations; ///< Per lane, how many have been captured.
  /// Per lane, how many operations of each lane are ordered before its next one.
  std::vector<std::vector<uint32_t>> known;
};

class Graph {
public:
  std::vector<Action> actions;
  uint32_t lanes = 1;
  int points = 0;
};

class GraphExec {
public:
  Graph graph;
  std::vector<Stream *> streams; ///< Of lanes 1 and up.
};

namespace {

void join(std::vector<uint32_t> &clock, const std::vector<uint32_t> &other) {
  clock.resize(std::max(clock.size(), other.size()));
  for (size_t i = 0; i < other.size(); ++i)
    clock[i] = std::max(clock[i], other[i]);
}

void addLane(const std::shared_ptr<Capture> &capture, Stream &stream) {
  stream.capture = capture;
  stream.captureLane = uint32_t(capture->lanes.size());
  capture->lanes.push_back(&stream);
  capture->operations.push_back(0);
  capture->known.emplace_back();
}

bool isJoined(const Capture &capture) {
  for (size_t lane = 1; lane < capture.lanes.size(); ++lane) {
    const auto &known = capture.known[0];
    if ((lane < known.size() ? known[lane] : 0) < capture.operations[lane])
      return false;
  }
  return true;
}

} // namespace

Status captureOperation(Stream &stream, Operation operation) {
  Capture &capture = *stream.capture;
  if (capture.isSpoilt)
    return Status::CaptureInvalidated;
  uint32_t lane = stream.captureLane;
  auto &known = capture.known[lane];
  known.resize(std::max<size_t>(known.size(), lane + 1));
  known[lane] = ++capture.operations[lane];
  capture.actions.push_back({QueueItem::Run, lane, std::move(operation), -1});
  return Status::Success;
}

Status captureRecord(Stream &stream, Event &event) {
  Capture &capture = *stream.capture;
  if (capture.isSpoilt)
    return Status::CaptureInvalidated;
  event.point = std::make_shared<EventPoint>();
  event.point->isCaptured = true;
  event.point->capture = stream.capture;
  event.point->captureIndex = capture.points++;
  event.point->captureClock = capture.known[stream.captureLane];
  capture.actions.push_back({QueueItem::Record, stream.captureLane, {}, event.point->captureIndex});
  return Status::Success;
}

Status captureExternalRecord(Stream &stream, EventHandle event) {
  Capture &capture = *stream.capture;
  if (capture.isSpoilt)
    return Status::CaptureInvalidated;
  capture.actions.push_back({QueueItem::Record, stream.captureLane, {}, -1, event});
  return Status::Success;
}

Status captureWait(Stream &stream, Event &event) {
  EventPoint &point = *event.point;
  std::shared_ptr<Capture> from = point.capture.lock();
  if (point.isCaptured && !from)
    return Status::CapturedEvent; // its capture has ended: nothing will ever run there
  if (!point.isCaptured) {
    spoilCapture(stream);
    return Status::CaptureIsolation;
  }
  if (stream.capture && stream.capture != from) {
    spoilCapture(stream);
    from->isSpoilt = true;
    return Status::CaptureMerge;
  }
  if (from->isSpoilt)
    return Status::CaptureInvalidated;
  if (!stream.capture) {
    if (stream.number == 0) {
      from->isSpoilt = true;
      return Status::CaptureImplicit;
    }
    addLane(from, stream);
  }
  join(from->known[stream.captureLane], point.captureClock);
  from->actions.push_back({QueueItem::Wait, stream.captureLane, {}, point.captureIndex});
  return Status::Success;
}

void spoilCapture(Stream &stream) {
  if (stream.capture)
    stream.capture->isSpoilt = true;
}

Status beginCapture(StreamHandle handle, CaptureMode mode) {
  DeviceLock lock(device().mutex);
  Stream *stream = resolve(handle);
  if (!stream)
    return Status::InvalidHandle;
  if (stream->number == 0 || stream->capture)
    return Status::CaptureUnsupported;
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->mode = mode;
  addLane(capture, *stream);
  device().captures.push_back(capture);
  return Status::Success;
}

Status endCapture(StreamHandle handle, Graph *&graph) {
  DeviceLock lock(device().mutex);
  graph = nullptr;
  Stream *stream = resolve(handle);
  if (!stream)
    return Status::InvalidHandle;
  std::shared_ptr<Capture> capture = stream->capture;
  if (!capture)
    return Status::CaptureUnmatched;
  if (capture->origin != stream) {
    capture->isSpoilt = true;
    return Status::CaptureUnmatched;
  }
  for (Stream *lane : capture->lanes)
    lane->capture = nullptr;
  if (capture->isSpoilt)
    return Status::CaptureInvalidated;
  if (!isJoined(*capture))
    return Status::CaptureUnjoined;
  graph = new Graph;
  graph->actions = std::move(capture->actions);
  graph->lanes = uint32_t(capture->lanes.size());
  graph->points = capture->points;
  return Status::Success;
}

bool isCapturing(StreamHandle handle) {
  DeviceLock lock(device().mutex);
  Stream *stream = resolve(handle);
  return stream && stream->capture;
}

bool isCaptureSpoilt(StreamHandle handle) {
  DeviceLock lock(device().mutex);
  Stream *stream = resolve(handle);
  return stream && stream->capture && stream->capture->isSpoilt;
}

Status refuseInCapture() {
  DeviceLock lock(device().mutex);
  bool found = false;
  for (auto &stream : device().streams)
    if (stream->capture && stream->capture->mode == CaptureMode::Strict) {
      spoilCapture(*stream);
      found = true;
    }
  return found ? Status::CaptureUnsupported : Status::Success;
}

void destroyGraph(Graph *graph) { delete graph; }

size_t graphSize(const Graph &graph) {
  return size_t(std::count_if(graph.actions.begin(), graph.actions.end(),
                              [](const Action &each) { return each.kind == QueueItem::Run; }));
}

GraphExec *instantiate(const Graph &graph) {
  DeviceLock lock(device().mutex);
  auto *result = new GraphExec;
  result->graph = graph;
  for (uint32_t lane = 1; lane < graph.lanes; ++lane) {
    result->streams.push_back(newStream(true, 0));
    result->streams.back()->isInternal = true;
  }
  return result;
}

void destroyGraphExec(GraphExec *exec) {
  DeviceLock lock(device().mutex);
  for (Stream *stream : exec->streams)
    stream->isDestroyed = true;
  delete exec;
}

Status launchGraph(GraphExec &exec, StreamHandle handle) {
  DeviceLock lock(device().mutex);
  Stream *stream = resolve(handle);
  if (!stream)
    return Status::InvalidHandle;
  if (stream->capture) { // graphs inside graphs are not simulated
    spoilCapture(*stream);
    return Status::CaptureUnsupported;
  }
  std::vector<Event> points(size_t(exec.graph.points));
  auto eventOf = [&](int index) {
    device().events.push_back(&points[size_t(index)]);
    return device().events.back();
  };
  for (const Action &action : exec.graph.actions) {
    StreamHandle lane = action.lane == 0 ? handle : exec.streams[action.lane - 1];
    Status status = Status::Success;
    if (action.external) {
      status = recordEvent(action.external, lane);
    } else if (action.kind == QueueItem::Run) {
      status = enqueue(lane, action.operation);
    } else {
      EventHandle event = eventOf(action.point);
      status = action.kind == QueueItem::Record ? recordEvent(event, lane) : waitEvent(lane, event);
      device().events.pop_back();
    }
    if (status != Status::Success)
      return status;
  }
  return Status::Success;
}

} // namespace ulsc::simulator
