//===- CutVariations.h - Other sets of values that a block may keep ---------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SCHEDULE_CUTVARIATIONS_H
#define ULSC_PASSES_SCHEDULE_CUTVARIATIONS_H

#include "passes/Schedule/RecomputePolicy.h"

#include "dialects/Uls/Uls.h"

namespace ulsc {

/// Sets of values that one joint block may keep beside those that a minimum cut finds.
class CutVariations {
public:
  explicit CutVariations(uls::BlockOp block);

  /// All sets of a block with few values to decide about; for others, what differs from the set of
  /// `start` in one value. As policies that are else like `start`, each set once.
  llvm::SmallVector<RecomputePolicy> collect(const RecomputePolicy &start);

private:
  /// Numbers of the values that `start` keeps among those to decide about.
  llvm::SmallVector<unsigned> getKept(const RecomputePolicy &start);

  uls::BlockOp block;
  /// Numbers, among the results of the forward part, of the values to decide about.
  llvm::SmallVector<unsigned> decidable;
};

} // namespace ulsc

#endif // ULSC_PASSES_SCHEDULE_CUTVARIATIONS_H
