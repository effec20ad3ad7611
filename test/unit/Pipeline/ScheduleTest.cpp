//===- ScheduleTest.cpp - Pipeline schedules against what was published ---------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/PipelineSchedule.h"

#include <gtest/gtest.h>

using namespace ulsc::pipeline;

namespace {

Schedule make(llvm::StringRef name, const Shape &shape) {
  std::string problem;
  std::optional<Schedule> schedule = makeSchedule(name, shape, problem);
  EXPECT_TRUE(schedule) << name.str() << " " << problem;
  return schedule.value_or(Schedule{shape, {}, {}});
}

/// The chunks that a schedule may have, up to four.
std::vector<int64_t> getChunks(llvm::StringRef name) {
  if (name == "interleaved")
    return {1, 2, 3, 4};
  return {name == "zbv" ? 2 : 1};
}

TEST(PipelineSchedule, AllCanBeFollowed) {
  int64_t count = 0;
  for (llvm::StringRef name : getScheduleNames())
    for (int64_t v : getChunks(name))
      for (int64_t p = 1; p <= 8; ++p)
        for (int64_t m = 1; m <= 16; ++m) {
          if (name == "interleaved" && m % p != 0)
            continue;
          EXPECT_EQ(checkSchedule(make(name, {p, m, v})), "")
              << name.str() << " p=" << p << " m=" << m << " V=" << v;
          ++count;
        }
  EXPECT_EQ(count, 5 * 128 + 4 * (16 + 8 + 5 + 4 + 3 + 2 + 2 + 2));
}

TEST(PipelineSchedule, IdleSharesArePublishedOnes) {
  // Backward twice the forward.
  for (int64_t m : {4, 8, 16, 32})
    for (const char *name : {"gpipe", "1f1b"})
      EXPECT_DOUBLE_EQ(simulate(make(name, {4, m}), {}).idleShare, 3.0 / double(m + 3))
          << name << " m=" << m;
  for (int64_t v : {1, 2, 3, 4})
    for (int64_t m : {4, 8, 16})
      EXPECT_NEAR(simulate(make("interleaved", {4, m, v}), {}).idleShare, 3.0 / double(v * m + 3),
                  1e-12)
          << "V=" << v << " m=" << m;
  EXPECT_DOUBLE_EQ(simulate(make("zb-h1", {4, 8}), {}).idleShare, 3.0 / 27);
  EXPECT_DOUBLE_EQ(simulate(make("zb-h2", {4, 8}), {}).idleShare, 0);
}

TEST(PipelineSchedule, MakespansInLayers) {
  // 32 layers on 4 stages, forward and whole backward take one a layer.
  std::vector<std::pair<int64_t, double>> expected{
      {1, 64}, {4, 112}, {8, 176}, {16, 304}, {32, 560}};
  for (auto [m, makespan] : expected)
    EXPECT_DOUBLE_EQ(simulate(make("1f1b", {4, m}), {8, 4, 4}).makespan, makespan) << m;
}

TEST(PipelineSchedule, InFlightCounts) {
  for (int64_t p = 1; p <= 8; ++p)
    for (int64_t m = 1; m <= 16; ++m) {
      Timing gpipe = simulate(make("gpipe", {p, m}), {}), f1b1 = simulate(make("1f1b", {p, m}), {}),
             h1 = simulate(make("zb-h1", {p, m}), {}), h2 = simulate(make("zb-h2", {p, m}), {}),
             zbv = simulate(make("zbv", {p, m, 2}), {});
      for (int64_t rank = 0; rank < p; ++rank) {
        EXPECT_EQ(gpipe.inFlight[rank], m);
        EXPECT_EQ(f1b1.inFlight[rank], std::min(p - rank, m));
        EXPECT_LE(h1.inFlight[rank], std::min(p, m));
        EXPECT_LE(h2.inFlight[rank], std::min(2 * p - 1, m));
        EXPECT_LE(zbv.inFlight[rank], 2 * std::min(p, m));
      }
      EXPECT_EQ(h1.inFlight[0], f1b1.inFlight[0]);
      // Narayanan et al. 2021: forwards of the warm-up, and one more.
      for (int64_t v : {2, 3, 4})
        for (int64_t rank = 0; rank < p && m % p == 0; ++rank)
          EXPECT_EQ(simulate(make("interleaved", {p, m, v}), {}).inFlight[rank],
                    std::min(m * v, 2 * (p - rank - 1) + (v - 1) * p + 1));
    }
}

TEST(PipelineSchedule, ZeroBubbleVIdlesLessThanH1) {
  for (int64_t p : {2, 4, 8})
    EXPECT_LT(simulate(make("zbv", {p, 2 * p, 2}), {}).idleShare,
              simulate(make("zb-h1", {p, 2 * p}), {}).idleShare)
        << p;
}

TEST(PipelineSchedule, UsualChunks) {
  EXPECT_EQ(getChunksPerRank("1f1b"), 1);
  EXPECT_EQ(getChunksPerRank("zbv"), 2);
  EXPECT_EQ(getChunksPerRank("interleaved"), 2);
  EXPECT_EQ(getChunksPerRank("interleave"), std::nullopt);
  EXPECT_TRUE(takesAnyChunks("interleaved"));
  EXPECT_FALSE(takesAnyChunks("zbv"));
}

TEST(PipelineSchedule, RefusesShapes) {
  std::string problem;
  EXPECT_FALSE(makeSchedule("interleaved", {4, 6, 2}, problem));
  EXPECT_EQ(problem, "needs a number of microbatches that is a multiple of the 4 pipeline ranks, "
                     "not 6; the nearest is 8");
  EXPECT_FALSE(makeSchedule("zbv", {4, 4, 1}, problem));
  EXPECT_EQ(problem, "has 2 chunks a rank, not 1; take 2");
  EXPECT_FALSE(makeSchedule("1f1c", {4, 4}, problem));
  EXPECT_EQ(problem, "is no schedule; expected one of gpipe, 1f1b, interleaved, zb-h1, zb-h2, zbv; "
                     "did you mean 1f1b");
}

TEST(PipelineSchedule, FaultsAreNamed) {
  Schedule swapped = make("1f1b", {2, 2});
  std::swap(swapped.ranks[1][0], swapped.ranks[1][1]);
  EXPECT_EQ(checkSchedule(swapped),
            "rank 0 cannot start backward of chunk 0, microbatch 0 before backward_input of chunk "
            "1, microbatch 0, which rank 1 has later; rank 1 cannot start backward of chunk 1, "
            "microbatch 0 before forward of chunk 1, microbatch 0, which rank 1 has later");
  Schedule dropped = make("gpipe", {2, 2});
  dropped.ranks[0].pop_back();
  SchedulePlace place;
  EXPECT_EQ(checkSchedule(dropped, &place), "there is no backward of chunk 0, microbatch 1");
  EXPECT_EQ(std::pair(place.rank, place.entry), std::pair(int64_t(0), int64_t(-1)));
  Schedule moved = make("gpipe", {2, 2});
  moved.ranks[0][0].chunk = 1;
  EXPECT_EQ(checkSchedule(moved),
            "rank 0: forward of chunk 1, microbatch 0, but the chunk lies on rank 1");
  Schedule twice = make("gpipe", {2, 2});
  twice.ranks[0].push_back(twice.ranks[0][0]);
  EXPECT_EQ(checkSchedule(twice, &place),
            "rank 0: forward of chunk 0, microbatch 0 is there twice");
  EXPECT_EQ(std::pair(place.rank, place.entry), std::pair(int64_t(0), int64_t(4)));
  checkSchedule(swapped, &place);
  EXPECT_EQ(std::pair(place.rank, place.entry), std::pair(int64_t(0), int64_t(2)));
}

} // namespace
