//===- StatePrecision.cpp - In what the optimizer keeps its state -----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Train/StatePrecision.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ulsc::uls;

FailureOr<StatePrecision> StatePrecision::read(ModuleOp module, StringRef masterDtype,
                                               StringRef momentDtype, bool isStochastic) {
  Builder builder(module.getContext());
  if (masterDtype != "f32" && masterDtype != "none")
    return module.emitError() << "master-dtype is \"" << masterDtype << "\", expected f32 or none";
  if (momentDtype != "f32" && momentDtype != "bf16")
    return module.emitError() << "moment-dtype is \"" << momentDtype << "\", expected f32 or bf16";
  Type moment = momentDtype == "bf16" ? Type(builder.getBF16Type()) : Type(builder.getF32Type());
  return StatePrecision{masterDtype == "f32", moment, isStochastic};
}
