//===- EnterStage.h - Keeps stages in order ----------------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_ENTERSTAGE_H
#define ULSC_PASSES_ENTERSTAGE_H

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringRef.h"

namespace ulsc {

/// The module's attribute that names the stage whose pipeline ran last.
constexpr llvm::StringLiteral kStageAttrName = "uls.stage";

/// First pass of a stage's pipeline. Fails where another stage than `previous` ran last: passes
/// rely on what the stage before left. A module without the attribute was written by hand, and may
/// enter anywhere.
std::unique_ptr<mlir::Pass> createEnterStagePass(llvm::StringRef previous, llvm::StringRef stage);

} // namespace ulsc

#endif // ULSC_PASSES_ENTERSTAGE_H
