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

/// Whether a backward part is the half that makes the gradients of inputs, `@b.bwd.input`, or that
/// of parameters, `@b.bwd.weight`; both may be variants. A whole backward is neither.
inline bool isInputHalf(llvm::StringRef name) {
  return isBackwardPart(name) && name.substr(name.rfind(".bwd")).contains(".input");
}
inline bool isWeightHalf(llvm::StringRef name) {
  return isBackwardPart(name) && name.substr(name.rfind(".bwd")).contains(".weight");
}

} // namespace ulsc::report

#endif // ULSC_LIB_REPORT_PARTS_H
