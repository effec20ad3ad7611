//===- Registry.cpp - What each op computes ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Evaluators.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

const Registry::Evaluator *Registry::find(StringRef name) const {
  auto it = evaluators.find(name);
  return it == evaluators.end() ? nullptr : &it->second;
}

LogicalResult Registry::runOnEachRank(Evaluation &all,
                                      function_ref<LogicalResult(LocalEvaluation &)> evaluate) {
  for (int64_t rank : all.interpreter.getActiveRanks()) {
    LocalEvaluation local(all, rank);
    if (failed(evaluate(local)))
      return failure();
  }
  return success();
}

Registry &interpreter::getRegistry() {
  static Registry registry = [] {
    Registry all;
    registerElementwiseEvaluators(all);
    registerShapeEvaluators(all);
    registerModelEvaluators(all);
    registerAttentionEvaluators(all);
    registerLossEvaluators(all);
    registerStructureEvaluators(all);
    registerTrainingEvaluators(all);
    registerCollectiveEvaluators(all);
    return all;
  }();
  return registry;
}
