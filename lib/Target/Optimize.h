//===- Optimize.h - LLVM's passes over a translated module ---------------------------*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_TARGET_OPTIMIZE_H
#define ULSC_LIB_TARGET_OPTIMIZE_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace ulsc {

/// Runs the pipeline of `level`, 0 to 3, for the machine that `module` is for.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine, unsigned level);

} // namespace ulsc

#endif // ULSC_LIB_TARGET_OPTIMIZE_H
