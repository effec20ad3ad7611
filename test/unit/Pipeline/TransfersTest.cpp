//===- TransfersTest.cpp - Tables and their transfers, followed event by event --------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Tables.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace ulsc::pipeline;
using namespace ulsc::test;

namespace {

/// Follows the ranks' events. A send is complete when its receive has started; sends and receives
/// of two ranks match by their order; a work finds its values or fails. Independent of how events
/// were planned.
class Follower {
public:
  Follower(const Schedule &schedule, llvm::ArrayRef<Flow> flows,
           const std::vector<std::vector<Event>> &events)
      : schedule(schedule), flows(flows), events(events), next(events.size(), 0) {}

  /// Empty if all ranks come to their end.
  std::string run() {
    for (bool progresses = true; progresses;) {
      progresses = false;
      for (size_t rank = 0; rank < events.size(); ++rank)
        while (next[rank] < events[rank].size() && step(rank, events[rank][next[rank]])) {
          if (!problem.empty())
            return problem;
          ++next[rank];
          progresses = true;
        }
    }
    for (size_t rank = 0; rank < events.size(); ++rank)
      if (next[rank] < events[rank].size())
        return "rank " + std::to_string(rank) + " hangs at event " + std::to_string(next[rank]);
    return problem;
  }

private:
  using Value = std::pair<int64_t, int64_t>; // flow, microbatch
  struct Channel {
    std::vector<Value> sent, received;
  };

  Channel &getChannel(int64_t flow) {
    return channels[{schedule.rankOf[flows[flow].from.chunk],
                     schedule.rankOf[flows[flow].to.front().chunk]}];
  }

  bool step(int64_t rank, const Event &event) {
    Value value{event.flow, event.microbatch};
    switch (event.kind) {
    case Event::Kind::Compute:
      return compute(rank, event.entry);
    case Event::Kind::StartSend:
      if (!made.count(value))
        problem = "sends what is not made";
      getChannel(event.flow).sent.push_back(value);
      return true;
    case Event::Kind::StartReceive:
      getChannel(event.flow).received.push_back(value);
      return true;
    case Event::Kind::WaitSend: {
      Channel &channel = getChannel(event.flow);
      size_t place = llvm::find(channel.sent, value) - channel.sent.begin();
      return place < channel.received.size();
    }
    case Event::Kind::WaitReceive: {
      Channel &channel = getChannel(event.flow);
      size_t place = llvm::find(channel.received, value) - channel.received.begin();
      if (place >= channel.sent.size())
        return false;
      if (channel.sent[place] != value)
        problem = "receives another value than it asked for";
      here.insert(value);
      return true;
    }
    }
    return false;
  }

  /// A work that has a value from another rank must have received it.
  bool compute(int64_t rank, const Entry &entry) {
    bool isForward = entry.work == Work::Forward, isWeight = entry.work == Work::BackwardWeight;
    for (auto [index, flow] : llvm::enumerate(flows)) {
      auto matches = [&](const ChunkWork &work) {
        return !isWeight && work.chunk == entry.chunk && (work.work == Work::Forward) == isForward;
      };
      if (llvm::any_of(flow.to, matches) && !here.count({int64_t(index), entry.microbatch}))
        problem = "works without a value";
      if (matches(flow.from))
        made.insert({int64_t(index), entry.microbatch});
    }
    return true;
  }

  const Schedule &schedule;
  llvm::ArrayRef<Flow> flows;
  const std::vector<std::vector<Event>> &events;
  std::vector<size_t> next;
  std::map<std::pair<int64_t, int64_t>, Channel> channels;
  std::set<Value> made, here;
  std::string problem;
};

std::string follow(const Schedule &schedule) {
  std::vector<Flow> flows = getFlows(schedule);
  return Follower(schedule, flows, planTransfers(schedule, flows, {})).run();
}

TEST(PipelineTransfers, BuiltInSchedulesAreFollowed) {
  for (llvm::StringRef name : getScheduleNames())
    for (int64_t v = 1; v <= 4; ++v)
      for (int64_t p = 1; p <= 8; ++p)
        for (int64_t m = 1; m <= 16; ++m) {
          std::string problem;
          std::optional<Schedule> schedule = makeSchedule(name, {p, m, v}, problem);
          if (schedule)
            EXPECT_EQ(follow(*schedule), "")
                << name.str() << " p=" << p << " m=" << m << " V=" << v;
        }
}

TEST(PipelineTransfers, ReceivesOfTheNextWorkStartOneWorkAhead) {
  std::string problem;
  Schedule schedule = *makeSchedule("1f1b", {2, 3}, problem);
  std::vector<Flow> flows = getFlows(schedule);
  auto events = planTransfers(schedule, flows, {});
  // The second stage computes a backward while the next activation comes, and a forward while its
  // gradient goes.
  std::vector<Event::Kind> kinds;
  for (const Event &event : llvm::ArrayRef(events[1]).take_front(9))
    kinds.push_back(event.kind);
  using Kind = Event::Kind;
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::StartReceive, Kind::WaitReceive, Kind::Compute,
                                      Kind::StartReceive, Kind::Compute, Kind::StartSend,
                                      Kind::WaitReceive, Kind::Compute, Kind::StartReceive}));
}

/// Runs a table as it stands: a work waits for the values it takes, and takes each once. Knows
/// nothing of the check.
std::string runTable(const Schedule &schedule) {
  std::set<std::tuple<bool, int64_t, int64_t>> made, weights;
  std::vector<size_t> next(schedule.ranks.size(), 0);
  auto isHere = [&](bool isForward, int64_t chunk, int64_t i) {
    return made.count({isForward, chunk, i}) > 0;
  };
  int64_t chunks = schedule.shape.getChunks();
  for (bool progresses = true; progresses;) {
    progresses = false;
    for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
      for (; next[rank] < schedule.ranks[rank].size(); ++next[rank], progresses = true) {
        const Entry &e = schedule.ranks[rank][next[rank]];
        if (e.work == Work::Forward) {
          if (e.chunk > 0 && !isHere(true, e.chunk - 1, e.microbatch))
            break;
          if (!made.insert({true, e.chunk, e.microbatch}).second)
            return "a forward is done twice";
          continue;
        }
        bool isInput = e.work != Work::BackwardWeight;
        bool isReady = isInput
                           ? isHere(true, e.chunk, e.microbatch) &&
                                 (e.chunk + 1 == chunks || isHere(false, e.chunk + 1, e.microbatch))
                           : isHere(false, e.chunk, e.microbatch);
        if (!isReady)
          break;
        if (isInput && !made.insert({false, e.chunk, e.microbatch}).second)
          return "a backward is done twice";
        if (e.work != Work::BackwardInput && !weights.insert({true, e.chunk, e.microbatch}).second)
          return "weights are done twice";
      }
  }
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    if (next[rank] < schedule.ranks[rank].size())
      return "rank " + std::to_string(rank) + " hangs";
  size_t all = chunks * schedule.shape.microbatches;
  return made.size() == 2 * all && weights.size() == all ? "" : "work is missing";
}

TEST(PipelineTransfers, RandomTablesAreAcceptedWhereTheyRun) {
  std::mt19937_64 random(20261130);
  int64_t accepted = 0;
  for (int64_t i = 0; i < 10000; ++i) {
    Schedule schedule = drawTable(random);
    std::string wrong = checkSchedule(schedule);
    EXPECT_EQ(wrong.empty(), runTable(schedule).empty())
        << "table " << i << ": " << wrong << " but it " << runTable(schedule);
    if (wrong.empty()) {
      ++accepted;
      EXPECT_EQ(follow(schedule), "") << "table " << i;
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_LT(accepted, 9000);
}

} // namespace
