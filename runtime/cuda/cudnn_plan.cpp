#include "cuda/cudnn_plan.h"

#include "core/error.h"

#include <algorithm>

namespace ulsc::runtime {

using namespace cudnn;

namespace {

/// More than a heuristic ever has of attention.
constexpr int64_t mostProposals = 32;

/// The reason why the best proposal failed says most.
void note(std::string &refusal, std::string reason) {
  if (refusal.empty())
    refusal = std::move(reason);
}

} // namespace

std::vector<CudnnDescriptor> proposeConfigs(const CudnnLibrary &library, const CudnnGraph &graph,
                                            const CudnnTarget &target, HeuristicMode mode,
                                            std::string &refusal) {
  CudnnDescriptor heuristic(library, DescriptorHeuristic);
  heuristic.set(AttrHeuristicGraph, TypeDescriptor, graph.get());
  heuristic.set(AttrHeuristicMode, TypeHeuristicMode, mode);
  if (target.deviceProperties)
    heuristic.set(AttrHeuristicDeviceProperties, TypeDescriptor, target.deviceProperties);
  Status status = heuristic.tryFinalize();
  if (status != StatusSuccess) {
    note(refusal, library.describe(status));
    return {};
  }
  std::vector<CudnnDescriptor> proposals;
  std::vector<Descriptor> addresses;
  for (int64_t i = 0; i < mostProposals; ++i)
    addresses.push_back(proposals.emplace_back(library, DescriptorEngineConfig).get());
  int64_t found = 0;
  library.check(library.cudnnBackendGetAttribute(heuristic.get(), AttrHeuristicResults,
                                                 TypeDescriptor, mostProposals, &found,
                                                 addresses.data()),
                "cudnnBackendGetAttribute of a heuristic's results");
  proposals.erase(proposals.begin() + found, proposals.end());
  if (found == 0)
    note(refusal, concat("its heuristics propose nothing: ", library.lastReason()));
  return proposals;
}

CudnnPlan::CudnnPlan(const CudnnLibrary &library, const CudnnGraph &graph,
                     const CudnnTarget &target, CudnnWorkspace workspace, const std::string &what)
    : library(library), what(what) {
  for (HeuristicMode mode : {HeuristicA, HeuristicFallback})
    if (choose(graph, target, mode, workspace.bytes - workspace.taken))
      return;
  if (leastBytes >= 0)
    raise("'", what, "' needs ", leastBytes + workspace.taken, " bytes of workspace in cuDNN ",
          cudnnVersionText(library.cudnnGetVersion()), ", but the program was compiled to give it ",
          workspace.bytes, "; use another version of cuDNN, or compile with --attention own");
  raise("'", what, "' can't be computed by cuDNN ", cudnnVersionText(library.cudnnGetVersion()),
        " on this GPU (", refusal,
        "); use another version of cuDNN, or compile with --attention own");
}

bool CudnnPlan::choose(const CudnnGraph &graph, const CudnnTarget &target, HeuristicMode mode,
                       int64_t workspaceLimit) {
  for (CudnnDescriptor &config : proposeConfigs(library, graph, target, mode, refusal)) {
    CudnnDescriptor plan(library, DescriptorExecutionPlan);
    plan.set(AttrPlanEngineConfig, config);
    plan.set(AttrPlanHandle, TypeHandle, target.handle);
    // A proposal may still turn out to be impossible.
    Status status = plan.tryFinalize();
    if (status != StatusSuccess) {
      note(refusal, library.describe(status));
      continue;
    }
    int64_t count = 0;
    library.check(library.cudnnBackendGetAttribute(plan.get(), AttrPlanWorkspaceBytes, TypeInt64, 1,
                                                   &count, &bytes),
                  "cudnnBackendGetAttribute of a plan's workspace");
    if (bytes <= workspaceLimit) {
      kept.push_back(std::move(config));
      kept.push_back(std::move(plan));
      return true;
    }
    leastBytes = leastBytes < 0 ? bytes : std::min(leastBytes, bytes);
  }
  return false;
}

void CudnnPlan::execute(Handle handle, const std::vector<Binding> &bindings,
                        void *workspace) const {
  std::vector<int64_t> ids;
  std::vector<const void *> pointers;
  for (const Binding &binding : bindings) {
    ids.push_back(binding.first);
    pointers.push_back(binding.second);
  }
  CudnnDescriptor pack(library, DescriptorVariantPack);
  pack.set(AttrPackUniqueIds, TypeInt64, ids);
  pack.set(AttrPackPointers, TypePointer, pointers);
  pack.set(AttrPackWorkspace, TypePointer, workspace);
  pack.finalize();
  library.check(library.cudnnBackendExecute(handle, kept.back().get(), pack.get()),
                concat("cudnnBackendExecute of '", what, "'").c_str());
}

} // namespace ulsc::runtime
