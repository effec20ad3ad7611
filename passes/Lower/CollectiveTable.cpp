//===- CollectiveTable.cpp - Numbers of collectives and groups --------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/CollectiveTable.h"

#include "dialects/Uls/Uls.h"
#include "ulsc/Report.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// How often a loop around `op` runs it.
static int64_t getTrips(Operation *op) {
  auto loop = op->getParentOfType<uls::MicrobatchesOp>();
  return loop ? loop.getCount() : 1;
}

/// Tells `found` of each block that the body of `function`, run `times` times, calls, and how
/// often.
static void findCalls(Operation *function, int64_t times, SymbolTable &symbols,
                      llvm::function_ref<void(StringRef, int64_t)> found) {
  function->walk([&](uls::CallOp call) {
    int64_t inner = times * getTrips(call);
    found(call.getCallee(), inner);
    if (Operation *callee = symbols.lookup(call.getCallee()))
      findCalls(callee, inner, symbols, found);
  });
}

CollectiveTable::CollectiveTable(ModuleOp module) : module(module) {
  SymbolTable symbols(module);
  for (auto step : module.getOps<uls::StepOp>())
    steps.push_back(step);
  for (auto [i, step] : llvm::enumerate(steps))
    findCalls(step, 1, symbols, [&, i = i](StringRef block, int64_t times) {
      Counts &counts = calls[block];
      counts.resize(steps.size());
      counts[i] += times;
    });
}

CollectiveTable::Counts CollectiveTable::countRuns(Operation *op) {
  Counts counts(steps.size());
  if (auto block = op->getParentOfType<uls::BlockOp>()) {
    counts = calls.lookup(block.getSymName());
    counts.resize(steps.size()); // a block that nothing calls
  } else {
    for (auto [count, step] : llvm::zip_equal(counts, steps))
      count = step->isAncestor(op);
  }
  for (int64_t &count : counts)
    count *= getTrips(op);
  return counts;
}

int64_t CollectiveTable::addCollective(dist::CollectiveOpInterface collective) {
  Builder builder(module.getContext());
  report::CollectiveRow row = report::describeCollective(collective);
  Counts counts = countRuns(collective);
  bool hasStages = !steps.empty() && dist::getStage(steps.front()) >= 0;
  NamedAttribute count =
      hasStages
          ? builder.getNamedAttr("counts_per_step", builder.getI64ArrayAttr(counts))
          : builder.getNamedAttr("count_per_step",
                                 builder.getI64IntegerAttr(counts.empty() ? 0 : counts.front()));
  SmallVector<NamedAttribute> entry = {
      count,
      builder.getNamedAttr("kind", builder.getStringAttr(row.kind)),
      builder.getNamedAttr("axes", collective.getAxes()),
      builder.getNamedAttr("phase", builder.getStringAttr(row.phase)),
      builder.getNamedAttr("source", builder.getStringAttr(row.source)),
      builder.getNamedAttr("cause", builder.getStringAttr(row.cause)),
      builder.getNamedAttr("dtype", builder.getStringAttr(row.dtype)),
      builder.getNamedAttr("bytes", builder.getI64IntegerAttr(row.bytes)),
      builder.getNamedAttr("predicted_us", builder.getF64FloatAttr(row.predictedUs)),
  };
  if (auto send = dyn_cast<dist::SendOp>(collective.getOperation()))
    entry.push_back(builder.getNamedAttr("peer", builder.getI64IntegerAttr(send.getPeer())));
  if (Attribute exposed = collective->getAttr(kPredictedExposedAttrName))
    entry.push_back(builder.getNamedAttr("predicted_exposed_us", exposed));
  collectives.push_back(builder.getDictionaryAttr(entry));
  return collectives.size() - 1;
}

int64_t CollectiveTable::getGroup(ArrayAttr axes) {
  auto *it = llvm::find(groups, axes);
  int64_t index = it - groups.begin();
  if (it == groups.end())
    groups.push_back(axes);
  return index;
}

void CollectiveTable::attach() {
  Builder builder(module.getContext());
  module->setAttr(kCollectivesAttrName, builder.getArrayAttr(collectives));
  module->setAttr(kGroupsAttrName, builder.getArrayAttr(groups));
}
