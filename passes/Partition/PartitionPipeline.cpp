//===- PartitionPipeline.cpp - The stage that makes shapes local and communication explicit ---===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Partition/Passes.h"

void ulsc::registerPartitionPipeline() {}
