//===- SimulateTest.cpp - Programs of known times ---------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/PipelineTransfers.h"
#include "ulsc/Timeline/Timeline.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <map>

using namespace ulsc;
using namespace ulsc::timeline;

namespace {

/// Writes a rank's list.
class RankBuilder {
public:
  explicit RankBuilder(RankProgram &rank) : rank(rank) {}

  void call(Kind kind, double us, int64_t chunk = 0, int64_t microbatch = 0) {
    Label label{kind};
    label.chunk = chunk;
    label.microbatch = microbatch;
    rank.actions.push_back({Action::Type::BeginCall, 0, label, 0});
    rank.actions.push_back({Action::Type::Compute, us, {}, 0});
    rank.actions.push_back({Action::Type::EndCall, 0, {}, 0});
  }
  /// Each communicator and direction has its lane.
  size_t start(Kind kind, double us, const std::string &lane, int64_t peer = -1,
               bool joinsStages = false) {
    auto it = llvm::find(rank.lanes, lane);
    unsigned number = it - rank.lanes.begin();
    if (it == rank.lanes.end())
      rank.lanes.push_back(lane);
    rank.communications.push_back({Label{kind}, us, number, peer, joinsStages});
    rank.actions.push_back({Action::Type::Start, 0, {}, rank.communications.size() - 1});
    return rank.communications.size() - 1;
  }
  void wait(size_t communication) {
    rank.actions.push_back({Action::Type::Wait, 0, {}, communication});
  }

private:
  RankProgram &rank;
};

Timeline run(Program program) {
  std::string problem;
  std::optional<Timeline> timeline = simulate(std::move(program), problem);
  EXPECT_TRUE(timeline) << problem;
  return timeline ? std::move(*timeline) : Timeline{};
}

Program makeProgram(size_t ranks) {
  Program program;
  program.ranks.resize(ranks);
  for (size_t rank = 0; rank < ranks; ++rank)
    program.ranks[rank].stage = int64_t(rank);
  return program;
}

/// Calls and transfers of a schedule as the compiler plans them; transfers take no time.
Program makeProgram(const pipeline::Schedule &schedule, const pipeline::Costs &costs) {
  using pipeline::Work;
  std::vector<pipeline::Flow> flows;
  for (int64_t chunk = 0; chunk + 1 < schedule.shape.getChunks(); ++chunk)
    if (schedule.rankOf[chunk] != schedule.rankOf[chunk + 1]) {
      flows.push_back({{Work::Forward, chunk}, {{Work::Forward, chunk + 1}}});
      flows.push_back({{Work::BackwardInput, chunk + 1}, {{Work::BackwardInput, chunk}}});
    }
  std::map<Work, Kind> kinds = {{Work::Forward, Kind::Forward},
                                {Work::Backward, Kind::Backward},
                                {Work::BackwardInput, Kind::BackwardInput},
                                {Work::BackwardWeight, Kind::BackwardWeight}};
  Program program = makeProgram(schedule.ranks.size());
  auto events = pipeline::planTransfers(schedule, flows, costs);
  for (size_t rank = 0; rank < events.size(); ++rank) {
    RankBuilder builder(program.ranks[rank]);
    std::map<std::pair<int64_t, int64_t>, size_t> started;
    for (const pipeline::Event &event : events[rank]) {
      using EventKind = pipeline::Event::Kind;
      const pipeline::Entry &entry = event.entry;
      if (event.kind == EventKind::Compute) {
        builder.call(kinds[entry.work], costs.get(entry.work), entry.chunk, entry.microbatch);
        continue;
      }
      std::pair<int64_t, int64_t> key{event.flow, event.microbatch};
      const pipeline::Flow &flow = flows[event.flow];
      int64_t from = schedule.rankOf[flow.from.chunk], to = schedule.rankOf[flow.to.front().chunk];
      if (event.kind == EventKind::StartSend)
        started[key] = builder.start(Kind::Send, 0, "to " + std::to_string(to), to);
      else if (event.kind == EventKind::StartReceive)
        started[key] = builder.start(Kind::Receive, 0, "from " + std::to_string(from), from);
      else
        builder.wait(started.at(key));
    }
  }
  return program;
}

TEST(Timeline, EqualStagesIdleAsThePublishedSchedules) {
  pipeline::Costs costs;
  for (llvm::StringRef name : pipeline::getScheduleNames())
    for (int64_t p = 1; p <= 6; ++p)
      for (int64_t m : {1, 3, 4, 8, 12}) {
        int64_t chunks = name == "zbv" || name == "interleaved" ? 2 : 1;
        std::string problem;
        auto schedule = pipeline::makeSchedule(name, {p, m, chunks}, problem);
        if (!schedule)
          continue;
        pipeline::Timing expected = pipeline::simulate(*schedule, costs);
        Timeline timeline = run(makeProgram(*schedule, costs));
        std::string what = name.str() + " p=" + std::to_string(p) + " m=" + std::to_string(m);
        EXPECT_DOUBLE_EQ(timeline.idleShare, expected.idleShare) << what;
        EXPECT_DOUBLE_EQ(timeline.makespan, expected.makespan) << what;
        for (int64_t rank = 0; rank < p; ++rank)
          EXPECT_EQ(timeline.ranks[rank].inFlight, expected.inFlight[rank]) << what;
      }
}

TEST(Timeline, IdleShareIsThatOf1F1B) {
  std::string problem;
  auto schedule = pipeline::makeSchedule("1f1b", {4, 8}, problem);
  EXPECT_DOUBLE_EQ(run(makeProgram(*schedule, {})).idleShare, 3.0 / 11);
}

TEST(Timeline, MessageTravelsWhenBothSidesHaveStarted) {
  Program program = makeProgram(2);
  RankBuilder sender(program.ranks[0]), receiver(program.ranks[1]);
  sender.call(Kind::Forward, 2);
  size_t first = sender.start(Kind::Send, 5, "to 1", 1),
         second = sender.start(Kind::Send, 5, "to 1", 1);
  sender.wait(first);
  sender.wait(second);
  receiver.call(Kind::Forward, 3);
  first = receiver.start(Kind::Receive, 5, "from 0", 0);
  second = receiver.start(Kind::Receive, 5, "from 0", 0);
  receiver.call(Kind::Forward, 1);
  receiver.wait(first);
  receiver.call(Kind::Forward, 10);
  receiver.wait(second);
  Timeline timeline = run(std::move(program));
  const RankTimeline &from = timeline.ranks[0], &to = timeline.ranks[1];
  EXPECT_EQ(from.communications[0].start, 3);
  EXPECT_EQ(from.communications[0].end, 8);
  EXPECT_EQ(to.communications[1].start, 8);
  EXPECT_EQ(to.communications[1].end, 13);
  ASSERT_EQ(from.receivedAs.size(), 2u);
  EXPECT_EQ(from.receivedAs[1], std::make_pair(size_t(1), size_t(1)));
  EXPECT_EQ(from.transferWaitUs, 11);
  // What travels beside work is not waited for.
  EXPECT_EQ(to.transferWaitUs, 4);
  EXPECT_EQ(to.waitedUs, (std::vector<double>{4, 0}));
  EXPECT_EQ(timeline.makespan, 18);
  EXPECT_DOUBLE_EQ(to.idleShare, 4.0 / 18);
}

TEST(Timeline, CollectivesOfACommunicatorFollowOneAnother) {
  Program program = makeProgram(1);
  RankBuilder rank(program.ranks[0]);
  size_t a = rank.start(Kind::Collective, 4, "dp"), b = rank.start(Kind::Collective, 4, "dp"),
         other = rank.start(Kind::Collective, 3, "tp");
  rank.call(Kind::Backward, 2);
  rank.wait(other);
  rank.wait(a);
  rank.wait(b);
  Timeline timeline = run(std::move(program));
  EXPECT_EQ(timeline.ranks[0].communications[b].start, 4);
  EXPECT_EQ(timeline.ranks[0].communications[other].start, 0);
  EXPECT_EQ(timeline.makespan, 8);
  EXPECT_EQ(timeline.ranks[0].collectiveWaitUs, 6);
}

TEST(Timeline, CollectivesOfAllStagesBeginWithTheLast) {
  Program program = makeProgram(3);
  for (int64_t i = 0; i < 3; ++i) {
    RankBuilder rank(program.ranks[i]);
    rank.call(Kind::Forward, double(i + 1));
    rank.wait(rank.start(Kind::Collective, 2, "pp", -1, /*joinsStages=*/true));
  }
  Timeline timeline = run(std::move(program));
  EXPECT_EQ(timeline.ranks[0].communications[0].start, 3);
  EXPECT_EQ(timeline.makespan, 5);
}

TEST(Timeline, MemoryIsThatOfLiveValues) {
  Program program = makeProgram(1);
  RankProgram &rank = program.ranks[0];
  rank.persistent[size_t(Category::Parameters)] = 100;
  RankBuilder builder(rank);
  builder.call(Kind::Forward, 2);
  builder.call(Kind::Forward, 3);
  builder.call(Kind::Backward, 1);
  rank.allocations = {{Category::Activations, 10, 0, 5},
                      {Category::Activations, 20, 3, 8},
                      {Category::Gradients, 7, 6, 8}};
  Timeline timeline = run(std::move(program));
  const std::vector<MemoryPoint> &memory = timeline.ranks[0].memory;
  ASSERT_EQ(memory.size(), 4u);
  EXPECT_EQ(memory[0].bytes[size_t(Category::Activations)], 10);
  EXPECT_EQ(memory[1].time, 2);
  EXPECT_EQ(memory[1].bytes[size_t(Category::Activations)], 30);
  EXPECT_EQ(memory[2].bytes[size_t(Category::Gradients)], 7);
  EXPECT_EQ(memory[3].bytes, (Bytes{100, 0, 0, 0, 0, 0}));
  EXPECT_EQ(timeline.ranks[0].peak.time, 2);
}

TEST(Timeline, RanksThatWaitForEverAreNamed) {
  Program program = makeProgram(2);
  program.texts = {"", "send", "receive", "activation at layer.0"};
  RankBuilder first(program.ranks[0]), second(program.ranks[1]);
  first.wait(first.start(Kind::Send, 1, "to 1", 1));
  second.wait(second.start(Kind::Send, 1, "to 0", 0));
  program.ranks[0].communications[0].label.name = 1;
  program.ranks[0].communications[0].label.cause = 3;
  program.ranks[0].communications[0].label.microbatch = 2;
  program.ranks[1].communications[0].label.name = 1;
  std::string problem;
  EXPECT_FALSE(simulate(std::move(program), problem));
  EXPECT_EQ(problem, "stage 0 waits for its send, activation at layer.0, microbatch 2; stage 1 "
                     "waits for its send");
}

} // namespace
