//===- Timeline.h - When ranks do what in a step, predicted ----------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// A discrete-event run of a program: each rank works in its order, communication travels beside
/// the work, a wait takes until what it waits for is there. What is simulated and what not:
/// docs/pipelines.md.
///
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TIMELINE_TIMELINE_H
#define ULSC_TIMELINE_TIMELINE_H

#include "ulsc/Timeline/Program.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace ulsc::timeline {

struct Span {
  Label label;
  double start = 0, end = 0;
};

/// A rank stands still until what it waits for is there.
struct Wait {
  /// A number in `RankProgram::communications`.
  size_t communication = 0;
  double start = 0, end = 0;
  /// Whether a block call waits, whose span holds this.
  bool isInCall = false;
};

struct MemoryPoint {
  double time = 0;
  Bytes bytes = {};
};

struct RankTimeline {
  /// Calls and work of the step, one after another.
  std::vector<Span> work;
  std::vector<Wait> waits;
  /// By the numbers of `RankProgram::communications`: when it travels.
  std::vector<Span> communications;
  /// By the same numbers: how long the rank stands still for it.
  std::vector<double> waitedUs;
  /// Of matched sends: the number of the receive among the peer's communications.
  std::vector<std::pair<size_t, size_t>> receivedAs;
  /// Bytes from each time on.
  std::vector<MemoryPoint> memory;

  double workUs = 0;
  /// What the step waits between calls, for messages and for collectives, and what calls wait.
  double transferWaitUs = 0, collectiveWaitUs = 0, callWaitUs = 0;
  /// Between the rank's first and last call: the share of time without work. Waits inside of calls
  /// are work.
  double idleShare = 0;
  /// The most pairs of chunk and microbatch between their first forward and their last backward.
  int64_t inFlight = 0;
  /// Where the sum of bytes is largest.
  MemoryPoint peak;
};

struct Timeline {
  Program program;
  std::vector<RankTimeline> ranks;
  /// When the last rank is done.
  double makespan = 0;
  /// Of the rank that idles most, as `pipeline::Timing` has it.
  double idleShare = 0;
};

/// Runs a program. Without a timeline ranks wait for each other for ever, and `problem` says which
/// for what.
std::optional<Timeline> simulate(Program program, std::string &problem);

/// Both: reads the module and runs it; fails after an error.
mlir::FailureOr<Timeline> makeTimeline(mlir::ModuleOp module, const cost::Cluster &cluster);

/// The object `pipeline` of the report.
llvm::json::Object makeReport(const Timeline &timeline, llvm::StringRef schedule);

/// A line for each rank, and the whole. `schedule` is empty without stages.
void print(llvm::raw_ostream &stream, const Timeline &timeline, llvm::StringRef schedule);

/// Chrome's trace event format, which Perfetto and chrome://tracing show.
void writeTrace(llvm::raw_ostream &stream, const Timeline &timeline);

/// A page that needs nothing else. `title` and `schedule` stand above.
void writePage(llvm::raw_ostream &stream, const Timeline &timeline, llvm::StringRef title,
               llvm::StringRef schedule);

} // namespace ulsc::timeline

#endif // ULSC_TIMELINE_TIMELINE_H
