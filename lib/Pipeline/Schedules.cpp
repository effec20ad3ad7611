//===- Schedules.cpp - The built-in pipeline schedules
//-----------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "lib/Pipeline/Builders.h"

#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace ulsc;
using namespace ulsc::pipeline;

/// Chunk c lies on rank c modulo the ranks.
static Schedule makeEmpty(const Shape &shape) {
  Schedule schedule{shape, {}, {}};
  schedule.ranks.resize(shape.ranks);
  for (int64_t chunk = 0; chunk < shape.getChunks(); ++chunk)
    schedule.rankOf.push_back(chunk % shape.ranks);
  return schedule;
}

static Schedule makeGpipe(const Shape &shape) {
  Schedule schedule = makeEmpty(shape);
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    for (Work work : {Work::Forward, Work::Backward})
      for (int64_t i = 0; i < shape.microbatches; ++i)
        schedule.ranks[rank].push_back({work, rank, i});
  return schedule;
}

/// Some forwards first, then a backward after each forward, backwards at the end.
template <typename GetForward, typename GetBackward>
static void alternate(std::vector<Entry> &list, int64_t count, int64_t ahead, GetForward getForward,
                      GetBackward getBackward) {
  for (int64_t i = 0; i < count + ahead; ++i) {
    if (i < count)
      list.push_back(getForward(i));
    if (i >= ahead)
      list.push_back(getBackward(i - ahead));
  }
}

static Schedule make1F1B(const Shape &shape) {
  Schedule schedule = makeEmpty(shape);
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    alternate(
        schedule.ranks[rank], shape.microbatches,
        std::min(shape.ranks - 1 - rank, shape.microbatches),
        [&](int64_t i) { return Entry{Work::Forward, rank, i}; },
        [&](int64_t i) { return Entry{Work::Backward, rank, i}; });
  return schedule;
}

/// Groups of as many microbatches as there are ranks go through all chunks of a rank in turn.
static Schedule makeInterleaved(const Shape &shape) {
  Schedule schedule = makeEmpty(shape);
  int64_t p = shape.ranks, v = shape.chunksPerRank, count = shape.microbatches * v;
  for (int64_t rank = 0; rank < p; ++rank) {
    auto place = [&](Work work, int64_t i) {
      int64_t turn = i / p % v, chunk = work == Work::Forward ? turn : v - 1 - turn;
      return Entry{work, chunk * p + rank, i / (p * v) * p + i % p};
    };
    int64_t ahead = v == 1 ? p - 1 - rank : 2 * (p - 1 - rank) + (v - 1) * p;
    alternate(
        schedule.ranks[rank], count, std::min(ahead, count),
        [&](int64_t i) { return place(Work::Forward, i); },
        [&](int64_t i) { return place(Work::Backward, i); });
  }
  return schedule;
}

/// One chunk a rank, `first` forwards ahead, and as many backwards of weights behind those of
/// inputs.
static void makeZeroBubbleRank(std::vector<Entry> &list, int64_t rank, int64_t microbatches,
                               int64_t first, int64_t behind) {
  int64_t forwards = 0, weights = 0;
  auto add = [&](Work work, int64_t i) { list.push_back({work, rank, i}); };
  for (; forwards < std::min(first, microbatches); ++forwards)
    add(Work::Forward, forwards);
  for (int64_t inputs = 0; inputs < microbatches; ++inputs) {
    add(Work::BackwardInput, inputs);
    if (inputs >= behind)
      add(Work::BackwardWeight, weights++);
    if (forwards < microbatches)
      add(Work::Forward, forwards++);
  }
  while (weights < microbatches)
    add(Work::BackwardWeight, weights++);
}

/// Qi et al. 2023, section 2.1: forwards ahead as in 1f1b.
static Schedule makeZeroBubbleH1(const Shape &shape) {
  Schedule schedule = makeEmpty(shape);
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    makeZeroBubbleRank(schedule.ranks[rank], rank, shape.microbatches, shape.ranks - rank, rank);
  return schedule;
}

/// Section 2.2: as many forwards ahead as fill the time until the first backward.
static Schedule makeZeroBubbleH2(const Shape &shape) {
  Schedule schedule = makeEmpty(shape);
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    makeZeroBubbleRank(schedule.ranks[rank], rank, shape.microbatches, 2 * (shape.ranks - rank) - 1,
                       2 * rank);
  return schedule;
}

//===---------------------------------------------------------------------------------------===//
// By name
//===---------------------------------------------------------------------------------------===//

namespace {
struct BuiltIn {
  llvm::StringRef name;
  Schedule (*make)(const Shape &);
  /// Chunks of a rank, 0 for any number.
  int64_t chunksPerRank;
  bool inGroups;
};
} // namespace

static constexpr BuiltIn kBuiltIn[] = {{"gpipe", makeGpipe, 1, false},
                                       {"1f1b", make1F1B, 1, false},
                                       {"interleaved", makeInterleaved, 0, true},
                                       {"zb-h1", makeZeroBubbleH1, 1, false},
                                       {"zb-h2", makeZeroBubbleH2, 1, false},
                                       {"zbv", makeZeroBubbleV, 2, false}};

llvm::ArrayRef<llvm::StringRef> pipeline::getScheduleNames() {
  static const std::vector<llvm::StringRef> names = [] {
    std::vector<llvm::StringRef> list;
    for (const BuiltIn &builtIn : kBuiltIn)
      list.push_back(builtIn.name);
    return list;
  }();
  return names;
}

/// The multiple of `unit` that is nearest to `value`, at least `unit`.
static int64_t roundToMultiple(int64_t value, int64_t unit) {
  return std::max<int64_t>(1, (value + unit / 2) / unit) * unit;
}

std::string pipeline::checkSize(const Shape &shape) {
  struct {
    const char *what;
    int64_t number;
  } const numbers[] = {{"ranks along pp", shape.ranks},
                       {"microbatches", shape.microbatches},
                       {"chunks a rank", shape.chunksPerRank}};
  for (const auto &[what, number] : numbers)
    if (number < 1 || number > kMostOfAny)
      return "can't have " + std::to_string(number) + " " + what + ", expected 1 to " +
             std::to_string(kMostOfAny);
  // Each pair has up to three entries.
  constexpr int64_t mostPairs = int64_t(1) << 22;
  int64_t pairs = shape.getChunks() * shape.microbatches;
  if (pairs <= mostPairs)
    return "";
  return "can't have " + std::to_string(pairs) + " pairs of chunk and microbatch (" +
         std::to_string(shape.ranks) + " ranks × " + std::to_string(shape.chunksPerRank) +
         " chunks a rank × " + std::to_string(shape.microbatches) +
         " microbatches), expected at most " + std::to_string(mostPairs) +
         "; take fewer microbatches";
}

/// What to do about too many chunks, where at most `most` a rank are possible.
static std::string adviseOnChunks(llvm::StringRef schedule, int64_t chunks, int64_t most) {
  if (chunks == 1 || most == 0)
    return ": take a smaller pp";
  if (pipeline::takesAnyChunks(schedule))
    return ": lower --pp-chunks to " + std::to_string(most) + ", or take a smaller pp";
  return ": take a schedule of one chunk a rank, as --pp-schedule 1f1b, or a smaller pp";
}

std::string pipeline::checkBlocks(const Shape &shape, int64_t blocks, llvm::StringRef schedule) {
  if (shape.getChunks() <= blocks)
    return "";
  return "the model is " + std::to_string(blocks) +
         " blocks, embedding and head included, too few for " + std::to_string(shape.getChunks()) +
         " chunks (pp=" + std::to_string(shape.ranks) + " × " +
         std::to_string(shape.chunksPerRank) + " a rank); the most that it can be cut into is " +
         std::to_string(blocks) +
         adviseOnChunks(schedule, shape.chunksPerRank, blocks / shape.ranks);
}

static const BuiltIn *findBuiltIn(llvm::StringRef name) {
  const auto *found =
      llvm::find_if(kBuiltIn, [&](const BuiltIn &builtIn) { return builtIn.name == name; });
  return found == std::end(kBuiltIn) ? nullptr : found;
}

std::optional<int64_t> pipeline::getChunksPerRank(llvm::StringRef name) {
  const BuiltIn *found = findBuiltIn(name);
  if (!found)
    return std::nullopt;
  // Of one chunk a rank it would be 1f1b, which nobody means who asks for it by name alone.
  return found->chunksPerRank ? found->chunksPerRank : 2;
}

bool pipeline::takesAnyChunks(llvm::StringRef name) {
  const BuiltIn *found = findBuiltIn(name);
  return found && !found->chunksPerRank;
}

std::optional<Schedule> pipeline::makeSchedule(llvm::StringRef name, const Shape &shape,
                                               std::string &problem) {
  const BuiltIn *found = findBuiltIn(name);
  if (!found) {
    problem = "is no schedule; expected one of " + llvm::join(getScheduleNames(), ", ") +
              suggestNearest(name, getScheduleNames());
    return std::nullopt;
  }
  if (problem = checkSize(shape); !problem.empty())
    return std::nullopt;
  if (found->chunksPerRank && found->chunksPerRank != shape.chunksPerRank) {
    problem = "has " + std::to_string(found->chunksPerRank) +
              (found->chunksPerRank == 1 ? " chunk" : " chunks") + " a rank, not " +
              std::to_string(shape.chunksPerRank) + "; take " +
              std::to_string(found->chunksPerRank) +
              (found->chunksPerRank == 1 ? ", or the schedule interleaved" : "");
    return std::nullopt;
  }
  if (found->inGroups && shape.microbatches % shape.ranks != 0) {
    problem = "needs a number of microbatches that is a multiple of the " +
              std::to_string(shape.ranks) + " pipeline ranks, not " +
              std::to_string(shape.microbatches) + "; the nearest is " +
              std::to_string(roundToMultiple(shape.microbatches, shape.ranks));
    return std::nullopt;
  }
  return found->make(shape);
}
