//===- ControlBlock.h - The control block's fields by name -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_EXEC_CONTROLBLOCK_H
#define ULSC_DIALECTS_EXEC_CONTROLBLOCK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace ulsc::exec {

/// A scalar field of `ulsc_control`, where generated code finds it.
struct ControlField {
  llvm::StringRef name;
  int64_t offset; ///< in bytes, as the C compiler lays the struct out
  bool isInteger; ///< i64, otherwise f32
  bool isWritten; ///< by the step, rather than by the runtime
};

/// All scalar fields.
llvm::ArrayRef<ControlField> getControlFields();

/// The field called `name`, or null.
const ControlField *lookupControlField(llvm::StringRef name);

/// Where coordinate `axis` of this rank lies in `ulsc_control`.
int64_t getCoordinateOffset(int64_t axis);

/// Where `parameter_scales` lies in `ulsc_control`.
int64_t getParameterScalesOffset();

/// How many mesh axes there can be.
int64_t getMaxAxes();

} // namespace ulsc::exec

#endif // ULSC_DIALECTS_EXEC_CONTROLBLOCK_H
