// Groups become operations of streams.
#include "simulator/nccl/group.h"

#include "simulator/core/report.h"
#include "simulator/nccl/exchange.h"

#include <algorithm>

namespace ulsc::simulator {

namespace {

struct GroupedCall {
  std::shared_ptr<Communicator> communicator;
  Call call;
  StreamHandle stream;
};

struct Group {
  int depth = 0;
  std::vector<GroupedCall> calls;
  std::vector<std::function<nccl::Result()>> joins;
};
thread_local Group group;

/// The calls of one communicator, in the order of the group.
struct Bundle {
  std::shared_ptr<Communicator> communicator;
  std::vector<Call> calls;
  std::vector<StreamHandle> streams; ///< each once, the first call's first
};

std::vector<Bundle> bundle(const std::vector<GroupedCall> &calls) {
  std::vector<Bundle> bundles;
  for (const GroupedCall &each : calls) {
    auto found = std::find_if(bundles.begin(), bundles.end(), [&](const Bundle &bundle) {
      return bundle.communicator == each.communicator;
    });
    if (found == bundles.end())
      found = bundles.insert(found, {each.communicator, {}, {}});
    found->calls.push_back(each.call);
    if (std::find(found->streams.begin(), found->streams.end(), each.stream) ==
        found->streams.end())
      found->streams.push_back(each.stream);
  }
  return bundles;
}

bool overlap(const Range &left, const Range &right) {
  auto l = static_cast<const char *>(left.begin), r = static_cast<const char *>(right.begin);
  return l < r + right.bytes && r < l + left.bytes;
}

[[noreturn]] void reportGroupOverlap(const Communicator &communicator, const Call &writer,
                                     const Call &other) {
  Finding finding{"overlap",
                  "NCCL: two calls of one group touch the same memory, in no order",
                  {{"communicator", communicator.title},
                   {"writes", describeCall(writer.record)},
                   {"touches the same", describeCall(other.record)}},
                  "memory that a call writes is not used by another of its group"};
  report(finding);
}

/// Calls of a group run side by side.
void checkOverlaps(const Bundle &bundle) {
  std::vector<Operation> each(bundle.calls.size());
  for (size_t i = 0; i < each.size(); ++i)
    addRanges(*bundle.communicator, bundle.calls[i], each[i]);
  for (size_t i = 0; i < each.size(); ++i)
    for (size_t j = 0; j < each.size(); ++j)
      for (const Range &written : each[i].writes) {
        if (i == j)
          continue;
        for (const auto *ranges : {&each[j].reads, &each[j].writes})
          for (const Range &other : *ranges)
            if (overlap(written, other))
              reportGroupOverlap(*bundle.communicator, bundle.calls[i], bundle.calls[j]);
      }
}

Operation makeOperation(const Bundle &bundle) {
  auto launch = std::make_shared<Launch>();
  launch->communicator = bundle.communicator;
  launch->calls = bundle.calls;
  launch->streamName = streamName(bundle.streams.front());
  Operation operation;
  operation.name = describeCall(bundle.calls.front().record);
  if (bundle.calls.size() > 1)
    operation.name += text(" and ", bundle.calls.size() - 1, " more in its group");
  for (const Call &call : bundle.calls)
    addRanges(*bundle.communicator, call, operation);
  operation.queued = [launch](const Operation &queued) {
    launch->communicator->announce(launch, queued);
  };
  operation.isReady = [launch] { return launch->communicator->isReady(*launch); };
  operation.run = [launch] { launch->communicator->run(*launch); };
  return operation;
}

/// A launch waits for all streams of its calls, and they for it: it runs on the first.
nccl::Result launch(const Bundle &bundle) {
  checkOverlaps(bundle);
  StreamHandle first = bundle.streams.front();
  bool isGood = true;
  auto order = [&](StreamHandle before, StreamHandle after) {
    EventHandle event = createEvent();
    isGood = isGood && recordEvent(event, before) == Status::Success &&
             waitEvent(after, event) == Status::Success;
    destroyEvent(event);
  };
  for (StreamHandle stream : bundle.streams)
    if (stream != first)
      order(stream, first);
  isGood = isGood && enqueue(first, makeOperation(bundle)) == Status::Success;
  for (StreamHandle stream : bundle.streams)
    if (stream != first)
      order(first, stream);
  NcclLock lock(ncclMutex());
  auto &streams = bundle.communicator->streams;
  if (std::find(streams.begin(), streams.end(), first) == streams.end())
    streams.push_back(first);
  if (isGood)
    return nccl::Success;
  bundle.communicator->lastError = "a stream doesn't take the launch";
  return nccl::UnhandledCudaError;
}

} // namespace

void startGroup() { ++group.depth; }

bool isInGroup() { return group.depth > 0; }

nccl::Result endGroup() {
  if (group.depth == 0)
    return nccl::InvalidUsage;
  if (--group.depth)
    return nccl::Success;
  Group ended;
  std::swap(ended, group);
  nccl::Result result = nccl::Success;
  // All ranks of this process take their places before any waits for the others.
  for (auto &join : ended.joins)
    if (nccl::Result each = join(); result == nccl::Success)
      result = each;
  for (const Bundle &each : bundle(ended.calls))
    if (nccl::Result launched = launch(each); result == nccl::Success)
      result = launched;
  return result;
}

nccl::Result submit(const std::shared_ptr<Communicator> &communicator, const Call &call,
                    StreamHandle stream) {
  startGroup();
  group.calls.push_back({communicator, call, stream});
  return endGroup();
}

nccl::Result submitJoin(std::function<nccl::Result()> join) {
  startGroup();
  group.joins.push_back(std::move(join));
  return endGroup();
}

} // namespace ulsc::simulator
