//===- CommunicationProof.cpp - That ranks' communication comes to an end ---------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/CommunicationProof.h"

#include <map>
#include <optional>

using namespace ulsc;
using namespace ulsc::proof;

static std::string describe(const Communication &what) {
  std::string text = what.name + " over " + what.axes + " of " + what.operands;
  if (!what.source.empty())
    text += " at " + what.source;
  if (what.chunk >= 0)
    text += ", chunk " + std::to_string(what.chunk);
  if (what.microbatch >= 0)
    text += ", microbatch " + std::to_string(what.microbatch);
  return text;
}

static std::string stageText(int64_t stage) { return "stage " + std::to_string(stage); }

/// Whether a receive, or a collective on another stage, is of what the other side has.
static bool agree(const Communication &a, const Communication &b) {
  return a.axes == b.axes && a.operands == b.operands &&
         (a.kind != Communication::Kind::Collective || a.name == b.name);
}

namespace {
class Prover {
public:
  explicit Prover(llvm::ArrayRef<std::vector<Event>> programs) : programs(programs) {}

  std::string run() {
    collect();
    if (problem.empty())
      matchTransfers();
    if (problem.empty())
      matchCollectives();
    if (problem.empty())
      follow();
    return problem;
  }

private:
  using Kind = Communication::Kind;
  using Channel = std::pair<int64_t, int64_t>;
  using Started = std::vector<const Communication *>;

  /// Slots, and the lists of what each stage starts.
  void collect() {
    joint.resize(programs.size());
    for (int64_t stage = 0; stage < int64_t(programs.size()); ++stage) {
      std::map<int64_t, const Communication *> busy;
      for (const Event &event : programs[stage]) {
        auto it = busy.find(event.slot);
        if (event.isStart && it != busy.end())
          return fail(stageText(stage) + " starts " + describe(event.what) + " in slot " +
                      std::to_string(event.slot) + ", which still holds " + describe(*it->second));
        if (!event.isStart && it == busy.end())
          return fail(stageText(stage) + " waits for slot " + std::to_string(event.slot) +
                      ", in which nothing was started");
        if (!event.isStart) {
          busy.erase(it);
          continue;
        }
        busy[event.slot] = &event.what;
        note(stage, event.what);
      }
      if (!busy.empty())
        return fail(stageText(stage) + " never waits for " + describe(*busy.begin()->second));
    }
  }

  void note(int64_t stage, const Communication &what) {
    if (what.kind == Kind::Send)
      sends[{stage, what.peer}].push_back(&what);
    else if (what.kind == Kind::Receive)
      receives[{what.peer, stage}].push_back(&what);
    else if (what.joinsStages)
      joint[stage].push_back(&what);
  }

  void matchTransfers() {
    for (auto &[channel, list] : sends)
      receives[channel];
    for (auto &[channel, list] : receives) {
      const Started &sent = sends[channel];
      std::string from = stageText(channel.first), to = stageText(channel.second);
      for (size_t i = 0; i < std::max(sent.size(), list.size()); ++i) {
        if (i >= list.size())
          return fail(from + "'s " + describe(*sent[i]) + " for " + to +
                      " is never received: " + to + " receives " + std::to_string(list.size()) +
                      " of its " + std::to_string(sent.size()) + " sends");
        if (i >= sent.size())
          return fail(to + "'s " + describe(*list[i]) + " from " + from +
                      " is never sent: " + from + " sends " + std::to_string(sent.size()) +
                      " of its " + std::to_string(list.size()) + " receives");
        bool isOfOther =
            sent[i]->chunk != list[i]->chunk || sent[i]->microbatch != list[i]->microbatch;
        if (!agree(*sent[i], *list[i]) || isOfOther)
          return fail(from + "'s send number " + std::to_string(i) + " to " + to + " is " +
                      describe(*sent[i]) + ", but " + to + "'s receive number " +
                      std::to_string(i) + " from it is " + describe(*list[i]));
      }
    }
  }

  /// One order of all collectives that join stages: those of one communicator must match, and those
  /// of two that share ranks must not cross.
  void matchCollectives() {
    for (size_t stage = 1; stage < joint.size(); ++stage)
      for (size_t i = 0; i < std::max(joint[0].size(), joint[stage].size()); ++i) {
        std::string other = stageText(stage);
        if (i >= joint[0].size() || i >= joint[stage].size()) {
          bool isFirst = i < joint[0].size();
          const Communication &what = isFirst ? *joint[0][i] : *joint[stage][i];
          return fail(stageText(isFirst ? 0 : stage) + " starts " + describe(what) +
                      " as collective number " + std::to_string(i) + " between stages, " +
                      (isFirst ? other : "stage 0") + " has no such collective");
        }
        if (!agree(*joint[0][i], *joint[stage][i]))
          return fail("collective number " + std::to_string(i) + " between stages is " +
                      describe(*joint[0][i]) + " on stage 0, but " + describe(*joint[stage][i]) +
                      " on " + other);
      }
  }

  /// Where each stage is, and what it has started.
  struct Place {
    size_t next = 0, collectives = 0;
    /// Collectives between stages whose waits it has come to.
    size_t arrived = 0;
    std::map<int64_t, size_t> sent, received;
    /// By slot: the communication and its number on its channel, or among the collectives.
    std::map<int64_t, std::pair<const Communication *, size_t>> slots;
  };

  bool isComplete(const Communication &what, size_t number) {
    if (what.kind == Kind::Collective)
      return !what.joinsStages ||
             std::all_of(places.begin(), places.end(),
                         [&](const Place &place) { return place.arrived > number; });
    Place &other = places[what.peer];
    return (what.kind == Kind::Send ? other.received : other.sent)[current] > number;
  }

  bool advance(Place &place) {
    const Event &event = programs[current][place.next];
    if (!event.isStart) {
      auto it = place.slots.find(event.slot);
      if (it->second.first->joinsStages && it->second.first->kind == Kind::Collective)
        place.arrived = std::max(place.arrived, it->second.second + 1);
      if (!isComplete(*it->second.first, it->second.second))
        return false;
      place.slots.erase(it);
    } else if (event.what.kind == Kind::Send) {
      place.slots[event.slot] = {&event.what, place.sent[event.what.peer]++};
    } else if (event.what.kind == Kind::Receive) {
      place.slots[event.slot] = {&event.what, place.received[event.what.peer]++};
    } else {
      place.slots[event.slot] = {&event.what, event.what.joinsStages ? place.collectives++ : 0};
    }
    ++place.next;
    return true;
  }

  void follow() {
    places.resize(programs.size());
    for (bool progresses = true; progresses;) {
      progresses = false;
      for (current = 0; current < int64_t(programs.size()); ++current)
        while (places[current].next < programs[current].size() && advance(places[current]))
          progresses = true;
    }
    std::string waits;
    for (size_t stage = 0; stage < programs.size(); ++stage) {
      Place &place = places[stage];
      if (place.next == programs[stage].size())
        continue;
      const auto &[what, number] = place.slots[programs[stage][place.next].slot];
      waits += (waits.empty() ? "" : "; ") + stageText(stage) + " waits for its " + describe(*what);
      if (what->kind != Kind::Collective)
        waits += (what->kind == Kind::Send ? " to " : " from ") + stageText(what->peer);
    }
    if (!waits.empty())
      fail("stages wait for each other: " + waits);
  }

  void fail(std::string text) { problem = std::move(text); }

  llvm::ArrayRef<std::vector<Event>> programs;
  std::string problem;
  std::map<Channel, Started> sends, receives;
  std::vector<Started> joint;
  std::vector<Place> places;
  int64_t current = 0;
};
} // namespace

std::string proof::checkCommunication(llvm::ArrayRef<std::vector<Event>> stages) {
  return Prover(stages).run();
}
