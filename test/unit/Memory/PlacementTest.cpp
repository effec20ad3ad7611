//===- PlacementTest.cpp - Tests of the static placement of buffers ---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Memory.h"

#include "gtest/gtest.h"

#include <chrono>
#include <random>

using namespace ulsc::memory;

namespace {

/// Every pair, the slow way.
void expectApart(llvm::ArrayRef<Lifetime> lifetimes, const Placement &placement) {
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    EXPECT_EQ(placement.offsets[i] % kAlignment, 0);
    EXPECT_LE(placement.offsets[i] + lifetimes[i].bytes, placement.bytes);
    for (size_t j = 0; j < i; ++j) {
      bool meets =
          lifetimes[i].first <= lifetimes[j].last && lifetimes[j].first <= lifetimes[i].last;
      bool shares = placement.offsets[i] < placement.offsets[j] + lifetimes[j].bytes &&
                    placement.offsets[j] < placement.offsets[i] + lifetimes[i].bytes;
      ASSERT_FALSE(meets && shares) << i << " and " << j;
    }
  }
}

/// The largest sum of live bytes, the slow way.
int64_t countLargest(llvm::ArrayRef<Lifetime> lifetimes) {
  int64_t largest = 0;
  for (const Lifetime &at : lifetimes) {
    int64_t live = 0;
    for (const Lifetime &lifetime : lifetimes)
      if (lifetime.first <= at.first && at.first <= lifetime.last)
        live += align(lifetime.bytes);
    largest = std::max(largest, live);
  }
  return largest;
}

/// What a step of `layers` layers looks like: saved values on a stack, frames and gradients of one
/// layer at its top.
llvm::SmallVector<Lifetime> makeStep(int64_t layers, int64_t saved, std::mt19937 &random) {
  llvm::SmallVector<Lifetime> lifetimes;
  int64_t points = 2 * layers * 4;
  llvm::SmallVector<int64_t> sizes;
  for (int64_t i = 0; i < saved; ++i)
    sizes.push_back(64 + random() % 4096 * 64);
  int64_t frame = 64 * (1 + random() % 65536), hidden = 64 * (1 + random() % 8192);
  for (int64_t layer = 0; layer < layers; ++layer) {
    int64_t forward = layer * 4, backward = points - (layer + 1) * 4;
    for (int64_t size : sizes)
      lifetimes.push_back({size, forward, backward + 1});
    lifetimes.push_back({frame, forward, forward});
    lifetimes.push_back({2 * frame, backward, backward});
    lifetimes.push_back({hidden, backward, backward + 4});
  }
  return lifetimes;
}

} // namespace

TEST(Placement, nothing) { EXPECT_EQ(place({}).bytes, 0); }

TEST(Placement, reuses_memory_of_the_dead) {
  Placement placement = place({{100, 0, 1}, {100, 2, 3}});
  EXPECT_EQ(placement.bytes, 128);
}

TEST(Placement, lifetimes_that_touch_meet) {
  Placement placement = place({{64, 0, 2}, {64, 2, 3}});
  EXPECT_EQ(placement.bytes, 128);
}

TEST(Placement, largest_live_bytes_is_exact) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    llvm::SmallVector<Lifetime> lifetimes;
    for (int i = 0; i < 60; ++i) {
      int64_t first = random() % 100;
      lifetimes.push_back({1 + static_cast<int64_t>(random() % 5000), first,
                           first + static_cast<int64_t>(random() % 30)});
    }
    EXPECT_EQ(getLargestLiveBytes(lifetimes), countLargest(lifetimes));
  }
}

TEST(Placement, random_lifetimes_never_overlap_and_stay_close_to_the_bound) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    llvm::SmallVector<Lifetime> lifetimes;
    int count = 10 + random() % 150;
    for (int i = 0; i < count; ++i) {
      int64_t first = random() % 200;
      int64_t length = random() % 4 ? random() % 12 : random() % 120;
      lifetimes.push_back(
          {64 * (1 + static_cast<int64_t>(random() % 1000)), first, first + length});
    }
    Placement placement = place(lifetimes);
    expectApart(lifetimes, placement);
    // Random lifetimes are harder than those of programs, which the next test holds to 3 %.
    EXPECT_LE(placement.bytes, countLargest(lifetimes) * 1.08);
  }
}

TEST(Placement, steps_stay_within_3_percent) {
  std::mt19937 random(11);
  for (int64_t layers : {1, 2, 12, 126}) {
    llvm::SmallVector<Lifetime> lifetimes = makeStep(layers, 12, random);
    auto start = std::chrono::steady_clock::now();
    Placement placement = place(lifetimes);
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    expectApart(lifetimes, placement);
    EXPECT_LE(placement.bytes, countLargest(lifetimes) * 1.03) << layers << " layers";
    EXPECT_LE(seconds.count(), 10.0) << layers << " layers";
  }
}
