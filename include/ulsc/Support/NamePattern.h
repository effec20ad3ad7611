//===- NamePattern.h - Names of parameters and modules, and patterns of them --------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_SUPPORT_NAMEPATTERN_H
#define ULSC_SUPPORT_NAMEPATTERN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace ulsc {

/// Whether `text` matches `pattern`, in which `*` stands for any characters and `?` for one.
bool matchesGlob(llvm::StringRef pattern, llvm::StringRef text);

/// The index of the first of `patterns` that `text` matches; their number when it matches none.
size_t findFirstMatch(llvm::ArrayRef<llvm::StringRef> patterns, llvm::StringRef text);

/// A dotted name with `*` for each part that is a number, so that layers agree:
/// `model.layers.*.mlp`.
std::string getLayerPattern(llvm::StringRef name);

} // namespace ulsc

#endif // ULSC_SUPPORT_NAMEPATTERN_H
