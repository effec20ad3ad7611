//===- ZeroBubbleV.cpp - Two chunks a rank, there and back
//--------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "lib/Pipeline/Builders.h"

#include <algorithm>

using namespace ulsc;
using namespace ulsc::pipeline;

namespace {
/// Every rank takes, in each unit of time, the first of these that it can: a backward of inputs, a
/// forward as far as memory allows, a backward of weights. Forwards, backwards of inputs and those
/// of weights take a unit each.
class GreedyBuilder {
public:
  explicit GreedyBuilder(Schedule &schedule) : schedule(schedule) {
    int64_t cells = schedule.shape.getChunks() * schedule.shape.microbatches;
    for (auto &times : doneAt)
      times.assign(cells, kNever);
    held.resize(schedule.shape.ranks);
  }

  void run() {
    int64_t left = 3 * schedule.shape.getChunks() * schedule.shape.microbatches;
    for (time = 0; left > 0; ++time)
      for (int64_t rank = 0; rank < schedule.shape.ranks; ++rank)
        left -= runOne(rank);
  }

private:
  static constexpr int64_t kNever = INT64_MAX;
  enum Kind { Forward, Input, Weight };

  int64_t &done(Kind kind, int64_t chunk, int64_t microbatch) {
    return doneAt[kind][chunk * schedule.shape.microbatches + microbatch];
  }

  bool isDone(Kind kind, int64_t chunk, int64_t microbatch) {
    return done(kind, chunk, microbatch) <= time;
  }

  bool isReady(Kind kind, int64_t chunk, int64_t microbatch) {
    int64_t last = schedule.shape.getChunks() - 1;
    switch (kind) {
    case Forward:
      return chunk == 0 || isDone(Forward, chunk - 1, microbatch);
    case Input:
      return isDone(Forward, chunk, microbatch) &&
             (chunk == last || isDone(Input, chunk + 1, microbatch));
    case Weight:
      return isDone(Input, chunk, microbatch);
    }
    return false;
  }

  /// Twice the ranks, as many chunks as 1f1b's first rank holds whole stages; the last place is
  /// kept for the way back, without which nothing would ever be given free.
  bool hasRoom(int64_t rank, int64_t chunk) {
    int64_t ranks = schedule.shape.ranks;
    return held[rank] < 2 * ranks - (chunk < ranks ? 1 : 0);
  }

  bool take(int64_t rank, Kind kind, Work work, int64_t chunk) {
    // Microbatches go through a chunk in order.
    for (int64_t i = 0; i < schedule.shape.microbatches; ++i) {
      if (done(kind, chunk, i) != kNever)
        continue;
      if (!isReady(kind, chunk, i))
        return false;
      done(kind, chunk, i) = time + 1;
      held[rank] += kind == Forward ? 1 : kind == Weight ? -1 : 0;
      schedule.ranks[rank].push_back({work, chunk, i});
      return true;
    }
    return false;
  }

  bool runOne(int64_t rank) {
    // On the way back first: that is nearer to giving memory free.
    int64_t there = rank, back = schedule.shape.getChunks() - 1 - rank;
    for (int64_t chunk : {there, back})
      if (take(rank, Input, Work::BackwardInput, chunk))
        return true;
    for (int64_t chunk : {back, there})
      if (hasRoom(rank, chunk) && take(rank, Forward, Work::Forward, chunk))
        return true;
    for (int64_t chunk : {back, there})
      if (take(rank, Weight, Work::BackwardWeight, chunk))
        return true;
    return false;
  }

  Schedule &schedule;
  int64_t time = 0;
  /// When each chunk and microbatch is done, by kind.
  std::vector<int64_t> doneAt[3];
  /// Chunk activations that each rank holds.
  std::vector<int64_t> held;
};
} // namespace

Schedule pipeline::makeZeroBubbleV(const Shape &shape) {
  Schedule schedule{shape, {}, {}};
  schedule.ranks.resize(shape.ranks);
  for (int64_t chunk = 0; chunk < shape.getChunks(); ++chunk)
    schedule.rankOf.push_back(std::min(chunk, shape.getChunks() - 1 - chunk));
  GreedyBuilder(schedule).run();
  return schedule;
}
