//===- RecomputePolicy.h - What backward blocks compute again ---------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SCHEDULE_RECOMPUTEPOLICY_H
#define ULSC_PASSES_SCHEDULE_RECOMPUTEPOLICY_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir {
class MLIRContext;
class Operation;
} // namespace mlir

namespace ulsc {

/// Kinds of ops by what computing them again means, as bits of a set.
enum RecomputeKind : unsigned {
  RearrangesOnly = 1, ///< views, constants, moved elements: no policy saves both sides of one
  Normalization = 2,
  Activation = 4, ///< all else that reads and writes about as much as it computes
  Attention = 8,
  Heavy = 16,      ///< contractions and whatever else computes much
  Gather = 32,     ///< all-gathers, of which each rank's shard is kept instead
  NeverAgain = 64, ///< other collectives
};

RecomputeKind getRecomputeKind(mlir::Operation *op);

/// Of one block, exactly the values to keep, where the cut has a choice: results of the ops of the
/// forward part, numbered in order.
struct KeptValues {
  std::string block;
  llvm::SmallVector<unsigned> values;
};

/// As `--recompute` spells it: `none`, `selective`, `selective:attn,norm,act,gather`,
/// `selective:price=P,keep=BLOCK+I+J`, `full`, `full:group=K,layers=N,price=P,keep=BLOCK+I+J`.
struct RecomputePolicy {
  /// A set of kinds that a backward block may compute again.
  unsigned kinds = RearrangesOnly | Normalization | Activation | Gather;
  /// Whether forward calls of layers are made again from stored inputs.
  bool isFull = false;
  /// Layers that share one stored input.
  int64_t group = 1;
  /// How many layers, counted from the first; all of them without a value.
  std::optional<int64_t> layers;
  /// What keeping a MiB is worth in predicted nanoseconds of computing; without a value, all ops of
  /// the kinds are cheap enough.
  std::optional<int64_t> price;
  std::optional<KeptValues> keep;

  /// Lets ops of all kinds be computed again that are worth it at `price`.
  void setPrice(int64_t price);

  /// Reads a policy. `problem` tells what is wrong, as the end of a sentence about the option.
  static std::optional<RecomputePolicy> parse(llvm::StringRef text, std::string &problem);
  /// Reads the option `recompute` of a pass, and reports what is wrong with it.
  static llvm::FailureOr<RecomputePolicy> read(mlir::MLIRContext *context, llvm::StringRef text);
  /// The canonical spelling.
  std::string str() const;
};

/// A price at which no time is too long: as little is kept as can be.
constexpr int64_t kHighestPrice = int64_t(1) << 23;

/// What holds when nothing is said.
constexpr llvm::StringLiteral kDefaultRecompute = "selective:norm,act,gather";

} // namespace ulsc

#endif // ULSC_PASSES_SCHEDULE_RECOMPUTEPOLICY_H
