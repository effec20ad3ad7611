// The numbers of an operation graph, node by node.
#ifndef ULSC_RUNTIME_SIMULATOR_CUDNN_INTERPRETER_H
#define ULSC_RUNTIME_SIMULATOR_CUDNN_INTERPRETER_H

#include "simulator/cudnn/graph.h"

#include <map>

namespace ulsc::simulator {

/// Where tensors in memory lie, and the values of those that the host gave.
struct Bindings {
  std::map<int64_t, void *> memory;
  std::map<int64_t, float> values;
};

/// Computes in f32 and rounds each result to its tensor's type: that of tensors between operations
/// is what the vendor's kernels multiply, too. One thread, so that a call gives the same bits each
/// time.
void interpret(const Graph &graph, const Bindings &bindings);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUDNN_INTERPRETER_H
