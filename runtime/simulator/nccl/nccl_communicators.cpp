// libnccl.so.2 of the simulated device: communicators.
#include "simulator/nccl/handles.h"

#include "simulator/core/report.h"
#include "simulator/core/settings.h"
#include "simulator/nccl/checks.h"
#include "simulator/nccl/group.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace ulsc::nccl {

using namespace ulsc::simulator;

namespace {

/// Waits until `isDone`; reports where a rank of `absent` ends meanwhile, or nothing happens for
/// the time that ULSC_SIMULATOR_TIMEOUT gives.
template <typename IsDone, typename Absent>
void waitForRanks(const char *call, const Clique &clique, IsDone isDone, Absent absent) {
  auto begin = std::chrono::steady_clock::now();
  std::vector<int> waitedFor;
  for (int round = 0; !isDone(); ++round) {
    std::this_thread::sleep_for(std::chrono::microseconds(round < 20 ? 50 : 1000));
    std::vector<int> now = absent();
    if (now != waitedFor) {
      waitedFor = now;
      begin = std::chrono::steady_clock::now();
    }
    auto waited = std::chrono::steady_clock::now() - begin;
    bool isDead = round % 16 == 15 && firstDead(clique, now) >= 0;
    // What a rank did before it ended may have come since.
    if ((isDead && !isDone() && absent() == now && !now.empty()) ||
        waited > std::chrono::seconds(settings().timeoutSeconds))
      reportAbsent(call, clique, now);
  }
}

void add(const std::shared_ptr<Communicator> &communicator) {
  communicator->start();
  communicators().push_back(communicator);
}

std::string titleOf(const Config *config, const std::string &otherwise, int ranks) {
  std::string name = config && config->commName ? config->commName : otherwise;
  return text("communicator '", name, "' of ", ranks, " ranks");
}

/// Options that change what a program sees are refused; those that only change speed are accepted.
Result checkConfig(const Config *config) {
  if (!config)
    return Success;
  if (config->magic != configMagic || config->size == 0 || config->size > 4096)
    return noteError(nullptr, InvalidArgument,
                     "the configuration was not initialised by NCCL_CONFIG_INITIALIZER");
  if (config->blocking == 0) {
    Finding finding{"unsupported",
                    "NCCL: communicators that don't block (config.blocking = 0) are not simulated",
                    {},
                    "config.blocking = 1, the default"};
    report(finding);
  }
  return Success;
}

/// Takes a place in the clique now, and completes it at the end of the group.
Result join(Comm *comm, const std::shared_ptr<Communicator> &made, const char *call,
            const std::string &name, int ranks, int rank, bool isNew) {
  registerWithCore();
  std::string error;
  if (!made->clique.join(name, ranks, rank, isNew, error))
    return noteError(nullptr, InvalidArgument, text(call, ": ", error));
  *comm = handleOf(*made);
  return submitJoin([made, call] {
    Clique &clique = made->clique;
    waitForRanks(
        call, clique, [&] { return clique.tryComplete(); }, [&] { return clique.absentRanks(); });
    NcclLock lock(ncclMutex());
    add(made);
    return Success;
  });
}

Result initRank(Comm *comm, int ranks, const UniqueId &id, int rank, Config *config,
                const char *call) {
  if (!comm || ranks < 1 || rank < 0 || rank >= ranks)
    return noteError(nullptr, InvalidArgument, text(call, ": rank ", rank, " of ", ranks));
  if (ranks > mostRanks)
    return noteError(nullptr, InvalidArgument,
                     text(call, ": ", ranks, " ranks; the simulated device takes ", mostRanks));
  if (Result result = checkConfig(config); result != Success)
    return result;
  std::string name(id.internal, strnlen(id.internal, sizeof(id.internal)));
  auto made = std::make_shared<Communicator>();
  made->title = titleOf(config, name, ranks);
  return join(comm, made, call, name, ranks, rank, false);
}

struct Member {
  int key, rank;
  bool operator<(const Member &other) const {
    return std::tie(key, rank) < std::tie(other.key, other.rank);
  }
};

/// The parent's ranks of one color, in the order of the new communicator.
std::vector<Member> membersOf(const Communicator &parent, uint64_t split, int color) {
  std::vector<Member> members;
  for (int rank = 0; rank < parent.size(); ++rank) {
    const RankState &state = parent.clique.state(rank);
    if (state.color[split % 2].load() == color)
      members.push_back({state.key[split % 2].load(), rank});
  }
  std::sort(members.begin(), members.end());
  return members;
}

void agreeOnSplit(Communicator &parent, uint64_t split, int color, int key) {
  RankState &own = parent.clique.own();
  own.color[split % 2] = color;
  own.key[split % 2] = key;
  own.splits.store(split, std::memory_order_release);
  auto absent = [&] {
    std::vector<int> ranks;
    for (int rank = 0; rank < parent.size(); ++rank)
      if (parent.clique.state(rank).splits.load(std::memory_order_acquire) < split)
        ranks.push_back(rank);
    return ranks;
  };
  waitForRanks("ncclCommSplit", parent.clique, [&] { return absent().empty(); }, absent);
}

/// Runs what the communicator has on its streams.
void flush(Communicator &communicator) {
  std::vector<StreamHandle> streams;
  {
    NcclLock lock(ncclMutex());
    if (communicator.isAborted || !communicator.hasPending())
      return;
    streams = communicator.streams;
  }
  for (StreamHandle stream : streams)
    if (isStream(stream))
      synchronizeStream(stream);
}

void leave(const std::shared_ptr<Communicator> &communicator, RankPhase phase) {
  NcclLock lock(ncclMutex());
  communicator->isDestroyed = true;
  communicator->clique.own().phase.store(int32_t(phase), std::memory_order_release);
  auto &all = communicators();
  all.erase(std::find(all.begin(), all.end(), communicator));
}

} // namespace

Result ncclGetUniqueId(UniqueId *id) {
  if (!id)
    return noteError(nullptr, InvalidArgument, "ncclGetUniqueId: no place for the id");
  std::string name = Clique::createSegment();
  std::memset(id->internal, 0, sizeof(id->internal));
  std::memcpy(id->internal, name.data(), std::min(name.size(), sizeof(id->internal) - 1));
  return Success;
}

Result ncclCommInitRank(Comm *comm, int ranks, UniqueId id, int rank) {
  return initRank(comm, ranks, id, rank, nullptr, "ncclCommInitRank");
}

Result ncclCommInitRankConfig(Comm *comm, int ranks, UniqueId id, int rank, Config *config) {
  return initRank(comm, ranks, id, rank, config, "ncclCommInitRankConfig");
}

Result ncclCommSplit(Comm comm, int color, int key, Comm *created, Config *config) {
  std::shared_ptr<Communicator> parent = findCommunicator(comm);
  if (!parent || !created)
    return noteError(nullptr, InvalidArgument, "ncclCommSplit: a communicator is null");
  if (color < 0 && color != splitNoColor)
    return noteError(parent.get(), InvalidArgument, text("ncclCommSplit: color ", color));
  if (Result result = checkConfig(config); result != Success)
    return result;
  uint64_t split = ++parent->splits;
  agreeOnSplit(*parent, split, color, key);
  *created = nullptr;
  if (color == splitNoColor)
    return Success;
  std::vector<Member> members = membersOf(*parent, split, color);
  auto own = std::find_if(members.begin(), members.end(),
                          [&](const Member &member) { return member.rank == parent->rank(); });
  std::string name = text(parent->clique.name(), "-", split, ".", color);
  auto made = std::make_shared<Communicator>();
  made->device = parent->device;
  made->title = titleOf(config, name, static_cast<int>(members.size()));
  return join(created, made, "ncclCommSplit", name, static_cast<int>(members.size()),
              static_cast<int>(own - members.begin()), true);
}

Result ncclCommFinalize(Comm comm) {
  std::shared_ptr<Communicator> communicator = findCommunicator(comm);
  if (!communicator)
    return noteError(nullptr, InvalidArgument, "ncclCommFinalize: the communicator is null");
  if (communicator->isFinalized)
    return noteError(communicator.get(), InvalidUsage, "ncclCommFinalize: called twice");
  flush(*communicator);
  communicator->isFinalized = true;
  return Success;
}

Result ncclCommDestroy(Comm comm) {
  std::shared_ptr<Communicator> communicator = findCommunicator(comm);
  if (!communicator)
    return Success; // as the vendor's library
  flush(*communicator);
  leave(communicator, RankPhase::Left);
  return Success;
}

Result ncclCommAbort(Comm comm) {
  std::shared_ptr<Communicator> communicator = findCommunicator(comm);
  if (!communicator)
    return Success;
  {
    NcclLock lock(ncclMutex());
    communicator->isAborted = true;
  }
  leave(communicator, RankPhase::Aborted);
  return Success;
}

Result ncclCommCount(Comm comm, int *count) {
  std::shared_ptr<Communicator> communicator = findCommunicator(comm);
  if (!communicator || !count)
    return noteError(nullptr, InvalidArgument, "ncclCommCount: an argument is null");
  *count = communicator->size();
  return Success;
}

Result ncclCommUserRank(Comm comm, int *rank) {
  std::shared_ptr<Communicator> communicator = findCommunicator(comm);
  if (!communicator || !rank)
    return noteError(nullptr, InvalidArgument, "ncclCommUserRank: an argument is null");
  *rank = communicator->rank();
  return Success;
}

Result ncclCommCuDevice(Comm comm, int *device) {
  std::shared_ptr<Communicator> communicator = findCommunicator(comm);
  if (!communicator || !device)
    return noteError(nullptr, InvalidArgument, "ncclCommCuDevice: an argument is null");
  *device = communicator->device;
  return Success;
}

Result ncclCommGetAsyncError(Comm comm, Result *error) {
  std::shared_ptr<Communicator> communicator = findCommunicator(comm);
  if (!communicator || !error)
    return noteError(nullptr, InvalidArgument, "ncclCommGetAsyncError: an argument is null");
  NcclLock lock(ncclMutex());
  if (communicator->asyncError == Success)
    hasLostRanks(*communicator);
  *error = communicator->asyncError;
  return Success;
}

const char *ncclGetLastError(Comm comm) {
  std::shared_ptr<Communicator> communicator = findCommunicator(comm);
  return communicator ? communicator->lastError.c_str() : threadError();
}

} // namespace ulsc::nccl
