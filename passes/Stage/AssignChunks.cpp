//===- AssignChunks.cpp - Cuts the calls of a step into chunks
//---------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Stage/ChunkParts.h"
#include "passes/Stage/Passes.h"

#include "ulsc/Cost/OpCost.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

#include <limits>

namespace ulsc {
#define GEN_PASS_DEF_ASSIGNCHUNKSPASS
#include "passes/Stage/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::stage;

namespace {
class AssignChunks : public ulsc::impl::AssignChunksPassBase<AssignChunks> {
public:
  using AssignChunksPassBase::AssignChunksPassBase;
  void runOnOperation() override;
};
} // namespace

/// Microseconds of a block's forward and backward, on whole sizes: only their proportions matter.
static double predictBlock(uls::BlockOp block, const cost::Cluster &cluster) {
  double us = 0;
  block.walk([&](Operation *op) { us += cost::predictUs(op, cluster); });
  return us;
}

/// The ends of `count` runs of `times`, none of them empty, whose longest is as short as can be,
/// and, of those, whose squares sum to the least. Dynamic programming over the number of runs.
static SmallVector<size_t> cutEvenly(ArrayRef<double> times, size_t count) {
  size_t n = times.size();
  std::vector<double> before(n + 1);
  for (size_t i = 0; i < n; ++i)
    before[i + 1] = before[i] + times[i];
  constexpr double kNever = std::numeric_limits<double>::infinity();
  // Sums differ in their last bits by the order of their terms.
  double slack = 1e-9 * before[n];

  auto solve = [&](double limit, bool minimizesLongest, std::vector<std::vector<size_t>> &cuts) {
    std::vector<std::vector<double>> best(count + 1, std::vector<double>(n + 1, kNever));
    cuts.assign(count + 1, std::vector<size_t>(n + 1));
    best[0][0] = 0;
    for (size_t run = 1; run <= count; ++run)
      for (size_t end = run; end <= n; ++end)
        for (size_t begin = run - 1; begin < end; ++begin) {
          double time = before[end] - before[begin];
          if (time > limit)
            continue;
          double value = minimizesLongest ? std::max(best[run - 1][begin], time)
                                          : best[run - 1][begin] + time * time;
          if (value < best[run][end] - (minimizesLongest ? 0 : slack * slack)) {
            best[run][end] = value;
            cuts[run][end] = begin;
          }
        }
    return best[count][n];
  };
  std::vector<std::vector<size_t>> cuts;
  double longest = solve(kNever, true, cuts);
  solve(longest + slack, false, cuts);
  SmallVector<size_t> ends(count);
  for (size_t run = count, end = n; run > 0; end = cuts[run--][end])
    ends[run - 1] = end;
  return ends;
}

void AssignChunks::runOnOperation() {
  ModuleOp module = getOperation();
  int64_t ranks = getPipelineRanks(module);
  if (ranks == 1)
    return;
  SymbolTable symbols(module);
  cost::Cluster cluster = cost::Cluster::getDefault();
  for (auto step : module.getOps<uls::StepOp>()) {
    SmallVector<uls::CallOp> calls;
    for (auto loop : step.getEntry().getOps<uls::MicrobatchesOp>())
      llvm::append_range(calls, loop.getBody().front().getOps<uls::CallOp>());
    size_t count = ranks * chunks;
    if (calls.size() < count) {
      step.emitError() << "the model is " << calls.size()
                       << " blocks, embedding and head included, too few for " << count
                       << " chunks (pp=" << ranks << " × " << chunks
                       << " a rank); the most that it can be cut into is " << calls.size();
      return signalPassFailure();
    }
    llvm::StringMap<double> timeOf;
    SmallVector<double> times;
    for (uls::CallOp call : calls) {
      auto [known, isNew] = timeOf.try_emplace(call.getCallee(), 0);
      if (isNew)
        known->second = predictBlock(symbols.lookup<uls::BlockOp>(call.getCallee()), cluster);
      times.push_back(known->second);
    }
    Builder builder(&getContext());
    size_t first = 0;
    for (auto [chunk, end] : llvm::enumerate(cutEvenly(times, count)))
      for (; first < end; ++first)
        calls[first]->setAttr(dist::DistDialect::kChunkAttrName, builder.getI64IntegerAttr(chunk));
  }
}
