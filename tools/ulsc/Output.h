//===- Output.h - Files that are whole or not there -------------------------------- -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_OUTPUT_H
#define ULSC_TOOLS_ULSC_OUTPUT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace ulsc::tool {

/// Writes `path` through `write`: beside it, then renamed, so that a failure leaves nothing
/// half-written. `-` is stdout.
mlir::LogicalResult writeFile(llvm::StringRef path,
                              llvm::function_ref<void(llvm::raw_ostream &)> write);

/// Whether a file could be made at `path` now: before work whose result would have nowhere to go.
/// With `isProgram` it must be a file of its own: neither stdout nor a device or pipe, whose place
/// the program would take.
mlir::LogicalResult checkFolder(llvm::StringRef path, bool isProgram = false);

/// Whether all that was written to stdout so far went there; says so when it did not.
mlir::LogicalResult finishStdout();

} // namespace ulsc::tool

#endif // ULSC_TOOLS_ULSC_OUTPUT_H
