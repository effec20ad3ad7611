// What the simulated heuristics know to do, as far as the vendor's do: measured with version 9.19
// on descriptions of A100, H100 and B200, or said in its documentation.
#ifndef ULSC_RUNTIME_SIMULATOR_CUDNN_SUPPORT_H
#define ULSC_RUNTIME_SIMULATOR_CUDNN_SUPPORT_H

#include "simulator/cudnn/graph.h"

namespace ulsc::simulator {

/// ULSC_SIMULATOR_CUDNN, "9.26.0"; by default that of the library whose behaviour was measured.
size_t simulatedVersion();

/// Whether there is a way to execute the graph on the simulated device.
Outcome checkSupport(const Graph &graph);

/// The workspaces of the ways that are proposed, best first.
std::vector<int64_t> proposeWorkspaces(const Graph &graph);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUDNN_SUPPORT_H
