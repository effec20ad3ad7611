//===- Evaluators.h - The groups of evaluators, one per td file --------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_INTERPRETER_EVALUATORS_H
#define ULSC_LIB_INTERPRETER_EVALUATORS_H

#include "ulsc/Interpreter.h"

namespace ulsc::interpreter {

void registerElementwiseEvaluators(Registry &registry);
void registerShapeEvaluators(Registry &registry);
void registerModelEvaluators(Registry &registry);
void registerAttentionEvaluators(Registry &registry);
void registerLossEvaluators(Registry &registry);
void registerStructureEvaluators(Registry &registry);
void registerTrainingEvaluators(Registry &registry);
void registerCollectiveEvaluators(Registry &registry);

} // namespace ulsc::interpreter

#endif // ULSC_LIB_INTERPRETER_EVALUATORS_H
