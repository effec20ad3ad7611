//===- GroupLaunches.cpp - Launches of one family as one --------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/LaunchGroups.h"
#include "passes/Lower/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace ulsc {
#define GEN_PASS_DEF_GROUPLAUNCHESPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

namespace {

struct GroupLaunches : ulsc::impl::GroupLaunchesPassBase<GroupLaunches> {
  void runOnOperation() override {
    SmallVector<LaunchStretch> stretches = findLaunchStretches(getOperation());
    auto isSingle = [](const LaunchGroup &group) { return group.size() == 1; };
    llvm::erase_if(stretches, [&](const LaunchStretch &stretch) {
      return llvm::all_of(stretch.groups, isSingle);
    });
    if (stretches.empty())
      return;
    DeviceFunctions functions(getOperation());
    merged.clear();
    groupCount = 0;
    for (LaunchStretch &stretch : stretches)
      if (failed(mergeStretch(stretch, functions)))
        return signalPassFailure();
    eraseUnusedKernels();
  }

private:
  LogicalResult mergeStretch(LaunchStretch &stretch, DeviceFunctions &functions) {
    Operation *last = nullptr;
    for (LaunchGroup &group : stretch.groups)
      if (Operation *op = group.back().launch; !last || last->isBeforeInBlock(op))
        last = op;
    SmallVector<exec::LaunchOp> replaced;
    for (LaunchGroup &group : stretch.groups) {
      if (group.size() == 1)
        continue;
      FailureOr<bool> isMerged = mergeGroup(group, last, functions);
      if (failed(isMerged))
        return failure();
      for (GroupMember &member : group)
        if (*isMerged)
          replaced.push_back(member.launch);
    }
    if (replaced.empty())
      return success();
    // What was filled behind a launch still is.
    for (exec::FillOp fill : llvm::reverse(stretch.fills))
      if (fill->isBeforeInBlock(last))
        fill->moveAfter(last);
    for (exec::LaunchOp launch : replaced) {
      merged.insert(launch.getKernelAttr().getAttr());
      launch.erase();
    }
    return success();
  }

  /// Puts the launch of all members before `last`; false where no kernel does them all.
  FailureOr<bool> mergeGroup(LaunchGroup &group, Operation *last, DeviceFunctions &functions) {
    for (GroupMember &member : group)
      if (failed(member.kernel.verifyLowered()))
        return failure();
    std::optional<GroupKernel> kernel =
        emitGroupKernel(functions, chooseName(*group.front().kernel.getFamily()), group);
    if (!kernel)
      return false;
    SmallVector<Value> inputs, outputs;
    SmallVector<Location> locations;
    for (GroupMember &member : group) {
      llvm::append_range(inputs, member.launch.getInputs());
      llvm::append_range(outputs, member.launch.getOutputs());
      locations.push_back(member.launch.getLoc());
    }
    OpBuilder builder(last);
    exec::LaunchOp::create(builder, FusedLoc::get(&getContext(), locations), kernel->symbol, inputs,
                           outputs, ValueRange(),
                           builder.getI64IntegerAttr(kernel->geometry.blocks),
                           builder.getI64IntegerAttr(kernel->geometry.threads));
    return true;
  }

  /// A name after the first word of the family's.
  std::string chooseName(StringRef family) {
    std::string name;
    do
      name = (family.split(' ').first + "_group_" + Twine(++groupCount)).str();
    while (getOperation().lookupSymbol(name));
    return name;
  }

  void eraseUnusedKernels() {
    llvm::DenseSet<StringAttr> launched;
    getOperation().walk(
        [&](exec::LaunchOp launch) { launched.insert(launch.getKernelAttr().getAttr()); });
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<exec::KernelOp>()))
      if (StringAttr name = kernel.getSymNameAttr();
          merged.contains(name) && !launched.contains(name))
        kernel.erase();
  }

  llvm::DenseSet<StringAttr> merged; ///< kernels of launches that are gone
  int64_t groupCount = 0;
};

} // namespace
