// One rank's communicator: which launches it has made, in which order they run, how far the other
// ranks are.
//
// A launch is announced to all ranks when it is queued, so that mismatches are found before
// anything runs. It arrives when it heads its stream and all earlier launches of the communicator
// have run: then its contributions lie in shared memory. It is ready when the other ranks have
// arrived, too.
#ifndef ULSC_RUNTIME_SIMULATOR_NCCL_COMMUNICATOR_H
#define ULSC_RUNTIME_SIMULATOR_NCCL_COMMUNICATOR_H

#include "simulator/core/operation.h"
#include "simulator/core/streams.h"
#include "simulator/nccl/clique.h"
#include "simulator/nccl/rank_log.h"

#include <memory>
#include <mutex>
#include <vector>

namespace ulsc::simulator {

class Communicator;

/// One call as the program made it. `record` lacks what only the launch gives it.
struct Call {
  CallRecord record{};
  const void *send = nullptr;
  void *receive = nullptr;
};

/// A launch of a graph, or the only one, of a captured or enqueued group of calls.
struct LaunchInstance {
  uint64_t firstRecord = 0;
  bool hasArrived = false;
  bool fails = false; ///< as ULSC_SIMULATOR_NCCL_ERROR wants: it never runs
};

/// Calls of one group on one communicator: one operation of a stream.
struct Launch {
  std::shared_ptr<Communicator> communicator;
  std::vector<Call> calls;
  std::string streamName;
  std::deque<LaunchInstance> instances; ///< queued and not yet run, in order
};

/// Guards all state of this library. Taken inside the device's lock, never around it.
std::recursive_mutex &ncclMutex();
using NcclLock = std::lock_guard<std::recursive_mutex>;

class Communicator : public std::enable_shared_from_this<Communicator> {
public:
  Clique clique;
  std::string title; ///< for reports: "communicator 'tp' of 4 ranks"
  int device = 0;
  uint64_t splits = 0;
  bool isAborted = false, isDestroyed = false, isFinalized = false;
  nccl::Result asyncError = nccl::Success;
  std::string lastError;
  /// Streams on which launches were made, for a flush.
  std::vector<StreamHandle> streams;

  int rank() const { return clique.ownRank(); }
  int size() const { return clique.size(); }
  /// Once the clique is complete.
  void start();

  // The three moments of a launch: see the top of the file.
  void announce(const std::shared_ptr<Launch> &launch, const Operation &operation);
  bool isReady(Launch &launch);
  void run(Launch &launch);

  /// Reads what other ranks have announced, and compares it with what this one has.
  void readLogs();
  const RankLog &log(int other) const { return logs[static_cast<size_t>(other)]; }
  uint64_t launched() const { return collectives; }
  bool hasPending() const { return !order.empty(); }

  /// Ranks whose part is missing for the first launch that hasn't run.
  std::vector<int> missingRanks() const;
  /// Whether the rank needs for the launch that holds its record `index` something that `other` can
  /// only do after its own first unfinished launch.
  bool waitsFor(int waiting, int other) const;
  /// The record a rank is at, null when all it launched has run.
  const CallRecord *current(int other) const;

private:
  void append(CallRecord record, const std::string &source);
  void arrive(Launch &launch, LaunchInstance &instance);
  uint64_t place(const void *data, uint64_t bytes, uint64_t record);
  /// Whether all ranks that need this rank's record have run their own.
  bool isConsumed(const CallRecord &record) const;
  /// Whether this rank's match of another's record has been made, and removed from its log.
  bool isForgotten(const CallRecord &record, int other) const;
  void forgetOldRecords();
  CallRecord matchOf(const CallRecord &record, int other) const;
  void exchange(const Call &call, const CallRecord &record);

  std::vector<RankLog> logs;         // by rank, this one's included
  std::vector<uint64_t> messages[2]; // sends to, receives from each rank
  uint64_t collectives = 0, launches = 0;
  std::deque<Launch *> order; // launches with instances, in launch order
  struct Placed {
    uint64_t record, offset, bytes;
  };
  std::deque<Placed> placed; // contributions in the memory file
  uint64_t placedEnd = 0, discardedLog = 0;
};

/// All communicators of the process that live. Valid under ncclMutex().
std::vector<std::shared_ptr<Communicator>> &communicators();

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_NCCL_COMMUNICATOR_H
