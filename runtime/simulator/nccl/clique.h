// The shared memory of a communicator's ranks: processes (or threads) of one machine.
//
// A small POSIX segment, named by the unique id, holds one RankState each; it is unlinked once all
// have joined, so that nothing stays behind. What ranks say and send lies in one memory file per
// rank, which the others open through /proc: such files need no name, vanish with their users, and
// are not bound by the size of /dev/shm.
#ifndef ULSC_RUNTIME_SIMULATOR_NCCL_CLIQUE_H
#define ULSC_RUNTIME_SIMULATOR_NCCL_CLIQUE_H

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace ulsc::simulator {

constexpr int mostRanks = 256;

enum class RankPhase : int32_t { Absent, Joining, Joined, Left, Aborted };

/// Zero bytes are its initial state: whoever opens the segment first needs no privilege.
struct RankState {
  std::atomic<int32_t> phase;
  int32_t process;
  uint64_t startTime; ///< of the process, so that a reused id is noticed
  int32_t file;       ///< the memory file's descriptor in that process
  std::atomic<uint64_t> published, arrived,
      completed;                         ///< records of its log: prefixes of one another
  std::atomic<uint64_t> read[mostRanks]; ///< how far it has read each rank's log
  std::atomic<int32_t> hasFault;
  char fault[4096]; ///< the report that ended it, for the others
  std::atomic<uint64_t> splits;
  std::atomic<int32_t> color[2], key[2]; ///< of its latest split and the one before
};

struct SharedState {
  std::atomic<int32_t> ranks;  ///< 0 until the first has joined
  std::atomic<int32_t> opened; ///< ranks that have opened all memory files
  RankState rank[mostRanks];
};

class Clique {
public:
  /// Makes the segment of a new communicator and returns its name; sweeps away those that processes
  /// left behind which died before all had joined.
  static std::string createSegment();

  /// Opens the segment and takes the rank's place. `isNew`: ranks of a split agree on a name
  /// without having made the segment. False, with `error`, where there is no such segment.
  bool join(const std::string &name, int ranks, int rank, bool isNew, std::string &error);
  /// Once all have joined, opens their files. True when all ranks have done so. Reports a rank that
  /// died meanwhile.
  bool tryComplete();
  /// Ranks that have not joined yet, for reports.
  std::vector<int> absentRanks() const;
  /// Takes the segment's name away, for a rank that gives up.
  void unlink() const;
  ~Clique();

  RankState &state(int rank) const { return shared->rank[rank]; }
  RankState &own() const { return shared->rank[rank]; }
  int size() const { return ranks; }
  int ownRank() const { return rank; }
  const std::string &name() const { return segmentName; }
  /// The same on all ranks.
  uint64_t id() const;

  /// Whether the rank's process lives.
  bool isAlive(int rank) const;

  void readFile(int rank, uint64_t offset, void *target, uint64_t bytes) const;
  void writeFile(uint64_t offset, const void *source, uint64_t bytes) const;
  /// Gives back memory of the own file.
  void discard(uint64_t offset, uint64_t bytes) const;

private:
  void takePlace();

  std::string segmentName;
  SharedState *shared = nullptr;
  int segmentFile = -1;
  int ranks = 0, rank = 0;
  bool hasOpened = false, isComplete = false;
  std::vector<int> files; // by rank
};

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_NCCL_CLIQUE_H
