//===- Memory.h - Static placement of buffers -------------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_MEMORY_H
#define ULSC_MEMORY_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace ulsc::memory {

/// A buffer to place: its bytes, and the first and last point at which it is needed.
struct Lifetime {
  int64_t bytes = 0;
  int64_t first = 0, last = 0;
};

/// Where buffers go.
struct Placement {
  llvm::SmallVector<int64_t> offsets; ///< bytes, one per lifetime
  int64_t bytes = 0;                  ///< end of the highest buffer
};

/// Sizes and offsets are multiples of this.
constexpr int64_t kAlignment = 64;

/// An arena is mapped in whole pages, so that is what it takes.
constexpr int64_t kPageBytes = 4096;

/// Name of the persistent buffer in which the runtime receives what it reduces.
constexpr llvm::StringLiteral kStagingName = "collective.staging";

int64_t align(int64_t bytes);

/// The largest sum of (aligned) bytes that are needed at one point: no placement is smaller.
int64_t getLargestLiveBytes(llvm::ArrayRef<Lifetime> lifetimes);

/// Offsets such that no two buffers whose lifetimes meet share bytes. Tries several orders of
/// placement, at best fit, and improves the best until it is within `tolerance` of the largest live
/// sum or a bound on the work is met. Deterministic.
Placement place(llvm::ArrayRef<Lifetime> lifetimes, double tolerance = 0.005);

/// What the second analysis finds out about the plan of a program, or of one pipeline stage's.
struct PlanCheck {
  mlir::Operation *entry = nullptr;
  int64_t largestLiveBytes = 0; ///< of transient buffers, frames of callees followed into
  int64_t transientBytes = 0;   ///< of the arena, past what persists
};

/// Follows every buffer of the planned program through `exec`, by op, independently of how the plan
/// was made. Fails, with a diagnostic naming both, where two live buffers overlap or a buffer
/// leaves its frame.
mlir::FailureOr<std::vector<PlanCheck>> checkPlan(mlir::ModuleOp module);

} // namespace ulsc::memory

#endif // ULSC_MEMORY_H
