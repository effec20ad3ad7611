//===- PipelineTransfers.h - What ranks of a pipeline send and when ----------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// A schedule orders the work of each rank. This adds where values travel between ranks: when each
/// send and receive starts and when it is waited for.
///
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PIPELINETRANSFERS_H
#define ULSC_PIPELINETRANSFERS_H

#include "ulsc/PipelineSchedule.h"

namespace ulsc::pipeline {

/// Work on a chunk, on whatever microbatch. `BackwardInput` stands for a whole backward, too.
struct ChunkWork {
  Work work;
  int64_t chunk;
};

/// A value that one chunk's work gives and work of other chunks, on one other rank, takes; once a
/// microbatch.
struct Flow {
  ChunkWork from;
  std::vector<ChunkWork> to;
};

/// What a rank does next. Sends and receives are of a flow's value of a microbatch.
struct Event {
  enum class Kind : uint8_t { Compute, StartSend, WaitSend, StartReceive, WaitReceive };
  Kind kind;
  /// Of `Compute`.
  Entry entry;
  /// Of the others: the index of the flow.
  int64_t flow = -1;
  int64_t microbatch = -1;
};

/// Each rank's events, for a schedule that `checkSchedule` accepts:
/// - a send starts right after the work that gives its value, a receive before the work ahead of
///   the one that takes it, so that it travels while that computes;
/// - receives from one rank start in the order in which that rank sends;
/// - a receive is waited for before the work that takes it, a send after the next work, at the
///   first place where, with `costs`, the other rank has started its receive.
///
/// Nobody waits for ever, even where a send is complete only after its receive has started: in the
/// run that `simulate` times, an event waits only for starts of its own time or before, and starts
/// come before waits of the same time.
std::vector<std::vector<Event>> planTransfers(const Schedule &schedule, llvm::ArrayRef<Flow> flows,
                                              const Costs &costs);

} // namespace ulsc::pipeline

#endif // ULSC_PIPELINETRANSFERS_H
