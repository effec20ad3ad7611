// How cuDNN executes an operation graph: what its heuristics proposed, with memory bound to it.
#ifndef ULSC_RUNTIME_CUDA_CUDNN_PLAN_H
#define ULSC_RUNTIME_CUDA_CUDNN_PLAN_H

#include "cuda/cudnn_graph.h"

#include <utility>

namespace ulsc::runtime {

/// What is asked about: the handle's device or, without one and without plans, a device that is
/// described.
struct CudnnTarget {
  cudnn::Handle handle = nullptr;
  cudnn::Descriptor deviceProperties = nullptr;
};

/// The engine configurations that the library's heuristics propose for the graph, best first, each
/// found possible; `refusal` says why there are none.
std::vector<CudnnDescriptor> proposeConfigs(const CudnnLibrary &library, const CudnnGraph &graph,
                                            const CudnnTarget &target, cudnn::HeuristicMode mode,
                                            std::string &refusal);

/// Bytes of a workspace, of which some are taken already.
struct CudnnWorkspace {
  int64_t bytes = 0, taken = 0;
};

class CudnnPlan {
public:
  /// The first that the library proposes, can do and has enough workspace for. `what` is the source
  /// op, for errors.
  CudnnPlan(const CudnnLibrary &library, const CudnnGraph &graph, const CudnnTarget &target,
            CudnnWorkspace workspace, const std::string &what);

  int64_t workspaceBytes() const { return bytes; }

  /// Where a tensor of the graph lies, or its value on the host.
  using Binding = std::pair<int64_t, const void *>;
  /// Enqueues the graph on the handle's stream.
  void execute(cudnn::Handle handle, const std::vector<Binding> &bindings, void *workspace) const;

private:
  /// Tries the proposals of one mode. Notes why, and the least workspace, where none fits.
  bool choose(const CudnnGraph &graph, const CudnnTarget &target, cudnn::HeuristicMode mode,
              int64_t workspaceLimit);

  const CudnnLibrary &library;
  std::string what;
  std::vector<CudnnDescriptor> kept; // the configuration, then the plan
  int64_t bytes = 0;
  int64_t leastBytes = -1;
  std::string refusal;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_CUDNN_PLAN_H
