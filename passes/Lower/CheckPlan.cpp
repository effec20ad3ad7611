//===- CheckPlan.cpp - Checks the memory plan by a second analysis ----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "passes/Lower/Passes.h"
#include "ulsc/Memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace ulsc {
#define GEN_PASS_DEF_CHECKPLANPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

namespace {
struct CheckPlan : ulsc::impl::CheckPlanPassBase<CheckPlan> {
  void runOnOperation() override {
    auto checks = memory::checkPlan(getOperation());
    if (failed(checks))
      return signalPassFailure();
    for (const memory::PlanCheck &check : *checks) {
      // Alignment alone may exceed 3 % of a very small program. A wasteful plan is still a right
      // one.
      constexpr int64_t negligible = 4096;
      int64_t excess = check.transientBytes - check.largestLiveBytes - negligible;
      if (excess / 3 > check.largestLiveBytes / 100)
        check.entry->emitWarning() << "the arena's transient part of " << check.transientBytes
                                   << " bytes exceeds the largest sum of live bytes, "
                                   << check.largestLiveBytes << ", by more than 3 %";
      check.entry->setAttr("exec.largest_live_bytes",
                           Builder(&getContext()).getI64IntegerAttr(check.largestLiveBytes));
    }
  }
};
} // namespace
