// Stream capture: the operations enqueued on captured streams, with the order that streams and
// events gave them, become a graph that launches as often as wanted.
#ifndef ULSC_RUNTIME_SIMULATOR_CORE_GRAPHS_H
#define ULSC_RUNTIME_SIMULATOR_CORE_GRAPHS_H

#include "simulator/core/streams.h"

namespace ulsc::simulator {

class Graph;
class GraphExec;

/// Whether calls that may not be captured, such as allocations, are refused while any stream is
/// captured. CUDA's global and thread-local modes are not told apart: both mean Strict.
enum class CaptureMode { Strict, Relaxed };

Status beginCapture(StreamHandle stream, CaptureMode mode);
/// On success `graph` belongs to the caller. On failure it is null and the capture has ended.
Status endCapture(StreamHandle stream, Graph *&graph);
bool isCapturing(StreamHandle stream);
/// Whether a refused call has spoilt the stream's capture.
bool isCaptureSpoilt(StreamHandle stream);
/// For calls that are unsafe under a strict capture (allocation, device synchronisation): the
/// refusal, which spoils running captures, or Success.
Status refuseInCapture();

void destroyGraph(Graph *graph);
/// Operations in the graph.
size_t graphSize(const Graph &graph);
GraphExec *instantiate(const Graph &graph);
void destroyGraphExec(GraphExec *exec);
/// Enqueues the operations again: after what is queued on `stream`, before what comes later there.
Status launchGraph(GraphExec &exec, StreamHandle stream);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CORE_GRAPHS_H
