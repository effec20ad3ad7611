//===- Manifest.h - The manifest of a compiled program ----------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TARGET_MANIFEST_H
#define ULSC_TARGET_MANIFEST_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace ulsc {

/// The JSON document of docs/manifest.md for a module at the exec stage.
mlir::FailureOr<std::string> buildManifest(mlir::ModuleOp module);

} // namespace ulsc

#endif // ULSC_TARGET_MANIFEST_H
