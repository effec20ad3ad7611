//===- Parts.h - Names of the parts of cut blocks ---------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_REPORT_PARTS_H
#define ULSC_LIB_REPORT_PARTS_H

#include "llvm/ADT/StringRef.h"

namespace ulsc::report {

/// Whether a block is the backward part of one that was cut, `@b.bwd`, or a variant of it,
/// `@b.bwd.acc`.
inline bool isBackwardPart(llvm::StringRef name) {
  return name.ends_with(".bwd") || name.contains(".bwd.");
}

} // namespace ulsc::report

#endif // ULSC_LIB_REPORT_PARTS_H
