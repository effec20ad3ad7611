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

/// The bytes needed from each point on at which they change.
static std::map<int64_t, int64_t> getLiveBytes(llvm::ArrayRef<Lifetime> lifetimes) {
  std::map<int64_t, int64_t> liveBytes;
  for (const Lifetime &lifetime : lifetimes) {
    liveBytes[lifetime.first] += align(lifetime.bytes);
    liveBytes[lifetime.last + 1] -= align(lifetime.bytes);
  }
  int64_t live = 0;
  for (auto &entry : liveBytes)
    entry.second = live += entry.second;
  return liveBytes;
}

int64_t memory::getLargestLiveBytes(llvm::ArrayRef<Lifetime> lifetimes) {
  std::map<int64_t, int64_t> liveBytes = getLiveBytes(lifetimes);
  int64_t largest = 0;
  for (auto [point, live] : liveBytes)
    largest = std::max(largest, live);
  return largest;
}

namespace {

/// The order in which buffers are placed, and which of them take the tightest gap instead of the
/// lowest.
struct Order {
  llvm::SmallVector<unsigned> buffers;
  std::vector<bool> isTightest; ///< by buffer
};

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

  /// Places what comes at `from` and later in the order; what comes before has its offset. Gives up
  /// at the first buffer that ends past `limit`.
  bool run(const Order &order, size_t from, int64_t limit, Placement &placement) {
    placement.bytes = 0;
    for (auto [position, index] : llvm::enumerate(order.buffers)) {
      if (position >= from)
        placement.offsets[index] = -1;
      else
        placement.bytes = std::max(placement.bytes, getEnd(index, placement));
    }
    for (unsigned index : llvm::ArrayRef(order.buffers).drop_front(from)) {
      placement.offsets[index] = findGap(index, placement, order.isTightest[index]);
      placement.bytes = std::max(placement.bytes, getEnd(index, placement));
      if (placement.bytes > limit)
        return false;
    }
    return true;
  }

  llvm::ArrayRef<unsigned> getNeighbours(unsigned index) const { return neighbours[index]; }
  int64_t getEnd(unsigned index, const Placement &placement) const {
    return placement.offsets[index] + align(lifetimes[index].bytes);
  }
  /// Neighbours looked at so far: what a search costs.
  int64_t getWork() const { return work; }

private:
  int64_t findGap(unsigned index, const Placement &placement, bool isTightest) {
    taken.clear();
    work += static_cast<int64_t>(neighbours[index].size());
    for (unsigned other : neighbours[index])
      if (placement.offsets[other] >= 0)
        taken.push_back({placement.offsets[other], getEnd(other, placement)});
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
  int64_t work = 0;
};

} // namespace

/// The largest sum of bytes needed at one point while each buffer lives.
static llvm::SmallVector<int64_t> getContention(llvm::ArrayRef<Lifetime> lifetimes) {
  std::map<int64_t, int64_t> liveBytes = getLiveBytes(lifetimes);
  llvm::SmallVector<int64_t> contention;
  for (const Lifetime &lifetime : lifetimes) {
    auto begin = liveBytes.find(lifetime.first), end = liveBytes.find(lifetime.last + 1);
    auto most = std::max_element(begin, end,
                                 [](const auto &a, const auto &b) { return a.second < b.second; });
    contention.push_back(most->second);
  }
  return contention;
}

/// Orders worth trying, the most promising first. The last three place first what lives when most
/// is needed (Maas et al. 2022, TelaMalloc).
static std::vector<llvm::SmallVector<unsigned>> getOrders(llvm::ArrayRef<Lifetime> lifetimes) {
  auto length = [&](unsigned i) { return lifetimes[i].last - lifetimes[i].first + 1; };
  auto bytes = [&](unsigned i) { return lifetimes[i].bytes; };
  auto area = [&](unsigned i) { return double(bytes(i)) * length(i); };
  llvm::SmallVector<int64_t> contention = getContention(lifetimes);
  std::vector<llvm::SmallVector<unsigned>> orders;
  auto add = [&](auto getKey) {
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, lifetimes.size()));
    llvm::stable_sort(order, [&](unsigned a, unsigned b) { return getKey(a) > getKey(b); });
    orders.emplace_back(order);
  };
  add([&](unsigned i) { return std::pair(bytes(i), length(i)); });
  add([&](unsigned i) { return std::pair(length(i), bytes(i)); });
  add(area);
  add([&](unsigned i) { return -lifetimes[i].first; });
  add([&](unsigned i) { return lifetimes[i].last; });
  add([&](unsigned i) { return std::pair(contention[i], bytes(i)); });
  add([&](unsigned i) { return std::pair(contention[i], length(i)); });
  add([&](unsigned i) { return std::pair(double(contention[i]), area(i)); });
  return orders;
}

namespace {

/// Searches orders by threshold accepting (Dueck and Scheuer 1990): an order somewhat worse than
/// the last is gone on from, too, and the less so the later, because the gap that is missing mostly
/// opens only after several moves. Deterministic.
class OrderSearch {
public:
  OrderSearch(Placer &placer, size_t count, int64_t bound) : placer(placer), bound(bound) {
    best.offsets.assign(count, -1);
    best.bytes = std::numeric_limits<int64_t>::max();
  }

  void consider(llvm::ArrayRef<unsigned> buffers, bool isTightest) {
    current = best;
    order.buffers.assign(buffers.begin(), buffers.end());
    order.isTightest.assign(buffers.size(), isTightest);
    if (placer.run(order, 0, best.bytes - 1, current))
      keepBest();
  }

  /// Stops at `goal` bytes, or after an amount of work: the same plan on every machine.
  void run(int64_t mostWork, int64_t goal) {
    constexpr int64_t cycle = 3000; // then from the best order again
    constexpr double firstThreshold = 0.001;
    Order moved;
    Placement placement;
    int64_t begin = placer.getWork();
    for (int64_t round = 0; best.bytes > goal && placer.getWork() - begin < mostWork; ++round) {
      if (round % cycle == 0) {
        current = best;
        order = bestOrder;
      }
      moved = order;
      size_t from = move(moved);
      placement = current;
      double threshold = firstThreshold * (1 - double(round % cycle) / cycle);
      if (!placer.run(moved, from, static_cast<int64_t>(current.bytes * (1 + threshold)),
                      placement))
        continue;
      std::swap(order, moved);
      std::swap(current, placement);
      if (current.bytes < best.bytes)
        keepBest();
    }
  }

  Placement takeBest() { return std::move(best); }
  int64_t getBestBytes() const { return best.bytes; }

private:
  void keepBest() {
    best = current;
    bestOrder = order;
  }

  /// Moves up to three buffers; half of them are such that reach past the bound and go before one
  /// that they meet. Returns the first position that has changed.
  size_t move(Order &target) {
    llvm::SmallVector<unsigned> high;
    for (unsigned index : target.buffers)
      if (placer.getEnd(index, current) > bound)
        high.push_back(index);
    size_t first = target.buffers.size();
    for (unsigned count = 1 + random() % 3; count > 0; --count) {
      size_t size = target.buffers.size(), from = random() % size, to = random() % size;
      unsigned index = target.buffers[from];
      if (!high.empty() && random() % 2) {
        index = high[random() % high.size()];
        from = find(target, index);
        llvm::ArrayRef<unsigned> met = placer.getNeighbours(index);
        size_t before = find(target, met[random() % met.size()]);
        if (before < from)
          to = before;
      }
      target.isTightest[index] = random() % 4 == 0;
      target.buffers.erase(target.buffers.begin() + from);
      target.buffers.insert(target.buffers.begin() + to, index);
      first = std::min({first, from, to});
    }
    return first;
  }

  static size_t find(const Order &target, unsigned index) {
    return llvm::find(target.buffers, index) - target.buffers.begin();
  }

  Placer &placer;
  int64_t bound;
  Placement best, current;
  Order bestOrder, order;
  std::mt19937 random{1};
};

} // namespace

Placement memory::place(llvm::ArrayRef<Lifetime> lifetimes, double tolerance) {
  if (lifetimes.empty())
    return {};
  int64_t bound = getLargestLiveBytes(lifetimes);
  int64_t goal = bound + static_cast<int64_t>(bound * tolerance);
  Placer placer(lifetimes);
  OrderSearch search(placer, lifetimes.size(), bound);
  for (const auto &order : getOrders(lifetimes))
    for (bool isTightest : {false, true}) {
      search.consider(order, isTightest);
      if (search.getBestBytes() <= goal)
        return search.takeBest();
    }
  constexpr int64_t work = 40'000'000; // some 0.8 s; more where much is still to be gained
  search.run(work, goal);
  search.run(2 * work, std::max(goal, bound + bound / 50));
  return search.takeBest();
}
