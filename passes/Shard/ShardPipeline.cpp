//===- ShardPipeline.cpp - The stage that propagates shardings ---===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Shard/Passes.h"

void ulsc::registerShardPipeline() {}
