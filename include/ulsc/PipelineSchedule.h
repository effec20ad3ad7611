//===- PipelineSchedule.h - Pipeline schedules as tables --------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// A schedule says in which order each rank of the pipeline works on its chunks and microbatches.
/// It is data: a function makes it from three numbers, or a file holds it; what compiles and what
/// simulates it don't know its name.
///
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PIPELINESCHEDULE_H
#define ULSC_PIPELINESCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ulsc::pipeline {

/// The module attribute that tells how the model is cut: `{chunks = [{blocks = ["embed",
/// "layer.0"], stage = 0}, …], schedule = "1f1b"}`. Set where stages are built, and kept: report
/// and manifest have it, too.
constexpr llvm::StringLiteral kPipelineAttr = "dist.pipeline";

/// What a rank does with a chunk and a microbatch. `Backward` is both halves at once.
enum class Work : uint8_t { Forward, Backward, BackwardInput, BackwardWeight };

/// "forward", "backward", "backward_input", "backward_weight", as files spell them.
llvm::StringRef getWorkName(Work work);

struct Entry {
  Work work;
  /// In the model's order, from 0.
  int64_t chunk;
  int64_t microbatch;
  bool operator==(const Entry &other) const {
    return work == other.work && chunk == other.chunk && microbatch == other.microbatch;
  }
};

/// How many of each there are. The model is cut into ranks × chunksPerRank chunks.
struct Shape {
  int64_t ranks, microbatches, chunksPerRank = 1;
  int64_t getChunks() const { return ranks * chunksPerRank; }
};

struct Schedule {
  Shape shape;
  /// The rank that holds each chunk.
  std::vector<int64_t> rankOf;
  /// Each rank's work in its order.
  std::vector<std::vector<Entry>> ranks;
};

/// The most ranks, microbatches or chunks of a rank that a schedule may have.
inline constexpr int64_t kMostOfAny = 1 << 16;

/// What is wrong with the size that a table of this shape would have, as the end of a sentence
/// about the schedule; empty if nothing. Only then may one be made.
std::string checkSize(const Shape &shape);

/// What is wrong where a model of so many blocks is cut into the chunks of a shape that `checkSize`
/// accepts; empty if nothing.
std::string checkBlocks(const Shape &shape, int64_t blocks, llvm::StringRef schedule);

/// Schedules that are built in, by name:
/// - `gpipe` (Huang et al. 2019): all forwards, then all backwards; m microbatches in flight;
/// - `1f1b` (Narayanan et al. 2019, 2021): at most min(p − rank, m) in flight;
/// - `interleaved` (Narayanan et al. 2021): several chunks a rank, microbatches a multiple of the
///   ranks;
/// - `zb-h1`, `zb-h2` (Qi et al. 2023): the backward in two halves, weights later, with the memory
///   of 1f1b's first rank, and with about twice that and no bubble;
/// - `zbv` (Qi et al. 2024): two chunks a rank, the second ones in reverse order of ranks.
llvm::ArrayRef<llvm::StringRef> getScheduleNames();

/// The chunks of a rank of a built-in schedule where nobody says how many: those that it must have,
/// or 2 where any number is legal; nothing where there is no such schedule.
std::optional<int64_t> getChunksPerRank(llvm::StringRef name);

/// Whether a built-in schedule may have any number of chunks a rank.
bool takesAnyChunks(llvm::StringRef name);

/// Makes a built-in schedule. Without one, `problem` says what is wrong with the shape for it, as
/// the end of a sentence about the schedule.
std::optional<Schedule> makeSchedule(llvm::StringRef name, const Shape &shape,
                                     std::string &problem);

/// A place in a schedule: an entry of a rank's list; the whole list, or the schedule, where one of
/// them is -1.
struct SchedulePlace {
  int64_t rank = -1, entry = -1;
};

/// What is wrong with a schedule, empty if nothing: each chunk and microbatch has one forward and
/// one backward (whole or in two halves) on the chunk's rank, and the order on all ranks together
/// can be followed without a cyclic wait. The text names what waits for what, `place` is where it
/// is to be mended.
std::string checkSchedule(const Schedule &schedule, SchedulePlace *place = nullptr);

/// How long each kind of work takes on a chunk, and a transfer between ranks.
struct Costs {
  double forward = 1, backwardInput = 1, backwardWeight = 1, transfer = 0;
  double get(Work work) const;
};

struct Timing {
  struct Span {
    Entry entry;
    double start, end;
  };
  std::vector<std::vector<Span>> ranks;
  double makespan = 0;
  /// Of the rank that idles most between its first and its last work: the idle part of that time.
  double idleShare = 0;
  /// Per rank, the most chunk activations held at a time: from a forward to the end of its backward
  /// of weights.
  std::vector<int64_t> inFlight;
};

/// Runs a schedule that `checkSchedule` accepts with the same costs on every chunk.
Timing simulate(const Schedule &schedule, const Costs &costs);

} // namespace ulsc::pipeline

#endif // ULSC_PIPELINESCHEDULE_H
