// What is enqueued on a stream of the simulated device: by the CUDA calls here, and by the cuBLASLt
// and NCCL drop-ins.
#ifndef ULSC_RUNTIME_SIMULATOR_CORE_OPERATION_H
#define ULSC_RUNTIME_SIMULATOR_CORE_OPERATION_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ulsc::simulator {

/// Bytes of device memory or of pinned host memory.
struct Range {
  const void *begin = nullptr;
  int64_t bytes = 0;
};

/// One unit of work. A captured operation runs once per launch of its graph, so `run` may be called
/// several times and holds its parameters by value.
struct Operation {
  std::string name;   ///< For reports: "ncclAllReduce", a kernel's name, "cudaMemcpyAsync".
  std::string source; ///< What the program announced when it was enqueued; enqueue() fills it in.
  /// Memory it touches as a whole: checked for bounds, freed memory and races before it runs. Bytes
  /// of `reads` must hold values; those of `writes` do so afterwards. Empty for kernels, whose
  /// accesses are checked one by one.
  std::vector<Range> reads, writes;
  /// Empty: always. A collective is ready when the other ranks have come to it. Must not block.
  std::function<bool()> isReady;
  std::function<void()> run;
  /// False for copies inside the device, which carry "holds no value" along with the bytes.
  bool requiresValues = true;
  /// Called with the operation itself when it joins a queue: now, or at each launch of the graph
  /// that captured it. Gives collectives their order.
  std::function<void(const Operation &)> queued = nullptr;
};

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CORE_OPERATION_H
