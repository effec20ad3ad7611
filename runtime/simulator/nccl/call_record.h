// One call of NCCL as its rank announces it to the others, and how it is named in reports.
#ifndef ULSC_RUNTIME_SIMULATOR_NCCL_CALL_RECORD_H
#define ULSC_RUNTIME_SIMULATOR_NCCL_CALL_RECORD_H

#include "cuda/nccl_api.h"

#include <string>
#include <tuple>

namespace ulsc::simulator {

enum class CallKind : uint32_t {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Broadcast,
  Reduce,
  Send,
  Receive
};

constexpr bool isCollective(CallKind kind) {
  return kind != CallKind::Send && kind != CallKind::Receive;
}

/// How many collectives this process had launched on another communicator.
struct Neighbour {
  uint64_t communicator; ///< its id, the same on all its ranks
  uint64_t collectives;
};

/// Lies in the log that a rank shares with the others: plain bytes.
struct CallRecord {
  CallKind kind;
  uint32_t type;      ///< nccl::DataType
  uint32_t reduction; ///< nccl::Reduction, where there is one
  int32_t peer;       ///< root of a collective, other side of a message; -1 without
  uint64_t count;     ///< as passed, elements
  uint64_t sequence;  ///< number among the communicator's collectives, or messages between the two
  uint64_t launch;    ///< number of the launch (group) among this rank's
  uint32_t groupIndex, groupSize; ///< among the collectives of its launch
  uint64_t dataOffset;            ///< where the rank has put its contribution, once arrived
  uint64_t dataBytes;
  uint32_t neighbours;
  Neighbour neighbour[16];
  char stream[24];
  char source[96];
};

/// What makes two records of different ranks the same operation: for messages sender, receiver and
/// number.
using CallKey = std::tuple<int, int, int, uint64_t>;
/// The key under which `record` of `rank` is looked up at `other`.
CallKey keyOf(const CallRecord &record, int rank);
/// The key that the other side of a message has; a collective's is the same everywhere.
CallKey keyOfMatch(const CallRecord &record, int rank);

int64_t elementBytes(uint32_t type);
/// "f32"
const char *typeText(uint32_t type);
const char *callName(CallKind kind);
/// "ncclAllReduce (1024 f32, sum)"
std::string describeCall(const CallRecord &record);
/// The same with collective number, stream and source.
std::string describe(const CallRecord &record);

/// Why two records of one operation don't go together: "the counts differ"; empty if they do.
std::string mismatchOf(const CallRecord &left, const CallRecord &right);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_NCCL_CALL_RECORD_H
