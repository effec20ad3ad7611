//===- ProofTest.cpp - The proof of communication against runs ------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Tables.h"

#include "ulsc/CommunicationProof.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace ulsc;
using namespace ulsc::pipeline;
using namespace ulsc::test;
using proof::Communication;
using Kind = Communication::Kind;
using Programs = std::vector<std::vector<proof::Event>>;

namespace {

Communication makeTransfer(const Schedule &schedule, const Flow &flow, const Event &event) {
  bool isSend = event.kind == Event::Kind::StartSend;
  Communication what;
  what.kind = isSend ? Kind::Send : Kind::Receive;
  what.name = isSend ? "send" : "receive";
  what.axes = "pp";
  what.peer = schedule.rankOf[isSend ? flow.to.front().chunk : flow.from.chunk];
  what.operands = "4xf32";
  what.source = "layer." + std::to_string(flow.from.chunk);
  what.chunk = flow.from.chunk;
  what.microbatch = event.microbatch;
  return what;
}

Communication makeCollective(std::string axes, bool joinsStages, std::string source) {
  return {Kind::Collective, "all_reduce sum", std::move(axes), joinsStages, -1, "f32",
          std::move(source)};
}

/// The ranks' events as the compiler writes them down: each start takes the first slot that is
/// free.
Programs getPrograms(const Schedule &schedule) {
  std::vector<Flow> flows = getFlows(schedule);
  Programs programs;
  for (const std::vector<Event> &events : planTransfers(schedule, flows, {})) {
    std::vector<proof::Event> &program = programs.emplace_back();
    std::map<std::pair<int64_t, int64_t>, int64_t> slots;
    std::set<int64_t> busy;
    for (const Event &event : events) {
      if (event.kind == Event::Kind::Compute)
        continue;
      auto key = std::pair(event.flow, event.microbatch);
      bool isStart =
          event.kind == Event::Kind::StartSend || event.kind == Event::Kind::StartReceive;
      if (isStart) {
        int64_t slot = 0;
        while (busy.count(slot))
          ++slot;
        busy.insert(slots[key] = slot);
        program.push_back({true, slot, makeTransfer(schedule, flows[event.flow], event)});
      } else {
        busy.erase(slots[key]);
        program.push_back({false, slots[key], {}});
      }
    }
    program.push_back({true, 0, makeCollective("pp", /*joinsStages=*/true, "norm")});
    program.push_back({false, 0, {}});
  }
  return programs;
}

TEST(CommunicationProof, BuiltInSchedulesAreProved) {
  int64_t proved = 0;
  for (llvm::StringRef name : getScheduleNames())
    for (int64_t v = 1; v <= 4; ++v)
      for (int64_t p = 1; p <= 8; ++p)
        for (int64_t m = 1; m <= 16; ++m) {
          std::string problem;
          std::optional<Schedule> schedule = makeSchedule(name, {p, m, v}, problem);
          bool isLegal = name == "interleaved" ? m % p == 0 : v == (name == "zbv" ? 2 : 1);
          ASSERT_EQ(schedule.has_value(), isLegal)
              << name.str() << " p=" << p << " m=" << m << " V=" << v << " " << problem;
          if (!schedule)
            continue;
          EXPECT_EQ(proof::checkCommunication(getPrograms(*schedule)), "")
              << name.str() << " p=" << p << " m=" << m << " V=" << v;
          ++proved;
        }
  EXPECT_EQ(proved, 5 * 128 + 4 * (16 + 8 + 5 + 4 + 3 + 2 + 2 + 2));
}

//===---------------------------------------------------------------------------------------===//
// Programs that run
//===---------------------------------------------------------------------------------------===//

/// Runs programs, the ranks in a random order, and shares nothing with the proof but
/// the names of things. Messages of two
/// ranks match by their order, and a send is complete when its receive has started. Each group of
/// ranks matches its collectives by the order of starts and, for what waits issue, of waits; ranks
/// launch a collective between stages together.
class Machine {
public:
  Machine(const Programs &programs, std::mt19937_64 &random)
      : programs(programs), ranks(programs.size()), random(random) {}

  /// Whether all ranks come to their end without an error.
  bool run() {
    std::vector<size_t> order;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      order.push_back(rank);
    for (bool progresses = true; progresses && !hasError;) {
      progresses = false;
      std::shuffle(order.begin(), order.end(), random);
      for (size_t rank : order) {
        bool isBefore = ranks[rank].next < programs[rank].size();
        if (isBefore && !hasError && step(rank, programs[rank][ranks[rank].next])) {
          ++ranks[rank].next;
          ranks[rank].isInside = false;
          progresses = true;
        }
      }
    }
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      hasError |= ranks[rank].next < programs[rank].size() || !ranks[rank].slots.empty();
    return !hasError;
  }

private:
  struct Pending {
    Communication what;
    size_t number;
  };
  struct Rank {
    size_t next = 0;
    /// Whether it has begun the event at `next`, but has to wait in it.
    bool isInside = false;
    std::map<int64_t, Pending> slots;
  };
  struct Channel {
    std::vector<Communication> sent, received;
  };
  struct Group {
    std::map<size_t, std::vector<std::string>> started, awaited;
  };

  bool step(size_t rank, const proof::Event &event) {
    Rank &own = ranks[rank];
    auto it = own.slots.find(event.slot);
    if (event.isStart && it != own.slots.end() && !own.isInside)
      return fail();
    if (!event.isStart && it == own.slots.end())
      return fail();
    return event.isStart ? start(rank, event) : wait(rank, it);
  }

  bool start(size_t rank, const proof::Event &event) {
    const Communication &what = event.what;
    Rank &own = ranks[rank];
    if (what.kind != Kind::Collective) {
      bool isSend = what.kind == Kind::Send;
      size_t peer = what.peer;
      Channel &channel = channels[isSend ? std::pair(rank, peer) : std::pair(peer, rank)];
      auto &mine = isSend ? channel.sent : channel.received;
      auto &others = isSend ? channel.received : channel.sent;
      own.slots[event.slot] = {what, mine.size()};
      mine.push_back(what);
      if (others.size() >= mine.size() && !isSame(what, others[mine.size() - 1]))
        return fail();
      return true;
    }
    Group &group = groups[what.axes];
    if (!own.isInside)
      own.slots[event.slot] = {what, what.joinsStages ? group.started[rank].size() : 0};
    if (!what.joinsStages)
      return true;
    if (!own.isInside)
      group.started[rank].push_back(proof::describe(what));
    own.isInside = true;
    return haveAll(group.started, group.started[rank].size());
  }

  bool wait(size_t rank, std::map<int64_t, Pending>::iterator it) {
    Rank &own = ranks[rank];
    const auto &[what, number] = it->second;
    if (what.kind == Kind::Collective && what.joinsStages) {
      Group &group = groups[what.axes];
      if (!own.isInside)
        group.awaited[rank].push_back(std::to_string(number));
      own.isInside = true;
      if (!haveAll(group.awaited, group.awaited[rank].size()))
        return false;
    } else if (what.kind != Kind::Collective) {
      bool isSend = what.kind == Kind::Send;
      size_t peer = what.peer;
      Channel &channel = channels[isSend ? std::pair(rank, peer) : std::pair(peer, rank)];
      if ((isSend ? channel.received : channel.sent).size() <= number)
        return false;
    }
    own.slots.erase(it);
    return true;
  }

  bool haveAll(std::map<size_t, std::vector<std::string>> &lists, size_t count) {
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      if (lists[rank].size() < count)
        return false;
    for (size_t rank = 1; rank < ranks.size(); ++rank)
      if (lists[rank][count - 1] != lists[0][count - 1])
        return fail();
    return true;
  }

  static bool isSame(const Communication &a, const Communication &b) {
    return a.operands == b.operands && a.chunk == b.chunk && a.microbatch == b.microbatch;
  }

  bool fail() {
    hasError = true;
    return false;
  }

  const Programs &programs;
  std::vector<Rank> ranks;
  std::mt19937_64 &random;
  std::map<std::pair<size_t, size_t>, Channel> channels;
  std::map<std::string, Group> groups;
  bool hasError = false;
};

/// A wait right behind its start.
void hastenWait(std::vector<proof::Event> &program, size_t place) {
  proof::Event wait = program[place];
  size_t start = place;
  while (start > 0 && (!program[start].isStart || program[start].slot != wait.slot))
    --start;
  if (wait.isStart || !program[start].isStart || program[start].slot != wait.slot)
    return;
  program.erase(program.begin() + place);
  program.insert(program.begin() + start + 1, wait);
}

/// One fault, or what looks like one.
void change(Programs &programs, std::mt19937_64 &random) {
  auto &program = programs[random() % programs.size()];
  if (program.empty())
    return;
  size_t place = random() % program.size(), other = random() % program.size();
  proof::Event &event = program[place];
  switch (random() % 14) {
  case 0:
    return std::swap(program[place], program[std::min(place + 1, program.size() - 1)]);
  case 1: {
    proof::Event moved = event;
    program.erase(program.begin() + place);
    program.insert(program.begin() + std::min(other, program.size()), moved);
    return;
  }
  case 2:
    program.erase(program.begin() + place);
    return;
  case 3:
    program.insert(program.begin() + other, program[place]);
    return;
  case 4:
    event.what.operands = "4xbf16";
    return;
  case 5:
    event.what.peer = int64_t(random() % (programs.size() + 1));
    return;
  case 6:
    event.slot += int64_t(random() % 3) - 1;
    return;
  case 7:
    event.what.microbatch += 1;
    return;
  case 8:
    return std::swap(event.what, program[other].what);
  default:
    return hastenWait(program, place);
  }
}

/// A built-in schedule's programs with collectives inside stages and more between them.
Programs drawPrograms(std::mt19937_64 &random) {
  std::string problem;
  std::optional<Schedule> schedule;
  while (!schedule) {
    llvm::StringRef name = getScheduleNames()[random() % getScheduleNames().size()];
    Shape shape{2 + int64_t(random() % 3), 1 + int64_t(random() % 4), 1 + int64_t(random() % 2)};
    schedule = makeSchedule(name, shape, problem);
  }
  Programs programs = getPrograms(*schedule);
  uint64_t more = random() % 3;
  bool isOverlapped = random() % 2;
  for (auto &program : programs) {
    for (uint64_t i = 0; i < more; ++i)
      program.push_back(
          {true, int64_t(20 + i),
           makeCollective(i ? "pp+dp" : "pp", /*joinsStages=*/true, "sum." + std::to_string(i))});
    for (uint64_t i = 0; i < more; ++i)
      program.push_back({false, int64_t(20 + (isOverlapped ? more - 1 - i : i)), {}});
    size_t place = random() % program.size();
    program.insert(
        program.begin() + place,
        {{true, 30, makeCollective("dp", /*joinsStages=*/false, "gradient")}, {false, 30, {}}});
  }
  return programs;
}

TEST(CommunicationProof, RandomProgramsAreAcceptedWhereTheyRun) {
  std::mt19937_64 random(41);
  int64_t accepted = 0, hung = 0;
  for (int64_t i = 0; i < 10000; ++i) {
    Programs programs = drawPrograms(random);
    for (uint64_t changes = random() % 4; changes > 0; --changes)
      change(programs, random);
    std::string problem = proof::checkCommunication(programs);
    bool runs = Machine(programs, random).run();
    EXPECT_EQ(problem.empty(), runs) << "program " << i << ": " << problem;
    accepted += problem.empty();
    hung += problem.rfind("stages wait for each other", 0) == 0;
  }
  EXPECT_GT(accepted, 2500);
  EXPECT_LT(accepted, 7500);
  EXPECT_GT(hung, 100);
}

} // namespace
