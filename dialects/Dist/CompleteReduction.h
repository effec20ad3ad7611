//===- CompleteReduction.h - Marks reductions after which nothing is pending -------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_DIALECTS_DIST_COMPLETEREDUCTION_H
#define ULSC_DIALECTS_DIST_COMPLETEREDUCTION_H

#include "llvm/ADT/StringRef.h"

namespace ulsc::dist {

/// Unit attribute of an all-reduce of scalars whose results are the same on all ranks: no other
/// reduction of them is to come. Who partitions an op knows that, the types don't say it. Such
/// reductions may share a collective over more axes; merging them removes the mark.
constexpr llvm::StringLiteral kCompleteAttrName = "dist.complete";

} // namespace ulsc::dist

#endif // ULSC_DIALECTS_DIST_COMPLETEREDUCTION_H
