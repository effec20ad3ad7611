// Arguments of calls: which NCCL refuses, and what they read and write.
#include "simulator/nccl/group.h"

#include "simulator/core/report.h"
#include "simulator/nccl/exchange.h"

namespace ulsc::simulator {

namespace {

bool reads(const Communicator &c, const Call &call) {
  return contributionBytes(call.record, c.size(), c.rank()) > 0;
}

bool writes(const Communicator &c, const Call &call) {
  return resultBytes(call.record, c.size(), c.rank()) > 0;
}

/// Where the send buffer must begin for the call to be in place, as seen from the receive buffer.
int64_t inPlaceOffset(const Communicator &c, const Call &call) {
  int64_t block = static_cast<int64_t>(call.record.count) * elementBytes(call.record.type);
  if (call.record.kind == CallKind::AllGather)
    return c.rank() * block;
  if (call.record.kind == CallKind::ReduceScatter)
    return -c.rank() * block;
  return 0;
}

[[noreturn]] void reportOverlap(const Communicator &c, const Call &call) {
  Finding finding{
      "overlap",
      text("NCCL: the buffers of ", describeCall(call.record), " overlap without being in place"),
      {{"communicator", c.title},
       {"send buffer", text(call.send)},
       {"receive buffer", text(call.receive)}},
      "buffers apart, or in place: the same pointer, for ncclAllGather and "
      "ncclReduceScatter the rank's own block of the larger one"};
  report(finding);
}

void checkBuffers(const Communicator &c, const Call &call) {
  if (!reads(c, call) || !writes(c, call))
    return;
  auto send = static_cast<const char *>(call.send);
  auto receive = static_cast<const char *>(call.receive);
  bool isApart = send + contributionBytes(call.record, c.size(), c.rank()) <= receive ||
                 receive + resultBytes(call.record, c.size(), c.rank()) <= send;
  bool mayBeInPlace = call.record.kind != CallKind::AllToAll;
  bool isInPlace = mayBeInPlace && send == receive + inPlaceOffset(c, call);
  if (!isApart && !isInPlace)
    reportOverlap(c, call);
}

} // namespace

nccl::Result checkCall(const Communicator &c, const Call &call, std::string &error) {
  const CallRecord &record = call.record;
  auto refuse = [&](const std::string &reason) {
    error = text(callName(record.kind), ": ", reason);
    return nccl::InvalidArgument;
  };
  if (record.type > nccl::TypeFloat8E5M2)
    return refuse(text("data type ", record.type, " doesn't exist"));
  if (record.type >= nccl::TypeFloat8E4M3) {
    Finding finding{"unsupported",
                    text("NCCL: ", describeCall(record), ": 8-bit floats are not simulated"),
                    {},
                    "integers of 8, 32 and 64 bits, f16, bf16, f32, f64"};
    report(finding);
  }
  if (record.reduction > nccl::Average)
    return refuse(text("reduction ", record.reduction, " doesn't exist"));
  bool hasPeer = record.kind != CallKind::AllReduce && record.kind != CallKind::ReduceScatter &&
                 record.kind != CallKind::AllGather && record.kind != CallKind::AllToAll;
  if (hasPeer && (record.peer < 0 || record.peer >= c.size()))
    return refuse(text("root or peer ", record.peer, " of ", c.size(), " ranks"));
  if (reads(c, call) && !call.send)
    return refuse("the send buffer is null");
  if (writes(c, call) && !call.receive)
    return refuse("the receive buffer is null");
  auto size = static_cast<uint64_t>(elementBytes(record.type));
  if ((reads(c, call) && reinterpret_cast<uint64_t>(call.send) % size) ||
      (writes(c, call) && reinterpret_cast<uint64_t>(call.receive) % size))
    return refuse(text("a buffer isn't aligned to its elements of ", size, " bytes"));
  checkBuffers(c, call);
  return nccl::Success;
}

void addRanges(const Communicator &c, const Call &call, Operation &operation) {
  if (reads(c, call))
    operation.reads.push_back({call.send, contributionBytes(call.record, c.size(), c.rank())});
  bool isOwnRoot = call.record.kind == CallKind::Broadcast && call.send == call.receive &&
                   call.record.peer == c.rank();
  if (writes(c, call) && !isOwnRoot) // a broadcast in place leaves its root's buffer alone
    operation.writes.push_back({call.receive, resultBytes(call.record, c.size(), c.rank())});
}

} // namespace ulsc::simulator
