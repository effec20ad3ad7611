//===- Placement.cpp - Static placement of buffers --------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// Dynamic storage allocation with known lifetimes. Buffers are placed one after the other, each at
// the lowest gap (or the tightest one) among those that it meets in time; what matters is the
// order. Large and long-lived first is close to the bound for what training steps look like: a
// stack of saved values with short-lived buffers at its top. Where it is not, the buffers that
// reach the top are moved to the front of the order and everything is placed again.
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

/// Moves the buffers that reach past `bound`, and at random a few others, towards the front.
static void perturb(llvm::SmallVectorImpl<unsigned> &order, llvm::ArrayRef<Lifetime> lifetimes,
                    const Placement &placement, int64_t bound, std::mt19937 &random) {
  for (size_t i = 1; i < order.size(); ++i) {
    unsigned index = order[i];
    bool isHigh = placement.offsets[index] + align(lifetimes[index].bytes) > bound;
    if (!isHigh && random() % 64 != 0)
      continue;
    size_t to = isHigh ? random() % i : i - 1;
    order.erase(order.begin() + i);
    order.insert(order.begin() + to, index);
  }
}

Placement memory::place(llvm::ArrayRef<Lifetime> lifetimes, double tolerance) {
  if (lifetimes.empty())
    return {};
  int64_t bound = getLargestLiveBytes(lifetimes);
  int64_t goal = bound + static_cast<int64_t>(bound * tolerance);
  Placer placer(lifetimes);
  Placement best;
  llvm::SmallVector<unsigned> bestOrder;
  auto consider = [&](llvm::ArrayRef<unsigned> order, bool isTightest) {
    Placement placement = placer.run(order, isTightest);
    bool isBetter = bestOrder.empty() || placement.bytes <= best.bytes;
    if (isBetter) {
      best = std::move(placement);
      bestOrder.assign(order.begin(), order.end());
    }
    return best.bytes <= goal;
  };
  for (const auto &order : getOrders(lifetimes))
    for (bool isTightest : {false, true})
      if (consider(order, isTightest))
        return best;
  // Bounded by work, not by time: the same plan on every machine.
  std::mt19937 random(1);
  int64_t rounds = std::max<int64_t>(20, 2'000'000 / static_cast<int64_t>(lifetimes.size() + 1));
  rounds = std::min<int64_t>(rounds, 2000);
  for (int64_t round = 0; round < rounds; ++round) {
    llvm::SmallVector<unsigned> order = bestOrder;
    perturb(order, lifetimes, best, bound, random);
    if (consider(order, round % 2))
      break;
  }
  return best;
}
