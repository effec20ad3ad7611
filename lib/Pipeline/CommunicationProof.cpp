//===- CommunicationProof.cpp - That ranks' communication comes to an end ---------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/CommunicationProof.h"

#include <algorithm>
#include <map>

using namespace ulsc;
using namespace ulsc::proof;

static std::string stageText(int64_t stage) { return "stage " + std::to_string(stage); }

std::string proof::describe(const Communication &what) {
  std::string text = what.name;
  if (what.kind == Communication::Kind::Collective)
    text += " over " + what.axes;
  else
    text += (what.kind == Communication::Kind::Send ? " to " : " from ") + stageText(what.peer);
  text += " of " + what.operands;
  if (const std::string &place = what.source.empty() ? what.place : what.source; !place.empty())
    text += " at " + place;
  if (what.chunk >= 0)
    text += ", chunk " + std::to_string(what.chunk);
  if (what.microbatch >= 0)
    text += ", microbatch " + std::to_string(what.microbatch);
  return text;
}

/// Whether a collective joins ranks of several stages.
static bool isJoint(const Communication &what) {
  return what.kind == Communication::Kind::Collective && what.joinsStages;
}

/// Whether a receive, or a collective on another stage, is of what the other side has. A transfer's
/// two sides may be of two ops: who makes a value and who takes it.
static bool agree(const Communication &a, const Communication &b) {
  bool isCollective = a.kind == Communication::Kind::Collective;
  return a.axes == b.axes && a.operands == b.operands && a.chunk == b.chunk &&
         a.microbatch == b.microbatch &&
         (!isCollective || (a.name == b.name && a.source == b.source));
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
    awaited.resize(programs.size());
    for (int64_t stage = 0; stage < int64_t(programs.size()); ++stage) {
      std::map<int64_t, const Communication *> busy;
      std::map<int64_t, size_t> numbers;
      for (const Event &event : programs[stage]) {
        auto it = busy.find(event.slot);
        if (event.isStart && it != busy.end())
          return fail(stageText(stage) + " starts " + describe(event.what) + " in slot " +
                      std::to_string(event.slot) + ", which still holds " + describe(*it->second));
        if (!event.isStart && it == busy.end())
          return fail(stageText(stage) + " waits for slot " + std::to_string(event.slot) +
                      ", in which nothing was started");
        if (!event.isStart) {
          if (isJoint(*it->second))
            awaited[stage].push_back(numbers[event.slot]);
          busy.erase(it);
          continue;
        }
        busy[event.slot] = &event.what;
        numbers[event.slot] = joint[stage].size();
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
    else if (isJoint(what))
      joint[stage].push_back(&what);
  }

  void matchTransfers() {
    for (auto &[channel, list] : sends)
      receives[channel];
    for (auto &[channel, list] : receives)
      if (problem.empty())
        matchChannel(channel, sends[channel], list);
  }

  void matchChannel(const Channel &channel, const Started &sent, const Started &received) {
    std::string from = stageText(channel.first), to = stageText(channel.second);
    for (size_t i = 0; i < std::min(sent.size(), received.size()); ++i) {
      const Communication &send = *sent[i], &receive = *received[i];
      if (!agree(send, receive))
        return fail("number " + std::to_string(i) + " of what " + from + " sends to " + to +
                    " is not what is received: " + from + " starts " + describe(send) + ", but " +
                    to + " starts " + describe(receive));
    }
    std::string counts = from + " sends " + std::to_string(sent.size()) + ", " + to + " receives " +
                         std::to_string(received.size());
    if (sent.size() > received.size())
      fail(from + "'s " + describe(*sent[received.size()]) + " is never received: " + counts);
    else if (sent.size() < received.size())
      fail(to + "'s " + describe(*received[sent.size()]) + " is never sent: " + counts);
  }

  /// One order of all collectives that join stages: those of one communicator must match, and those
  /// of two that share ranks must not cross. What waits for them issues must match as well.
  void matchCollectives() {
    for (size_t stage = 1; stage < joint.size() && problem.empty(); ++stage) {
      matchStarts(joint[0], joint[stage], stage);
      for (size_t i = 0; i < awaited[stage].size() && problem.empty(); ++i)
        if (size_t first = awaited[0][i], other = awaited[stage][i]; first != other)
          fail("stage 0 waits for " + describe(*joint[0][first]) + " where " + stageText(stage) +
               " waits for " + describe(*joint[stage][other]) + ": wait number " +
               std::to_string(i) + " for collectives between stages");
    }
  }

  void matchStarts(const Started &first, const Started &other, size_t stage) {
    for (size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
      std::string number = "collective number " + std::to_string(i) + " between stages";
      if (i >= first.size() || i >= other.size()) {
        bool isFirst = i < first.size();
        return fail(stageText(isFirst ? 0 : stage) + " starts " +
                    describe(isFirst ? *first[i] : *other[i]) + " as " + number + ", " +
                    stageText(isFirst ? stage : 0) + " has no such collective");
      }
      if (!agree(*first[i], *other[i]))
        return fail("stage 0 starts " + describe(*first[i]) + " as " + number + ", but " +
                    stageText(stage) + " starts " + describe(*other[i]));
    }
  }

  /// Where each stage is, and what it has started.
  struct Place {
    size_t next = 0;
    /// Collectives between stages that it has started, and waits for them that it has come to.
    size_t started = 0, arrived = 0;
    /// Whether it is past neither of the last ones.
    bool isStarting = false, isArriving = false;
    std::map<int64_t, size_t> sent, received;
    /// By slot: the communication and its number on its channel.
    std::map<int64_t, std::pair<const Communication *, size_t>> slots;
  };

  /// Whether all stages have come as far as `place` among the starts of collectives between stages,
  /// or among the waits for them.
  bool haveAllCome(const Place &place, size_t Place::*count) {
    return std::all_of(places.begin(), places.end(),
                       [&](const Place &other) { return other.*count >= place.*count; });
  }

  bool start(Place &place, const Event &event) {
    const Communication &what = event.what;
    if (what.kind == Kind::Send) {
      place.slots[event.slot] = {&what, place.sent[what.peer]++};
    } else if (what.kind == Kind::Receive) {
      place.slots[event.slot] = {&what, place.received[what.peer]++};
    } else {
      place.slots[event.slot] = {&what, 0};
      if (!isJoint(what))
        return true;
      place.started += !place.isStarting;
      place.isStarting = !haveAllCome(place, &Place::started);
      return !place.isStarting;
    }
    return true;
  }

  bool wait(Place &place, const Event &event) {
    auto it = place.slots.find(event.slot);
    const auto &[what, number] = it->second;
    bool isComplete = true;
    if (isJoint(*what)) {
      place.arrived += !place.isArriving;
      isComplete = haveAllCome(place, &Place::arrived);
      place.isArriving = !isComplete;
    } else if (what->kind != Kind::Collective) {
      Place &other = places[what->peer];
      isComplete = (what->kind == Kind::Send ? other.received : other.sent)[current] > number;
    }
    if (isComplete)
      place.slots.erase(it);
    return isComplete;
  }

  void follow() {
    places.resize(programs.size());
    for (bool progresses = true; progresses;) {
      progresses = false;
      for (current = 0; current < int64_t(programs.size()); ++current) {
        Place &place = places[current];
        for (; place.next < programs[current].size(); ++place.next, progresses = true) {
          const Event &event = programs[current][place.next];
          if (!(event.isStart ? start(place, event) : wait(place, event)))
            break;
        }
      }
    }
    std::string waits;
    for (size_t stage = 0; stage < programs.size(); ++stage) {
      Place &place = places[stage];
      if (place.next == programs[stage].size())
        continue;
      const Event &event = programs[stage][place.next];
      waits += (waits.empty() ? "" : "; ") + stageText(stage) + " waits " +
               (event.isStart ? "until others start " : "for its ") +
               describe(*place.slots[event.slot].first);
    }
    if (!waits.empty())
      fail("stages wait for each other: " + waits);
  }

  void fail(std::string text) { problem = std::move(text); }

  llvm::ArrayRef<std::vector<Event>> programs;
  std::string problem;
  std::map<Channel, Started> sends, receives;
  /// Collectives between stages, by stage: as they are started, and as they are waited for.
  std::vector<Started> joint;
  std::vector<std::vector<size_t>> awaited; ///< numbers in `joint`
  std::vector<Place> places;
  int64_t current = 0;
};
} // namespace

std::string proof::checkCommunication(llvm::ArrayRef<std::vector<Event>> stages) {
  return Prover(stages).run();
}
