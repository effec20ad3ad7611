//===- CutCalls.cpp - Where a step's calls are cut into chunks --------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Stage/CutCalls.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <limits>

using namespace llvm;
using namespace ulsc;
using namespace ulsc::stage;
using pipeline::Work;

static constexpr double kNever = std::numeric_limits<double>::infinity();

/// What a run of calls weighs as the chunk of a number; `kNever` where it can't be that.
using Weigh = function_ref<double(size_t chunk, size_t begin, size_t end)>;

/// The ends of `count` runs of `n` calls whose heaviest is as light as can be, and, of those, whose
/// squares sum to the least; empty where there are none. Dynamic programming over the runs.
static SmallVector<size_t> cutEvenly(size_t n, size_t count, Weigh weigh) {
  std::vector<std::vector<size_t>> cuts;
  auto solve = [&](double limit, bool minimizesHeaviest, double slack) {
    std::vector<std::vector<double>> best(count + 1, std::vector<double>(n + 1, kNever));
    cuts.assign(count + 1, std::vector<size_t>(n + 1));
    best[0][0] = 0;
    for (size_t run = 1; run <= count; ++run)
      for (size_t end = run; end <= n; ++end)
        for (size_t begin = run - 1; begin < end; ++begin) {
          if (best[run - 1][begin] == kNever)
            continue;
          double weight = weigh(run - 1, begin, end);
          if (weight > limit || weight == kNever)
            continue;
          double value = minimizesHeaviest ? std::max(best[run - 1][begin], weight)
                                           : best[run - 1][begin] + weight * weight;
          if (value < best[run][end] - slack * slack) {
            best[run][end] = value;
            cuts[run][end] = begin;
          }
        }
    return best[count][n];
  };
  double heaviest = solve(kNever, true, 0);
  if (heaviest == kNever)
    return {};
  // Sums differ in their last bits by the order of their terms.
  double slack = 1e-9 * heaviest * double(count);
  solve(heaviest + slack, false, slack);
  SmallVector<size_t> ends(count);
  for (size_t run = count, end = n; run > 0; end = cuts[run--][end])
    ends[run - 1] = end;
  return ends;
}

namespace {
/// Sums of runs of calls, as chunks of a schedule.
class Chunks {
public:
  Chunks(const CutWeights &weights, const pipeline::Schedule &schedule)
      : schedule(schedule), timing(pipeline::simulate(schedule, {})),
        inFlight(schedule.rankOf.size()) {
    for (double time : weights.times)
      times.push_back(times.back() + time);
    for (const CallMemory &memory : weights.memory) {
      lasting.push_back(lasting.back() + memory.lasting);
      kept.push_back(kept.back() + memory.kept);
    }
    walk([&](size_t chunk, int64_t held) { inFlight[chunk] = std::max(inFlight[chunk], held); });
  }

  double getTime(size_t begin, size_t end) const { return times[end] - times[begin]; }
  double getBytes(size_t chunk, size_t begin, size_t end) const {
    return lasting[end] - lasting[begin] + double(inFlight[chunk]) * (kept[end] - kept[begin]);
  }

  /// The most that a rank holds at a time.
  double getLargestRank(ArrayRef<size_t> ends) const {
    auto sum = [&](const std::vector<double> &before, size_t chunk) {
      return before[ends[chunk]] - before[chunk ? ends[chunk - 1] : 0];
    };
    std::vector<double> fixed(schedule.ranks.size()), held(fixed), most(fixed);
    for (auto [chunk, rank] : enumerate(schedule.rankOf))
      fixed[rank] += sum(lasting, chunk);
    std::vector<int64_t> counts(ends.size());
    walk([&](size_t chunk, int64_t count) {
      int64_t rank = schedule.rankOf[chunk];
      held[rank] += double(count - counts[chunk]) * sum(kept, chunk);
      counts[chunk] = count;
      most[rank] = std::max(most[rank], held[rank]);
    });
    double largest = 0;
    for (auto [a, b] : zip_equal(fixed, most))
      largest = std::max(largest, a + b);
    return largest;
  }

private:
  /// Tells how many microbatches of a chunk are in flight, each time that it changes.
  void walk(function_ref<void(size_t chunk, int64_t held)> tell) const {
    std::vector<int64_t> held(schedule.rankOf.size());
    for (const auto &spans : timing.ranks)
      for (const pipeline::Timing::Span &span : spans) {
        size_t chunk = span.entry.chunk;
        if (span.entry.work == Work::Forward)
          tell(chunk, ++held[chunk]);
        else if (span.entry.work != Work::BackwardInput)
          tell(chunk, --held[chunk]);
      }
  }

  const pipeline::Schedule &schedule;
  pipeline::Timing timing;
  std::vector<int64_t> inFlight;
  /// Sums of the calls before each.
  std::vector<double> times = {0}, lasting = {0}, kept = {0};
};
} // namespace

SmallVector<size_t> stage::cutCalls(const CutWeights &weights, const pipeline::Schedule &schedule) {
  Chunks chunks(weights, schedule);
  size_t n = weights.times.size(), count = schedule.rankOf.size();
  auto cutWithin = [&](double cap) {
    return cutEvenly(n, count, [&](size_t chunk, size_t begin, size_t end) {
      return cap && chunks.getBytes(chunk, begin, end) > cap ? kNever : chunks.getTime(begin, end);
    });
  };
  if (!weights.limit)
    return cutWithin(0);
  // One chunk may take what its rank has; of several, lower caps leave room for the others.
  int64_t steps = schedule.shape.chunksPerRank == 1 ? 1 : 32;
  for (int64_t step = steps; step > 0; --step) {
    SmallVector<size_t> ends = cutWithin(weights.limit * double(step) / double(steps));
    if (ends.empty())
      break;
    if (chunks.getLargestRank(ends) <= weights.limit)
      return ends;
  }
  return cutEvenly(n, count, [&](size_t chunk, size_t begin, size_t end) {
    return chunks.getBytes(chunk, begin, end);
  });
}
