//===- Tables.cpp - Schedules for tests of what is made from them
//-------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Tables.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace ulsc;
using namespace ulsc::pipeline;

std::vector<Flow> test::getFlows(const Schedule &schedule) {
  std::vector<Flow> flows;
  for (int64_t chunk = 0; chunk + 1 < schedule.shape.getChunks(); ++chunk) {
    if (schedule.rankOf[chunk] == schedule.rankOf[chunk + 1])
      continue;
    flows.push_back({{Work::Forward, chunk}, {{Work::Forward, chunk + 1}}});
    flows.push_back({{Work::BackwardInput, chunk + 1}, {{Work::BackwardInput, chunk}}});
  }
  return flows;
}

/// All the work of a shape, on each rank by chunk and microbatch.
static Schedule drawWork(std::mt19937_64 &random) {
  int64_t p = 1 + random() % 4, m = 1 + random() % 4, v = 1 + random() % 2;
  Schedule schedule{{p, m, v}, {}, {}};
  schedule.ranks.resize(p);
  for (int64_t chunk = 0; chunk < p * v; ++chunk)
    schedule.rankOf.push_back(chunk % p);
  for (int64_t chunk = 0; chunk < p * v; ++chunk)
    for (int64_t i = 0; i < m; ++i) {
      auto &list = schedule.ranks[chunk % p];
      list.push_back({Work::Forward, chunk, i});
      if (random() % 2) {
        list.push_back({Work::Backward, chunk, i});
      } else {
        list.push_back({Work::BackwardInput, chunk, i});
        list.push_back({Work::BackwardWeight, chunk, i});
      }
    }
  return schedule;
}

Schedule test::drawTable(std::mt19937_64 &random) {
  Schedule schedule = drawWork(random);
  uint64_t kind = random() % 4;
  for (auto &list : schedule.ranks) {
    std::shuffle(list.begin(), list.end(), random);
    if (kind != 0)
      llvm::sort(list, [&](const Entry &a, const Entry &b) {
        auto rankOf = [](const Entry &e) { return std::pair(int(e.work), e.chunk); };
        return rankOf(a) < rankOf(b);
      });
    if (kind == 2 && list.size() > 1)
      std::swap(list[random() % list.size()], list[random() % list.size()]);
  }
  if (kind == 3) {
    auto &list = schedule.ranks[random() % schedule.ranks.size()];
    if (random() % 2)
      list.erase(list.begin() + random() % list.size());
    else
      list.push_back(list[random() % list.size()]);
  }
  return schedule;
}

Schedule test::drawTableOfWholeRanks(std::mt19937_64 &random) {
  Schedule schedule = drawWork(random);
  // In few places out of the order that all ranks can follow, or in many.
  bool isWild = random() % 2;
  for (auto &list : schedule.ranks) {
    std::vector<Entry> order;
    std::shuffle(list.begin(), list.end(), random);
    if (!isWild)
      llvm::sort(list, [](const Entry &a, const Entry &b) {
        auto key = [](const Entry &e) { return std::tuple(e.microbatch, int(e.work), e.chunk); };
        return key(a) < key(b);
      });
    auto isDone = [&](Work work, const Entry &e) {
      return llvm::any_of(order, [&](const Entry &other) {
        return other.work == work && other.chunk == e.chunk && other.microbatch == e.microbatch;
      });
    };
    while (!list.empty()) {
      std::vector<size_t> ready;
      for (auto [i, e] : llvm::enumerate(list))
        if (e.work == Work::Forward ||
            isDone(e.work == Work::BackwardWeight ? Work::BackwardInput : Work::Forward, e))
          ready.push_back(i);
      size_t place = ready[isWild || random() % 8 == 0 ? random() % ready.size() : 0];
      order.push_back(list[place]);
      list.erase(list.begin() + place);
    }
    list = std::move(order);
  }
  return schedule;
}
