//===- Builders.h - Schedules that take more than a formula -----------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_PIPELINE_BUILDERS_H
#define ULSC_LIB_PIPELINE_BUILDERS_H

#include "ulsc/PipelineSchedule.h"

namespace ulsc::pipeline {

/// `zbv`; the shape has two chunks a rank.
Schedule makeZeroBubbleV(const Shape &shape);

} // namespace ulsc::pipeline

#endif // ULSC_LIB_PIPELINE_BUILDERS_H
