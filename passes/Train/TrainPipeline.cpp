//===- TrainPipeline.cpp - The stage that differentiates blocks and writes down the step ---===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Train/Passes.h"

void ulsc::registerTrainPipeline() {}
