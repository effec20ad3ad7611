// Ranks as forked processes, each with a simulated device of its own.
#ifndef ULSC_RUNTIME_SIMULATOR_TEST_LIBRARIES_RANK_PROCESSES_H
#define ULSC_RUNTIME_SIMULATOR_TEST_LIBRARIES_RANK_PROCESSES_H

#include "cuda/nccl_api.h"
#include "simulator/core/streams.h"

#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace ulsc::nccl {
#define ULSC_DECLARE(name, result, parameters) extern "C" result name parameters;
ULSC_NCCL_FUNCTIONS(ULSC_DECLARE)
#undef ULSC_DECLARE
} // namespace ulsc::nccl

namespace ulsc::simulator::test {

/// How a rank's process ended.
struct RankEnd {
  int exitCode = 0;   ///< -1: by a signal
  std::string errors; ///< its stderr
};

/// One rank in its process.
struct RankContext {
  int rank = 0, ranks = 1;
  nccl::UniqueId id{};

  /// A communicator of all ranks.
  nccl::Comm world() const;
};

/// Runs the body in `ranks` processes at once. A body that returns gives exit code 0, a failed
/// require() gives 1. `environment`: "NAME=value" for all of them.
std::vector<RankEnd> runRanks(int ranks, const std::function<void(const RankContext &)> &body,
                              const std::vector<std::string> &environment = {});
/// All ranks must end with 0.
void expectRanksPass(int ranks, const std::function<void(const RankContext &)> &body);

/// Ends the process with 1 and the text where the condition is false.
void require(bool condition, const std::string &what);
void requireSuccess(nccl::Result result, const char *what);

/// A stream that the legacy stream isn't ordered with.
nccl::Stream makeStream();
inline StreamHandle handle(nccl::Stream stream) { return reinterpret_cast<StreamHandle>(stream); }

/// Device memory with these values.
void *toDevice(const void *values, size_t bytes);
/// Device memory without values.
void *deviceBytes(size_t bytes);

template <typename Value>
Value *toDevice(const std::vector<Value> &values) {
  return static_cast<Value *>(toDevice(values.data(), values.size() * sizeof(Value)));
}
template <typename Value>
Value *onDevice(size_t count) {
  return static_cast<Value *>(deviceBytes(count * sizeof(Value)));
}

} // namespace ulsc::simulator::test

#endif // ULSC_RUNTIME_SIMULATOR_TEST_LIBRARIES_RANK_PROCESSES_H
