//===- PipelineScheduleFile.h - Pipeline schedules by name or from a file ---------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PIPELINESCHEDULEFILE_H
#define ULSC_PIPELINESCHEDULEFILE_H

#include "ulsc/PipelineSchedule.h"

#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

namespace ulsc::pipeline {

/// Whether `text`, as `--pp-schedule` takes it, is the path of a table rather than a name.
bool isScheduleFile(llvm::StringRef text);

/// The chunks of a rank of what `text` names, where nobody says how many: as many as the schedule
/// must have, two where any number is legal. Nothing, after an error, where `text` names nothing.
std::optional<int64_t> findChunksPerRank(mlir::Location location, llvm::StringRef text);

/// The schedule that `text` names, built in or a file, for a pipeline of this shape. What is wrong
/// with the name, with the file or with the schedule is reported, in the file where it is there,
/// at `location` otherwise.
std::optional<Schedule> findSchedule(mlir::Location location, llvm::StringRef text,
                                     const Shape &shape);

/// Writes a schedule as `findSchedule` reads it.
void writeSchedule(llvm::raw_ostream &stream, const Schedule &schedule);

} // namespace ulsc::pipeline

#endif // ULSC_PIPELINESCHEDULEFILE_H
