// Names and comparisons of calls.
#include "simulator/nccl/call_record.h"

#include "simulator/core/report.h"

namespace ulsc::simulator {

namespace {

const char *reductionText(uint32_t reduction) {
  const char *names[] = {"sum", "product", "max", "min", "average"};
  return reduction < 5 ? names[reduction] : "unknown";
}

bool hasReduction(CallKind kind) {
  return kind == CallKind::AllReduce || kind == CallKind::ReduceScatter || kind == CallKind::Reduce;
}

bool hasRoot(CallKind kind) { return kind == CallKind::Broadcast || kind == CallKind::Reduce; }

} // namespace

CallKey keyOf(const CallRecord &record, int rank) {
  if (record.kind == CallKind::Send)
    return {1, rank, record.peer, record.sequence};
  if (record.kind == CallKind::Receive)
    return {2, record.peer, rank, record.sequence};
  return {0, 0, 0, record.sequence};
}

CallKey keyOfMatch(const CallRecord &record, int rank) {
  if (record.kind == CallKind::Send)
    return {2, rank, record.peer, record.sequence};
  if (record.kind == CallKind::Receive)
    return {1, record.peer, rank, record.sequence};
  return {0, 0, 0, record.sequence};
}

int64_t elementBytes(uint32_t type) {
  switch (type) {
  case nccl::TypeInt8:
  case nccl::TypeUint8:
    return 1;
  case nccl::TypeFloat16:
  case nccl::TypeBfloat16:
    return 2;
  case nccl::TypeInt64:
  case nccl::TypeUint64:
  case nccl::TypeFloat64:
    return 8;
  default:
    return 4;
  }
}

const char *typeText(uint32_t type) {
  const char *names[] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                         "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
  return type < 12 ? names[type] : "unknown";
}

const char *callName(CallKind kind) {
  switch (kind) {
  case CallKind::AllReduce:
    return "ncclAllReduce";
  case CallKind::ReduceScatter:
    return "ncclReduceScatter";
  case CallKind::AllGather:
    return "ncclAllGather";
  case CallKind::AllToAll:
    return "ncclAlltoAll";
  case CallKind::Broadcast:
    return "ncclBroadcast";
  case CallKind::Reduce:
    return "ncclReduce";
  case CallKind::Send:
    return "ncclSend";
  case CallKind::Receive:
    return "ncclRecv";
  }
  return "";
}

std::string describeCall(const CallRecord &record) {
  std::string more;
  if (hasReduction(record.kind))
    more += text(", ", reductionText(record.reduction));
  if (hasRoot(record.kind))
    more += text(", root ", record.peer);
  if (record.kind == CallKind::Send)
    more += text(", to rank ", record.peer);
  if (record.kind == CallKind::Receive)
    more += text(", from rank ", record.peer);
  return text(callName(record.kind), " (", record.count, " ", typeText(record.type), more, ")");
}

std::string describe(const CallRecord &record) {
  std::string result =
      text(describeCall(record), isCollective(record.kind) ? ", collective " : ", message ",
           record.sequence, " on ", record.stream);
  if (record.groupSize > 1)
    result += text(", ", record.groupIndex + 1, " of ", record.groupSize, " in its group");
  if (record.source[0])
    result += text(", source ", record.source);
  return result;
}

std::string mismatchOf(const CallRecord &left, const CallRecord &right) {
  if (isCollective(left.kind) && left.kind != right.kind)
    return "the collectives differ";
  if (left.count != right.count)
    return "the counts differ";
  if (left.type != right.type)
    return "the data types differ";
  if (hasReduction(left.kind) && left.reduction != right.reduction)
    return "the reductions differ";
  if (hasRoot(left.kind) && left.peer != right.peer)
    return "the roots differ";
  if (isCollective(left.kind) &&
      (left.groupIndex != right.groupIndex || left.groupSize != right.groupSize))
    return "they are grouped differently";
  return "";
}

} // namespace ulsc::simulator
