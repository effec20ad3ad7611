//===- Nearest.h - The nearest of several legal spellings -------------------------- -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_SUPPORT_NEAREST_H
#define ULSC_SUPPORT_NEAREST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace ulsc {

/// The candidate with the smallest edit distance to `word`, or an empty text when none is near
/// enough to be meant.
llvm::StringRef findNearest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);

/// `; did you mean X`, or nothing.
std::string suggestNearest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);

/// As `suggestNearest`, for a glob that matches none of `names`, which are parts between dots: what
/// is suggested has stars where `pattern` does, for numbers and for a beginning.
std::string suggestPattern(llvm::StringRef pattern, llvm::ArrayRef<llvm::StringRef> names);

} // namespace ulsc

#endif // ULSC_SUPPORT_NEAREST_H
