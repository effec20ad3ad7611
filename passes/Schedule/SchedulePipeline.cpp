//===- SchedulePipeline.cpp - The stage that cuts joint blocks, buckets and overlaps collectives ---===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/Passes.h"

void ulsc::registerSchedulePipeline() {}
