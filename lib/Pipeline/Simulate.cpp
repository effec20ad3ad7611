//===- Simulate.cpp - Schedules checked and timed
//------------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/PipelineSchedule.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace ulsc;
using namespace ulsc::pipeline;

llvm::StringRef pipeline::getWorkName(Work work) {
  static constexpr llvm::StringLiteral names[] = {"forward", "backward", "backward_input",
                                                  "backward_weight"};
  return names[unsigned(work)];
}

double Costs::get(Work work) const {
  switch (work) {
  case Work::Forward:
    return forward;
  case Work::Backward:
    return backwardInput + backwardWeight;
  case Work::BackwardInput:
    return backwardInput;
  case Work::BackwardWeight:
    return backwardWeight;
  }
  return 0;
}

static std::string describe(const Entry &entry) {
  return getWorkName(entry.work).str() + " of chunk " + std::to_string(entry.chunk) +
         ", microbatch " + std::to_string(entry.microbatch);
}

namespace {
/// When what others wait for is done: a forward, or the gradient of a chunk's input.
class Runner {
public:
  Runner(const Schedule &schedule, const Costs &costs) : schedule(schedule), costs(costs) {
    size_t cells = schedule.shape.getChunks() * schedule.shape.microbatches;
    forward.assign(cells, kNever);
    input.assign(cells, kNever);
  }

  /// Each rank's entries in order, each as soon as it can be. Without progress the ranks are stuck.
  Timing run() {
    Timing timing;
    timing.ranks.resize(schedule.ranks.size());
    next.assign(schedule.ranks.size(), 0);
    for (bool progresses = true; progresses;) {
      progresses = false;
      for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
        while (next[rank] < schedule.ranks[rank].size() && runNext(rank, timing.ranks[rank]))
          progresses = true;
    }
    return timing;
  }

  /// After `run`: what each rank that is stuck waits for, and the first that is; empty where none
  /// is.
  std::string describeWaits(SchedulePlace &place) {
    std::string text;
    for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
      if (next[rank] == schedule.ranks[rank].size())
        continue;
      if (text.empty())
        place = {int64_t(rank), int64_t(next[rank])};
      const Entry &entry = schedule.ranks[rank][next[rank]];
      std::optional<Entry> missing = findMissing(entry);
      text += (text.empty() ? "" : "; ") + ("rank " + std::to_string(rank)) + " cannot start " +
              describe(entry) + " before " + describe(*missing) + ", which rank " +
              std::to_string(schedule.rankOf[missing->chunk]) + " has later";
    }
    return text;
  }

private:
  static constexpr double kNever = -1;

  size_t cell(int64_t chunk, int64_t microbatch) const {
    return chunk * schedule.shape.microbatches + microbatch;
  }

  /// What an entry needs, with the time it takes to come here; nothing is given as time 0.
  double getReady(const Entry &entry, std::optional<Entry> &missing) const {
    double ready = 0;
    auto need = [&](Work work, int64_t chunk) {
      const std::vector<double> &done = work == Work::Forward ? forward : input;
      double at = done[cell(chunk, entry.microbatch)];
      if (at == kNever && !missing)
        missing = Entry{work, chunk, entry.microbatch};
      bool isHere = schedule.rankOf[chunk] == schedule.rankOf[entry.chunk];
      ready = std::max(ready, at + (isHere ? 0 : costs.transfer));
    };
    switch (entry.work) {
    case Work::Forward:
      if (entry.chunk > 0)
        need(Work::Forward, entry.chunk - 1);
      break;
    case Work::Backward:
    case Work::BackwardInput:
      need(Work::Forward, entry.chunk);
      if (entry.chunk + 1 < schedule.shape.getChunks())
        need(Work::BackwardInput, entry.chunk + 1);
      break;
    case Work::BackwardWeight:
      need(Work::BackwardInput, entry.chunk);
      break;
    }
    return ready;
  }

  std::optional<Entry> findMissing(const Entry &entry) const {
    std::optional<Entry> missing;
    getReady(entry, missing);
    return missing;
  }

  bool runNext(size_t rank, std::vector<Timing::Span> &spans) {
    const Entry &entry = schedule.ranks[rank][next[rank]];
    std::optional<Entry> missing;
    double ready = getReady(entry, missing);
    if (missing)
      return false;
    double start = std::max(ready, spans.empty() ? 0 : spans.back().end);
    spans.push_back({entry, start, start + costs.get(entry.work)});
    if (entry.work == Work::Forward)
      forward[cell(entry.chunk, entry.microbatch)] = spans.back().end;
    else if (entry.work != Work::BackwardWeight)
      input[cell(entry.chunk, entry.microbatch)] = spans.back().end;
    ++next[rank];
    return true;
  }

  const Schedule &schedule;
  const Costs &costs;
  std::vector<double> forward, input;
  std::vector<size_t> next;
};
} // namespace

/// Each chunk and microbatch once forward and once backward, on the chunk's rank.
static std::string checkEntries(const Schedule &schedule, SchedulePlace &place) {
  const Shape &shape = schedule.shape;
  if (int64_t(schedule.rankOf.size()) != shape.getChunks() ||
      int64_t(schedule.ranks.size()) != shape.ranks)
    return "the schedule has " + std::to_string(schedule.rankOf.size()) + " chunks on " +
           std::to_string(schedule.ranks.size()) + " ranks, expected " +
           std::to_string(shape.getChunks()) + " on " + std::to_string(shape.ranks);
  for (auto [chunk, rank] : llvm::enumerate(schedule.rankOf))
    if (rank < 0 || rank >= shape.ranks)
      return "chunk " + std::to_string(chunk) + " lies on rank " + std::to_string(rank) +
             ", expected a rank from 0 to " + std::to_string(shape.ranks - 1);
  // By kind of work, chunk and microbatch.
  std::vector<int> counts(4 * shape.getChunks() * shape.microbatches);
  auto count = [&](Work work, int64_t chunk, int64_t microbatch) -> int & {
    return counts[(int64_t(work) * shape.getChunks() + chunk) * shape.microbatches + microbatch];
  };
  for (auto [rank, entries] : llvm::enumerate(schedule.ranks))
    for (auto [number, entry] : llvm::enumerate(entries)) {
      place = {int64_t(rank), int64_t(number)};
      std::string where = "rank " + std::to_string(rank) + ": " + describe(entry);
      if (entry.chunk < 0 || entry.chunk >= shape.getChunks() || entry.microbatch < 0 ||
          entry.microbatch >= shape.microbatches)
        return where + ", expected chunks from 0 to " + std::to_string(shape.getChunks() - 1) +
               " and microbatches from 0 to " + std::to_string(shape.microbatches - 1);
      if (schedule.rankOf[entry.chunk] != int64_t(rank))
        return where + ", but the chunk lies on rank " +
               std::to_string(schedule.rankOf[entry.chunk]);
      if (++count(entry.work, entry.chunk, entry.microbatch) > 1)
        return where + " is there twice";
    }
  for (int64_t chunk = 0; chunk < shape.getChunks(); ++chunk)
    for (int64_t i = 0; i < shape.microbatches; ++i) {
      place = {schedule.rankOf[chunk], -1};
      int whole = count(Work::Backward, chunk, i), halfInput = count(Work::BackwardInput, chunk, i),
          halfWeight = count(Work::BackwardWeight, chunk, i);
      std::string what = " of chunk " + std::to_string(chunk) + ", microbatch " + std::to_string(i);
      if (!count(Work::Forward, chunk, i))
        return "there is no forward" + what;
      if (whole && (halfInput || halfWeight))
        return "there is both a whole backward and a half of one" + what;
      if (!whole && !halfInput)
        return "there is no backward" + what;
      if (!whole && !halfWeight)
        return "there is no backward_weight" + what;
    }
  return {};
}

std::string pipeline::checkSchedule(const Schedule &schedule, SchedulePlace *place) {
  SchedulePlace found;
  std::string problem = checkEntries(schedule, found);
  if (problem.empty()) {
    Costs costs;
    Runner runner(schedule, costs);
    runner.run();
    problem = runner.describeWaits(found);
  }
  if (place)
    *place = found;
  return problem;
}

/// A forward's activations are held until the backward that needs them last is done.
static int64_t countInFlight(llvm::ArrayRef<Timing::Span> spans) {
  int64_t held = 0, most = 0;
  for (const Timing::Span &span : spans) {
    held += span.entry.work == Work::Forward;
    most = std::max(most, held);
    held -= span.entry.work == Work::Backward || span.entry.work == Work::BackwardWeight;
  }
  return most;
}

Timing pipeline::simulate(const Schedule &schedule, const Costs &costs) {
  Timing timing = Runner(schedule, costs).run();
  for (const std::vector<Timing::Span> &spans : timing.ranks) {
    timing.inFlight.push_back(countInFlight(spans));
    if (spans.empty())
      continue;
    double busy = 0, whole = spans.back().end - spans.front().start;
    for (const Timing::Span &span : spans)
      busy += span.end - span.start;
    timing.makespan = std::max(timing.makespan, spans.back().end);
    if (whole > 0)
      timing.idleShare = std::max(timing.idleShare, (whole - busy) / whole);
  }
  return timing;
}
