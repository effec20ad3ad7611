//===- ImportPipeline.cpp - The stage that cuts models into blocks and attaches annotations ---===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

void ulsc::registerImportPipeline() {}
