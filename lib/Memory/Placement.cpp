//===- Placement.cpp - Static placement of buffers --------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// Dynamic storage allocation with known lifetimes. Buffers are placed one after the other, each at
// the lowest gap (or the tightest one) among those that it meets in time; what matters is the
// order. Large and long-lived first is close to the bound for what training steps look like: a
// stack of saved values with short-lived buffers at its top. Where it is not, other orders are
// searched.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Memory.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <random>

using namespace ulsc;
using namespace ulsc::memory;

int64_t memory::align(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

int64_t memory::getLargestLiveBytes(llvm::ArrayRef<Lifetime> lifetimes) {
  std::map<int64_t, int64_t> changes;
  for (const Lifetime &lifetime : lifetimes) {
    changes[lifetime.first] += align(lifetime.bytes);
    changes[lifetime.last + 1] -= align(lifetime.bytes);
  }
  int64_t live = 0, largest = 0;
  for (auto [point, change] : changes)
    largest = std::max(largest, live += change);
  return largest;
}

namespace {

class Placer {
public:
  explicit Placer(llvm::ArrayRef<Lifetime> lifetimes) : lifetimes(lifetimes) {
    // Who meets whom, once: every order needs it.
    auto byStart = llvm::to_vector(llvm::seq<unsigned>(0, lifetimes.size()));
    llvm::sort(byStart,
               [&](unsigned a, unsigned b) { return lifetimes[a].first < lifetimes[b].first; });
    neighbours.resize(lifetimes.size());
    llvm::SmallVector<unsigned> active;
    for (unsigned index : byStart) {
      llvm::erase_if(
          active, [&](unsigned other) { return lifetimes[other].last < lifetimes[index].first; });
      for (unsigned other : active) {
        neighbours[index].push_back(other);
        neighbours[other].push_back(index);
      }
      active.push_back(index);
    }
  }

  Placement run(llvm::ArrayRef<unsigned> order, bool isTightest) {
    Placement placement;
    placement.offsets.assign(lifetimes.size(), -1);
    for (unsigned index : order) {
      int64_t offset = findGap(index, placement, isTightest);
      placement.offsets[index] = offset;
      placement.bytes = std::max(placement.bytes, offset + align(lifetimes[index].bytes));
    }
    return placement;
  }

private:
  int64_t findGap(unsigned index, const Placement &placement, bool isTightest) {
    taken.clear();
    for (unsigned other : neighbours[index])
      if (placement.offsets[other] >= 0)
        taken.push_back(
            {placement.offsets[other], placement.offsets[other] + align(lifetimes[other].bytes)});
    llvm::sort(taken);
    int64_t bytes = align(lifetimes[index].bytes), end = 0, best = -1, bestGap = 0;
    for (auto [begin, stop] : taken) {
      int64_t gap = begin - end;
      if (gap >= bytes && (best < 0 || (isTightest && gap < bestGap))) {
        best = end;
        bestGap = gap;
        if (!isTightest)
          return best;
      }
      end = std::max(end, stop);
    }
    return best >= 0 ? best : end;
  }

  llvm::ArrayRef<Lifetime> lifetimes;
  std::vector<llvm::SmallVector<unsigned>> neighbours;
  llvm::SmallVector<std::pair<int64_t, int64_t>> taken;
};

} // namespace

/// Orders worth trying, the most promising first.
static std::vector<llvm::SmallVector<unsigned>> getOrders(llvm::ArrayRef<Lifetime> lifetimes) {
  auto length = [&](unsigned i) { return lifetimes[i].last - lifetimes[i].first + 1; };
  auto bytes = [&](unsigned i) { return lifetimes[i].bytes; };
  auto makeOrder = [&](auto isBefore) {
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, lifetimes.size()));
    llvm::stable_sort(order, isBefore);
    return llvm::SmallVector<unsigned>(order);
  };
  return {
      makeOrder([&](unsigned a, unsigned b) {
        return std::pair(bytes(a), length(a)) > std::pair(bytes(b), length(b));
      }),
      makeOrder([&](unsigned a, unsigned b) {
        return std::pair(length(a), bytes(a)) > std::pair(length(b), bytes(b));
      }),
      makeOrder([&](unsigned a, unsigned b) {
        return double(bytes(a)) * length(a) > double(bytes(b)) * length(b);
      }),
      makeOrder([&](unsigned a, unsigned b) { return lifetimes[a].first < lifetimes[b].first; }),
      makeOrder([&](unsigned a, unsigned b) { return lifetimes[a].last > lifetimes[b].last; }),
  };
}

namespace {

/// Searches orders by threshold accepting (Dueck and Scheuer 1990): an order somewhat worse than
/// the last is gone on from, too, and the less so the later, because the gap that is missing mostly
/// opens only after several moves. Deterministic.
class OrderSearch {
public:
  OrderSearch(Placer &placer, llvm::ArrayRef<Lifetime> lifetimes, int64_t bound)
      : placer(placer), lifetimes(lifetimes), bound(bound) {}

  void consider(llvm::ArrayRef<unsigned> order, bool isTightest) {
    Placement placement = placer.run(order, isTightest);
    if (!bestOrder.empty() && placement.bytes >= best.bytes)
      return;
    best = std::move(placement);
    bestOrder.assign(order.begin(), order.end());
  }

  /// Stops at `goal` bytes, or after a number of rounds: the same plan on every machine.
  void run(int64_t rounds, int64_t goal) {
    constexpr int64_t cycle = 1500; // then from the best order again
    constexpr double firstThreshold = 0.015;
    for (int64_t round = 0; round < rounds && best.bytes > goal; ++round) {
      if (round % cycle == 0) {
        current = best;
        order = bestOrder;
      }
      llvm::SmallVector<unsigned> moved = order;
      move(moved);
      Placement placement = placer.run(moved, random() % 4 == 0);
      double threshold = firstThreshold * (1 - double(round % cycle) / cycle);
      if (double(placement.bytes) > double(current.bytes) * (1 + threshold))
        continue;
      order = std::move(moved);
      current = std::move(placement);
      if (current.bytes < best.bytes) {
        best = current;
        bestOrder = order;
      }
    }
  }

  Placement takeBest() { return std::move(best); }
  int64_t getBestBytes() const { return best.bytes; }

private:
  /// Moves up to three buffers, half of them from among those that reach past the bound.
  void move(llvm::SmallVectorImpl<unsigned> &target) {
    llvm::SmallVector<size_t> high;
    for (auto [position, index] : llvm::enumerate(target))
      if (current.offsets[index] + align(lifetimes[index].bytes) > bound)
        high.push_back(position);
    for (unsigned count = 1 + random() % 3; count > 0; --count) {
      bool fromHigh = !high.empty() && random() % 2;
      size_t from = fromHigh ? high[random() % high.size()] : random() % target.size();
      size_t to = random() % target.size();
      unsigned index = target[from];
      target.erase(target.begin() + from);
      target.insert(target.begin() + to, index);
    }
  }

  Placer &placer;
  llvm::ArrayRef<Lifetime> lifetimes;
  int64_t bound;
  Placement best, current;
  llvm::SmallVector<unsigned> bestOrder, order;
  std::mt19937 random{1};
};

} // namespace

Placement memory::place(llvm::ArrayRef<Lifetime> lifetimes, double tolerance) {
  if (lifetimes.empty())
    return {};
  int64_t bound = getLargestLiveBytes(lifetimes);
  int64_t goal = bound + static_cast<int64_t>(bound * tolerance);
  Placer placer(lifetimes);
  OrderSearch search(placer, lifetimes, bound);
  for (const auto &order : getOrders(lifetimes))
    for (bool isTightest : {false, true}) {
      search.consider(order, isTightest);
      if (search.getBestBytes() <= goal)
        return search.takeBest();
    }
  int64_t rounds = 300'000 / static_cast<int64_t>(lifetimes.size());
  search.run(std::clamp<int64_t>(rounds, 20, 6000), goal);
  return search.takeBest();
}
