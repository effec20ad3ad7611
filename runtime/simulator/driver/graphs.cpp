// Stream capture and graphs.
#include "simulator/core/graphs.h"

#include "simulator/driver/driver.h"

#include <mutex>
#include <set>

namespace ulsc::simulator::driver {

namespace {

std::mutex mutex;
std::set<const void *> graphs, execs;

bool has(const std::set<const void *> &all, const void *handle) {
  std::lock_guard<std::mutex> lock(mutex);
  return all.count(handle) != 0;
}

bool remove(std::set<const void *> &all, const void *handle) {
  std::lock_guard<std::mutex> lock(mutex);
  return all.erase(handle) != 0;
}

void add(std::set<const void *> &all, const void *handle) {
  std::lock_guard<std::mutex> lock(mutex);
  all.insert(handle);
}

simulator::Graph *graphOf(cuda::Graph graph) { return reinterpret_cast<simulator::Graph *>(graph); }
simulator::GraphExec *execOf(cuda::GraphExec exec) {
  return reinterpret_cast<simulator::GraphExec *>(exec);
}

} // namespace

} // namespace ulsc::simulator::driver

using namespace ulsc;
using namespace ulsc::simulator;
using namespace ulsc::simulator::driver;

ULSC_EXPORT Result cuStreamBeginCapture_v2(cuda::Stream stream, cuda::CaptureMode mode) {
  if (mode > cuda::CaptureRelaxed)
    return cuda::InvalidValue;
  return resultOf(beginCapture(streamOf(stream), mode == cuda::CaptureRelaxed
                                                     ? simulator::CaptureMode::Relaxed
                                                     : simulator::CaptureMode::Strict));
}

ULSC_EXPORT Result cuStreamEndCapture(cuda::Stream stream, cuda::Graph *graph) {
  if (!graph)
    return cuda::InvalidValue;
  simulator::Graph *made = nullptr;
  Result result = resultOf(endCapture(streamOf(stream), made));
  if (made)
    add(graphs, made);
  *graph = reinterpret_cast<cuda::Graph>(made);
  return result;
}

ULSC_EXPORT Result cuStreamIsCapturing(cuda::Stream stream, cuda::CaptureStatus *status) {
  if (!status || !isStream(streamOf(stream)))
    return status ? cuda::InvalidHandle : cuda::InvalidValue;
  *status = !isCapturing(streamOf(stream))      ? cuda::CaptureNone
            : isCaptureSpoilt(streamOf(stream)) ? cuda::CaptureStatusInvalidated
                                                : cuda::CaptureActive;
  return cuda::Success;
}

ULSC_EXPORT Result cuGraphInstantiateWithFlags(cuda::GraphExec *exec, cuda::Graph graph,
                                               unsigned long long flags) {
  if (!exec || !has(graphs, graph))
    return cuda::InvalidValue;
  if (flags & cuda::GraphDeviceLaunch) // the other flags change nothing that can be seen
    return cuda::NotSupported;
  auto *made = instantiate(*graphOf(graph));
  add(execs, made);
  *exec = reinterpret_cast<cuda::GraphExec>(made);
  return cuda::Success;
}

ULSC_EXPORT Result cuGraphLaunch(cuda::GraphExec exec, cuda::Stream stream) {
  if (!has(execs, exec))
    return cuda::InvalidValue;
  return resultOf(launchGraph(*execOf(exec), streamOf(stream)));
}

ULSC_EXPORT Result cuGraphExecDestroy(cuda::GraphExec exec) {
  if (!remove(execs, exec))
    return cuda::InvalidValue;
  destroyGraphExec(execOf(exec));
  return cuda::Success;
}

ULSC_EXPORT Result cuGraphDestroy(cuda::Graph graph) {
  if (!remove(graphs, graph))
    return cuda::InvalidValue;
  destroyGraph(graphOf(graph));
  return cuda::Success;
}

/// Only the number of nodes: what they are is not told.
ULSC_EXPORT Result cuGraphGetNodes(cuda::Graph graph, void **nodes, size_t *count) {
  if (!count || !has(graphs, graph))
    return cuda::InvalidValue;
  if (nodes)
    return cuda::NotSupported;
  *count = graphSize(*graphOf(graph));
  return cuda::Success;
}
