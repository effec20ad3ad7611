//===- ForwardActivity.h - Which derivatives the calls of a forward need ----------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_TRAIN_FORWARDACTIVITY_H
#define ULSC_PASSES_TRAIN_FORWARDACTIVITY_H

#include "ulsc/Differentiate/MakeJoint.h"

#include "llvm/ADT/MapVector.h"

namespace ulsc::uls {

/// The calls of `forward` that need a backward part, in order, with what each is asked for:
/// gradients of operands that depend on a trained parameter, through results on which the loss
/// depends.
llvm::MapVector<CallOp, JointRequest> findJointRequests(ForwardOp forward,
                                                        const mlir::SymbolTable &symbols);

/// The only `uls.forward` of a module whose single result is the scalar loss; null after an error.
ForwardOp getForward(mlir::ModuleOp module);

} // namespace ulsc::uls

#endif // ULSC_PASSES_TRAIN_FORWARDACTIVITY_H
