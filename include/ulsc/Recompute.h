//===- Recompute.h - How the cut of joint blocks is remembered --------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_RECOMPUTE_H
#define ULSC_RECOMPUTE_H

#include "llvm/ADT/StringRef.h"

namespace ulsc {

/// On the module: the policy by which its joint blocks were cut.
constexpr llvm::StringLiteral kRecomputeAttr = "uls.recompute";

/// On a forward call that is made again for its backward call. It stays behind the calls before it.
constexpr llvm::StringLiteral kRepeatedAttr = "uls.again";

/// On a block: floating-point operations of a call that computed something before, without which
/// the model would be the same.
constexpr llvm::StringLiteral kRecomputedFlopsAttr = "uls.recomputed_flops";

/// On a block: microseconds that are predicted for the same.
constexpr llvm::StringLiteral kRecomputedUsAttr = "uls.recomputed_us";

} // namespace ulsc

#endif // ULSC_RECOMPUTE_H
