//===- MemoryInference.h - Memory of serving a model -------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_MEMORYINFERENCE_H
#define ULSC_TOOLS_ULSC_MEMORYINFERENCE_H

#include "tools/ulsc/MemoryOutput.h"
#include "tools/ulsc/MemoryRequest.h"

namespace ulsc::tool {

/// `ulsc memory MODEL --inference`: weights, key/value cache, and how many sequences fit. Returns
/// the exit code; errors are reported.
int runInference(const Arguments &arguments, const MemoryRequest &request, MemoryOutput &output);

} // namespace ulsc::tool

#endif // ULSC_TOOLS_ULSC_MEMORYINFERENCE_H
