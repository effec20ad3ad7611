//===- ReshardPolicy.h - What stays of gathered parameters after the forward -------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SCHEDULE_RESHARDPOLICY_H
#define ULSC_PASSES_SCHEDULE_RESHARDPOLICY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ulsc {

/// As `--reshard-after-forward` spells it: `true`, `false`, or a number of ranks.
struct ReshardPolicy {
  /// Among how many ranks a unit lies between its forward and its backward: without a value as it
  /// is stored (`true`), 1 is whole on each (`false`).
  std::optional<int64_t> ranks;

  /// Reads a policy. `problem` tells what is wrong, as the end of a sentence about the option.
  static std::optional<ReshardPolicy> parse(llvm::StringRef text, std::string &problem);

  /// What is wrong with a number of ranks where parameters are stored over axes of these names and
  /// sizes, major to minor; empty when it is legal.
  std::string findProblem(llvm::ArrayRef<std::pair<std::string, int64_t>> axes) const;
};

} // namespace ulsc

#endif // ULSC_PASSES_SCHEDULE_RESHARDPOLICY_H
