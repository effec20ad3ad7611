// libnccl.so.2 of the simulated device: collectives, messages and groups.
#include "simulator/nccl/handles.h"

#include "simulator/core/report.h"
#include "simulator/nccl/group.h"

namespace ulsc::nccl {

using namespace ulsc::simulator;

namespace {

CallRecord recordOf(CallKind kind, size_t count, DataType type, uint32_t reduction, int peer) {
  CallRecord record{};
  record.kind = kind;
  record.type = type;
  record.reduction = reduction;
  record.peer = peer;
  record.count = count;
  return record;
}

Result call(Comm comm, const CallRecord &record, const void *send, void *receive, Stream stream) {
  std::shared_ptr<Communicator> communicator = findCommunicator(comm);
  if (!communicator)
    return noteError(nullptr, InvalidArgument,
                     text(callName(record.kind), ": the communicator is null"));
  if (communicator->isAborted || communicator->isFinalized)
    return noteError(communicator.get(), InvalidUsage,
                     text(callName(record.kind), ": the communicator was ",
                          communicator->isAborted ? "aborted" : "finalized"));
  Call made{record, send, receive};
  std::string error;
  if (Result result = checkCall(*communicator, made, error); result != Success)
    return noteError(communicator.get(), result, error);
  // As the vendor's library: a collective of nothing is none.
  if (isCollective(record.kind) && record.count == 0)
    return Success;
  return submit(communicator, made, reinterpret_cast<StreamHandle>(stream));
}

} // namespace

Result ncclAllReduce(const void *send, void *receive, size_t count, DataType type,
                     Reduction reduction, Comm comm, Stream stream) {
  return call(comm, recordOf(CallKind::AllReduce, count, type, reduction, -1), send, receive,
              stream);
}

Result ncclReduceScatter(const void *send, void *receive, size_t count, DataType type,
                         Reduction reduction, Comm comm, Stream stream) {
  return call(comm, recordOf(CallKind::ReduceScatter, count, type, reduction, -1), send, receive,
              stream);
}

Result ncclAllGather(const void *send, void *receive, size_t count, DataType type, Comm comm,
                     Stream stream) {
  return call(comm, recordOf(CallKind::AllGather, count, type, 0, -1), send, receive, stream);
}

Result ncclAlltoAll(const void *send, void *receive, size_t count, DataType type, Comm comm,
                    Stream stream) {
  return call(comm, recordOf(CallKind::AllToAll, count, type, 0, -1), send, receive, stream);
}

Result ncclBroadcast(const void *send, void *receive, size_t count, DataType type, int root,
                     Comm comm, Stream stream) {
  return call(comm, recordOf(CallKind::Broadcast, count, type, 0, root), send, receive, stream);
}

Result ncclReduce(const void *send, void *receive, size_t count, DataType type, Reduction reduction,
                  int root, Comm comm, Stream stream) {
  return call(comm, recordOf(CallKind::Reduce, count, type, reduction, root), send, receive,
              stream);
}

Result ncclSend(const void *send, size_t count, DataType type, int peer, Comm comm, Stream stream) {
  return call(comm, recordOf(CallKind::Send, count, type, 0, peer), send, nullptr, stream);
}

Result ncclRecv(void *receive, size_t count, DataType type, int peer, Comm comm, Stream stream) {
  return call(comm, recordOf(CallKind::Receive, count, type, 0, peer), nullptr, receive, stream);
}

Result ncclGroupStart() {
  startGroup();
  return Success;
}

Result ncclGroupEnd() {
  Result result = endGroup();
  return result == InvalidUsage ? noteError(nullptr, result, "ncclGroupEnd without a start")
                                : result;
}

Result ncclGetVersion(int *version) {
  if (!version)
    return noteError(nullptr, InvalidArgument, "ncclGetVersion: no place for the version");
  *version = versionCode;
  return Success;
}

const char *ncclGetErrorString(Result result) {
  switch (result) {
  case Success:
    return "no error";
  case UnhandledCudaError:
    return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
  case SystemError:
    return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
  case InternalError:
    return "internal error - please report this issue to the NCCL developers";
  case InvalidArgument:
    return "invalid argument (run with NCCL_DEBUG=WARN for details)";
  case InvalidUsage:
    return "invalid usage (run with NCCL_DEBUG=WARN for details)";
  case RemoteError:
    return "remote process exited or there was a network error";
  case InProgress:
    return "NCCL operation in progress";
  }
  return "unknown result code";
}

} // namespace ulsc::nccl
