// Mismatches and orders, found when calls are announced.
#include "simulator/nccl/checks.h"

#include "simulator/core/report.h"

#include <algorithm>

namespace ulsc::simulator {

namespace {

using Details = std::vector<std::pair<std::string, std::string>>;

std::string rankName(const Communicator &communicator, int rank) {
  return text("rank ", rank, rank == communicator.rank() ? " (this one)" : "");
}

/// What every rank that has come so far announced as this operation.
Details allSides(const Communicator &communicator, const CallRecord &record, int rank) {
  Details details{{"communicator", communicator.title}};
  for (int each = 0; each < communicator.size(); ++each) {
    CallKey key = keyOf(record, rank);
    const RankLog &log = communicator.log(each);
    uint64_t index = log.find(key);
    if (!isCollective(record.kind) && each != rank)
      index = each == record.peer ? log.find(keyOfMatch(record, rank)) : log.end();
    if (index != log.end())
      details.push_back({rankName(communicator, each), describe(log.at(index))});
  }
  return details;
}

void reportMismatch(const Communicator &communicator, const CallRecord &record, int rank,
                    const std::string &why) {
  Finding finding;
  finding.kind = "mismatch";
  finding.summary =
      text("NCCL: ranks don't agree about ", isCollective(record.kind) ? "collective " : "message ",
           record.sequence, ": ", why);
  finding.details = allSides(communicator, record, rank);
  finding.legal =
      "the same calls in the same order and groups on all ranks; a send and its receive "
      "with one count and type";
  report(finding);
}

const Communicator *findCommunicator(uint64_t id) {
  for (auto &each : communicators())
    if (each->clique.id() == id)
      return each.get();
  return nullptr;
}

/// "after 2 collectives of communicator 'tp' of 2 ranks"
std::string orderText(const CallRecord &record, const Neighbour &neighbour) {
  const Communicator *other = findCommunicator(neighbour.communicator);
  return text(describe(record), ", launched after ", neighbour.collectives, " collectives of ",
              other ? other->title : "another communicator");
}

void reportOrder(const Communicator &communicator, const CallRecord &own, const Neighbour &ownCount,
                 const CallRecord &theirs, const Neighbour &theirCount, int other) {
  Finding finding;
  finding.kind = "communicator-order";
  finding.summary = text("NCCL: two communicators are used in different orders on ranks that share "
                         "them: on GPUs each may wait for the other");
  finding.details = {{"communicator", communicator.title},
                     {rankName(communicator, communicator.rank()), orderText(own, ownCount)},
                     {rankName(communicator, other), orderText(theirs, theirCount)}};
  const Communicator *between = findCommunicator(ownCount.communicator);
  uint64_t first = std::min(ownCount.collectives, theirCount.collectives) + 1;
  if (between) {
    const RankLog &log = between->log(between->rank());
    uint64_t index = log.find({0, 0, 0, first});
    if (index != log.end())
      finding.details.push_back(
          {text("on the two sides of it, of ", between->title), describe(log.at(index))});
  }
  finding.legal = "the same order of launches over all communicators on all ranks that share two";
  report(finding);
}

void checkOrder(const Communicator &communicator, const CallRecord &own, const CallRecord &theirs,
                int other) {
  for (uint32_t i = 0; i < own.neighbours; ++i)
    for (uint32_t j = 0; j < theirs.neighbours; ++j)
      if (own.neighbour[i].communicator == theirs.neighbour[j].communicator &&
          own.neighbour[i].collectives != theirs.neighbour[j].collectives)
        reportOrder(communicator, own, own.neighbour[i], theirs, theirs.neighbour[j], other);
}

void compare(const Communicator &communicator, const CallRecord &own, const CallRecord &theirs,
             int other) {
  std::string why = mismatchOf(own, theirs);
  if (!why.empty())
    reportMismatch(communicator, own, communicator.rank(), why);
  checkOrder(communicator, own, theirs, other);
}

} // namespace

void checkAgainstOthers(const Communicator &communicator, const CallRecord &record) {
  for (int other = 0; other < communicator.size(); ++other) {
    if (other == communicator.rank() || (!isCollective(record.kind) && other != record.peer))
      continue;
    const RankLog &log = communicator.log(other);
    uint64_t index = log.find(keyOfMatch(record, communicator.rank()));
    if (index != log.end())
      compare(communicator, record, log.at(index), other);
  }
}

void checkAgainstOwn(const Communicator &communicator, const CallRecord &record, int other) {
  if (!isCollective(record.kind) && record.peer != communicator.rank())
    return;
  const RankLog &log = communicator.log(communicator.rank());
  uint64_t index = log.find(keyOfMatch(record, other));
  if (index != log.end())
    compare(communicator, log.at(index), record, other);
}

void reportDestroyed(const Communicator &communicator, const std::string &call) {
  Finding finding{"dead-communicator",
                  text("NCCL: ", call, " is launched on a communicator that was destroyed"),
                  {{"communicator", communicator.title}},
                  "graphs are not launched after one of their communicators is gone"};
  report(finding);
}

} // namespace ulsc::simulator
