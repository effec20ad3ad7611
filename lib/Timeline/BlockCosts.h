//===- BlockCosts.h - What a call of a block takes --------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_TIMELINE_BLOCKCOSTS_H
#define ULSC_LIB_TIMELINE_BLOCKCOSTS_H

#include "dialects/Uls/Uls.h"
#include "ulsc/Cost/Cluster.h"

#include <vector>

namespace ulsc::timeline {

/// What a call of a block does, in order: every op of a block is priced once, however often it is
/// called.
struct BlockCosts {
  struct Part {
    /// Work of so many microseconds, where there is no collective.
    double us = 0;
    /// A collective starts, or is waited for.
    dist::CollectiveOpInterface start, wait;
  };
  std::vector<Part> parts;
  /// The most bytes of values that are made inside and not given, at one moment.
  int64_t temporaryBytes = 0;
};

BlockCosts priceBlock(uls::BlockOp block, const cost::Cluster &cluster);

/// Bytes of a value on one rank; 0 of what is no tensor.
int64_t getBytes(mlir::Type type);

} // namespace ulsc::timeline

#endif // ULSC_LIB_TIMELINE_BLOCKCOSTS_H
