//===- ExternalAdjoints.h - Adjoints of ops of other dialects ---------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_DIALECTS_ULS_EXTERNALADJOINTS_H
#define ULSC_DIALECTS_ULS_EXTERNALADJOINTS_H

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace ulsc::uls {

/// Gives `dist.reshard`, which a user may write in a block before it is differentiated, its
/// adjoint.
void attachExternalAdjoints(mlir::MLIRContext &context);

} // namespace ulsc::uls

#endif // ULSC_DIALECTS_ULS_EXTERNALADJOINTS_H
