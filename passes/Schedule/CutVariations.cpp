//===- CutVariations.cpp - Other sets of values that a block may keep -------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/CutVariations.h"

#include "passes/Schedule/SavedValues.h"

#include <set>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

/// The most values for which all sets are formed.
static constexpr size_t kFewValues = 10;

/// Calls `visit` with each result of the forward part and its number.
template <typename Visit>
static void forEachForwardValue(BlockOp block, Visit visit) {
  unsigned number = 0;
  for (Operation &op : block.getEntry()) {
    if (isa<ResultOp>(op))
      return;
    for (Value result : op.getResults())
      visit(result, number++);
  }
}

CutVariations::CutVariations(BlockOp block) : block(block) {
  forEachForwardValue(block, [&](Value value, unsigned number) {
    bool isOnlyResult =
        llvm::all_of(value.getUsers(), [](Operation *op) { return isa<ResultOp>(op); });
    if (!isOnlyResult && getRecomputeKind(value.getDefiningOp()) != RearrangesOnly)
      decidable.push_back(number);
  });
}

SmallVector<unsigned> CutVariations::getKept(const RecomputePolicy &start) {
  SmallVector<unsigned> kept;
  FailureOr<SavedValues> saved = chooseSavedValues(block, start);
  if (failed(saved))
    return kept;
  forEachForwardValue(block, [&](Value value, unsigned number) {
    if (llvm::is_contained(saved->results, value) && llvm::is_contained(decidable, number))
      kept.push_back(number);
  });
  return kept;
}

SmallVector<RecomputePolicy> CutVariations::collect(const RecomputePolicy &start) {
  SmallVector<SmallVector<unsigned>> sets;
  if (decidable.size() <= kFewValues) {
    for (uint64_t mask = 0; mask < uint64_t(1) << decidable.size(); ++mask) {
      SmallVector<unsigned> &set = sets.emplace_back();
      for (auto [i, number] : llvm::enumerate(decidable))
        if (mask >> i & 1)
          set.push_back(number);
    }
  } else {
    SmallVector<unsigned> kept = getKept(start);
    for (unsigned number : decidable) {
      SmallVector<unsigned> &set = sets.emplace_back(kept);
      if (llvm::is_contained(set, number))
        llvm::erase(set, number);
      else
        set.push_back(number);
    }
  }
  SmallVector<RecomputePolicy> policies;
  std::set<std::vector<unsigned>> seen;
  for (SmallVector<unsigned> &set : sets) {
    RecomputePolicy policy = start;
    policy.keep = KeptValues{block.getSymName().str(), set};
    if (failed(chooseSavedValues(block, policy)))
      continue;
    // What is not needed makes no difference: the set that is kept in the end counts.
    policy.keep->values = getKept(policy);
    const auto &values = policy.keep->values;
    if (seen.emplace(values.begin(), values.end()).second)
      policies.push_back(policy);
  }
  return policies;
}
