//===- PredictExposure.cpp - How long ranks wait for each collective --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"
#include "passes/Lower/CollectiveTable.h"
#include "passes/Lower/Passes.h"
#include "ulsc/Timeline/Timeline.h"

namespace ulsc {
#define GEN_PASS_DEF_PREDICTEXPOSUREPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

namespace {
struct PredictExposure : ulsc::impl::PredictExposurePassBase<PredictExposure> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool hasCollectives =
        module.walk([](dist::CollectiveOpInterface) { return WalkResult::interrupt(); })
            .wasInterrupted();
    if (!hasCollectives || module.getOps<uls::StepOp>().empty())
      return;
    cost::Cluster cluster = cost::Cluster::getDefault();
    FailureOr<timeline::Program> program = timeline::readProgram(module, cluster);
    if (failed(program))
      return signalPassFailure();
    std::string problem;
    std::optional<timeline::Timeline> timeline = timeline::simulate(std::move(*program), problem);
    if (!timeline)
      return;
    struct Waits {
      double us = 0;
      int64_t calls = 0;
    };
    llvm::MapVector<Operation *, Waits> waits;
    for (auto [program, rank] : llvm::zip_equal(timeline->program.ranks, timeline->ranks))
      for (auto [communication, us] : llvm::zip_equal(program.communications, rank.waitedUs)) {
        waits[communication.op].us += us;
        ++waits[communication.op].calls;
      }
    Builder builder(module.getContext());
    for (auto &[op, wait] : waits)
      op->setAttr(lower::CollectiveTable::kPredictedExposedAttrName,
                  builder.getF64FloatAttr(wait.us / double(wait.calls)));
  }
};
} // namespace
