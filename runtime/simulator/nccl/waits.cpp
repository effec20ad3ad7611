// Waits between ranks that can't end.
#include "simulator/nccl/checks.h"

#include "simulator/core/report.h"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace ulsc::simulator {

namespace {

RankPhase phaseOf(const Clique &clique, int rank) {
  return RankPhase(clique.state(rank).phase.load(std::memory_order_acquire));
}

/// What a rank's part in the communicator is at: "waits in …", "has come to …", "has run all …".
std::string stateOf(const Communicator &communicator, int rank) {
  const RankState &state = communicator.clique.state(rank);
  uint64_t published = state.published.load(), arrived = state.arrived.load(),
           completed = state.completed.load();
  std::string counts = text(completed, " of ", published, " calls have run");
  const CallRecord *current = communicator.current(rank);
  std::string result;
  if (!current)
    result = completed < published ? "calls that are not known here yet"
                                   : "nothing launched that has not run";
  else
    result =
        text(arrived > completed ? "waits in " : "its stream has not come to ", describe(*current));
  result += "; " + counts;
  if (phaseOf(communicator.clique, rank) == RankPhase::Left)
    result += "; has destroyed the communicator";
  else if (phaseOf(communicator.clique, rank) == RankPhase::Aborted)
    result += "; has aborted the communicator";
  else if (state.hasFault.load())
    result += text("; ended by its own report: ", state.fault);
  else if (!communicator.clique.isAlive(rank))
    result += text("; process ", state.process, " has ended");
  return result;
}

void addStates(const Communicator &communicator, Finding &finding) {
  finding.details.push_back({"communicator", communicator.title});
  for (int rank = 0; rank < communicator.size(); ++rank)
    finding.details.push_back(
        {text("rank ", rank, rank == communicator.rank() ? " (this one)" : ""),
         stateOf(communicator, rank)});
}

/// How far all ranks are: changes whenever a wait may have ended or begun.
uint64_t progressOf(const Communicator &communicator) {
  uint64_t sum = 0;
  for (int rank = 0; rank < communicator.size(); ++rank)
    sum += communicator.clique.state(rank).completed.load(std::memory_order_acquire);
  return sum;
}

/// Whether some ranks wait for each other in a circle: those that are left when ranks that wait for
/// none of the others have been taken away, again and again.
bool hasCircle(const Communicator &communicator) {
  auto size = static_cast<size_t>(communicator.size());
  std::vector<std::vector<int>> waits(size);
  for (size_t rank = 0; rank < size; ++rank)
    for (int other = 0; other < communicator.size(); ++other)
      if (communicator.waitsFor(static_cast<int>(rank), other))
        waits[rank].push_back(other);
  std::vector<bool> isFree(size, false);
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    for (size_t rank = 0; rank < size; ++rank) {
      bool isWaiting = std::any_of(waits[rank].begin(), waits[rank].end(),
                                   [&](int other) { return !isFree[static_cast<size_t>(other)]; });
      if (!isFree[rank] && !isWaiting)
        isFree[rank] = hasChanged = true;
    }
  }
  return std::find(isFree.begin(), isFree.end(), false) != isFree.end();
}

void checkCircle(const Communicator &communicator) {
  uint64_t before = progressOf(communicator);
  // Seen while ranks went on, a circle may be one of moments that never were together.
  if (!hasCircle(communicator) || progressOf(communicator) != before)
    return;
  Finding finding{"deadlock",
                  "NCCL: ranks wait for each other in a circle: launches of a communicator run in "
                  "the order in which they are made, whatever their stream",
                  {},
                  "matching calls in one order on all ranks; sends and receives that need each "
                  "other in one group"};
  addStates(communicator, finding);
  report(finding);
}

/// Whether one of the ranks that this one waits for is no longer there.
bool mayMissGone(const Communicator &communicator) {
  std::vector<int> missing = communicator.missingRanks();
  return firstDead(communicator.clique, missing) >= 0 ||
         std::any_of(missing.begin(), missing.end(), [&](int other) {
           return phaseOf(communicator.clique, other) != RankPhase::Joined;
         });
}

void checkGone(const Communicator &communicator) {
  for (int other : communicator.missingRanks()) {
    const RankState &state = communicator.clique.state(other);
    RankPhase phase = phaseOf(communicator.clique, other);
    bool isGone = phase == RankPhase::Left || phase == RankPhase::Aborted ||
                  state.hasFault.load() || !communicator.clique.isAlive(other);
    if (!isGone)
      continue;
    Finding finding;
    finding.kind = "missing-rank";
    const char *how = phase == RankPhase::Left      ? "has destroyed the communicator"
                      : phase == RankPhase::Aborted ? "has aborted the communicator"
                      : state.hasFault.load()       ? "was ended by a report of its own"
                                                    : "has ended";
    finding.summary = text("NCCL: rank ", other, " is missing: it ", how,
                           " before it came to what this rank waits for");
    addStates(communicator, finding);
    finding.legal = "all ranks live and take part until the last call of a communicator has run";
    report(finding);
  }
}

} // namespace

void checkWaits() {
  // Called up to thousands of times a second, and asks /proc.
  static std::atomic<int64_t> lastCheck{0};
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  int64_t milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  if (milliseconds - lastCheck < 10)
    return;
  lastCheck = milliseconds;
  NcclLock lock(ncclMutex());
  // Whether ranks are gone is asked first: what they announced before is read and compared
  // afterwards, on all communicators, before their absence is reported.
  std::vector<Communicator *> withGone;
  for (auto &communicator : communicators())
    if (!communicator->isAborted && communicator->hasPending() && mayMissGone(*communicator))
      withGone.push_back(communicator.get());
  for (auto &communicator : communicators())
    communicator->readLogs();
  for (auto &communicator : communicators())
    if (!communicator->isAborted && communicator->hasPending())
      checkCircle(*communicator);
  for (Communicator *communicator : withGone)
    checkGone(*communicator);
}

std::string describeRanks() {
  NcclLock lock(ncclMutex());
  std::string result;
  for (auto &communicator : communicators()) {
    communicator->readLogs();
    result += text("\n    ", communicator->title);
    for (int rank = 0; rank < communicator->size(); ++rank)
      result += text("\n      rank ", rank, rank == communicator->rank() ? " (this one)" : "", ": ",
                     stateOf(*communicator, rank));
  }
  return result;
}

bool hasLostRanks(Communicator &communicator) {
  for (int other = 0; other < communicator.size(); ++other) {
    RankPhase phase = phaseOf(communicator.clique, other);
    if (phase == RankPhase::Left)
      continue;
    if (phase == RankPhase::Aborted || !communicator.clique.isAlive(other)) {
      communicator.asyncError = nccl::RemoteError;
      communicator.lastError =
          text("rank ", other, phase == RankPhase::Aborted ? " has aborted" : " has ended",
               " (process ", communicator.clique.state(other).process, ")");
      return true;
    }
  }
  return false;
}

int firstDead(const Clique &clique, const std::vector<int> &ranks) {
  for (int rank : ranks)
    if (phaseOf(clique, rank) >= RankPhase::Joined &&
        !clique.isAlive(rank)) // before, it has no process
      return rank;
  return -1;
}

void reportAbsent(const std::string &call, const Clique &clique, const std::vector<int> &absent) {
  clique.unlink();
  Finding finding;
  finding.kind = "missing-rank";
  finding.summary = text("NCCL: ", call, " waits for ranks that don't come");
  for (int rank = 0; rank < clique.size(); ++rank) {
    bool isAbsent = std::find(absent.begin(), absent.end(), rank) != absent.end();
    bool isDead = firstDead(clique, {rank}) >= 0;
    finding.details.push_back(
        {text("rank ", rank, rank == clique.ownRank() ? " (this one)" : ""),
         text(isAbsent ? "has not come" : "is here",
              isDead ? text(", process ", clique.state(rank).process, " has ended") : "")});
  }
  finding.legal = "every rank makes the call, with the same unique id or parent";
  report(finding);
}

} // namespace ulsc::simulator
