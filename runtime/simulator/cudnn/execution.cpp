// What an execution reads and writes, and its run.
#include "simulator/cudnn/execution.h"

#include "simulator/core/report.h"
#include "simulator/cudnn/interpreter.h"
#include "simulator/cudnn/tensor_ranges.h"

#include <cstring>

namespace ulsc::simulator {

using namespace cudnn;

namespace {

constexpr uintptr_t workspaceAlignment = 16;

std::string nameOf(const Graph &graph) {
  return text("cudnnBackendExecute (", graph.matmuls(), " products of ", graph.nodes.size(),
              " operations)");
}

Outcome findPointer(const Tensor &tensor, const VariantPack &pack, const void *&pointer) {
  auto found = pack.pointers.find(tensor.id);
  if (found == pack.pointers.end() || !found->second)
    return {StatusNullPointer, text("the variant pack has no pointer for ", tensor.describe())};
  pointer = found->second;
  if (!tensor.isByValue &&
      reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(tensor.alignment))
    return {StatusMisalignedPointer, text(tensor.describe(), " is at ", pointer,
                                          ", which isn't aligned to ", tensor.alignment, " bytes")};
  return {};
}

Outcome bind(const Graph &graph, const VariantPack &pack, Bindings &bindings) {
  for (const auto *tensors : {&graph.reads, &graph.writes, &graph.values})
    for (const auto &tensor : *tensors) {
      const void *pointer = nullptr;
      if (Outcome outcome = findPointer(*tensor, pack, pointer); outcome.isRefusal())
        return outcome;
      if (tensor->isByValue)
        std::memcpy(&bindings.values[tensor->id], pointer, sizeof(float));
      else
        bindings.memory[tensor->id] = const_cast<void *>(pointer);
    }
  size_t bound = bindings.memory.size() + bindings.values.size();
  if (pack.pointers.size() > bound)
    return badParam(text("the variant pack has ", pack.pointers.size(),
                         " pointers, the graph's operations use ", bound));
  return {};
}

Outcome checkWorkspace(const Config &config, const VariantPack &pack) {
  if (config.workspaceBytes && !pack.workspace)
    return {StatusNullPointer,
            text("the workspace is null, the plan needs ", config.workspaceBytes, " bytes")};
  if (reinterpret_cast<uintptr_t>(pack.workspace) % workspaceAlignment)
    return {StatusMisalignedPointer,
            text("the workspace is at ", pack.workspace, ", which isn't aligned to 16 bytes")};
  return {};
}

Outcome usesOf(const std::vector<std::shared_ptr<const Tensor>> &tensors, const Bindings &bindings,
               bool isWritten, std::vector<Use> &uses) {
  for (const auto &tensor : tensors) {
    bool overlaps = false;
    uses.push_back(
        {tensor->describe(), rangesOf(*tensor, bindings.memory.at(tensor->id), overlaps)});
    if (isWritten && overlaps)
      return badParam(text("elements of ", tensor->describe(), " overlap"));
  }
  return {};
}

[[noreturn]] void reportOverlap(const Graph &graph, const Use &written, const Use &other) {
  Finding finding;
  finding.kind = "overlap";
  finding.summary = text(nameOf(graph), " writes ", written.name, " where it has ", other.name);
  finding.details = {{written.name, text("from ", written.ranges.front().begin)},
                     {other.name, text("from ", other.ranges.front().begin)}};
  finding.legal = "results and workspace apart from everything else";
  report(finding);
}

} // namespace

Outcome makeOperation(const Config &config, const VariantPack &pack, Operation &operation) {
  std::shared_ptr<const Graph> graph = config.graph;
  Bindings bindings;
  std::vector<Use> reads, writes;
  Outcome outcome;
  if ((outcome = bind(*graph, pack, bindings)).isRefusal() ||
      (outcome = checkWorkspace(config, pack)).isRefusal() ||
      (outcome = usesOf(graph->reads, bindings, false, reads)).isRefusal() ||
      (outcome = usesOf(graph->writes, bindings, true, writes)).isRefusal())
    return outcome;
  void *workspace = pack.workspace;
  int64_t bytes = config.workspaceBytes;
  if (bytes)
    writes.push_back({"the workspace", {{workspace, bytes}}});
  if (auto overlap = findOverlap(reads, writes))
    reportOverlap(*graph, overlap->first, overlap->second);
  operation.name = nameOf(*graph);
  operation.reads = joined(reads);
  operation.writes = joined(writes);
  operation.run = [=] {
    interpret(*graph, bindings);
    // What a workspace holds afterwards is nobody's business: whoever reads it gets NaNs.
    if (bytes)
      std::memset(workspace, 0xff, static_cast<size_t>(bytes));
  };
  return {};
}

} // namespace ulsc::simulator
