//===- ExecTarget.h - What a target adds to programs of tests ------------------------*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_UNIT_LOWER_EXECTARGET_H
#define ULSC_TEST_UNIT_LOWER_EXECTARGET_H

#include "ExecProgram.h"

namespace mlir {
class PassManager;
} // namespace mlir

/// One implementation is linked: a test's programs are all for one target.
class ExecTarget {
public:
  virtual ~ExecTarget() = default;

  /// From exec to the llvm dialect.
  virtual void buildPipeline(mlir::PassManager &passes) = 0;
  /// Functions of the runtime that the target's programs call, by name.
  virtual std::vector<std::pair<const char *, void *>> getFunctions() = 0;
  /// Takes the program's kernels, null where it has none.
  virtual void load(const char *kernels) = 0;
  /// Runs a step whose memory is that of `arena`, and brings back all that it changed. `order` is
  /// the number of threads, or of the seed that orders what a device may order.
  virtual void run(void (*step)(ulsc_context *), char *arena, int64_t bytes, ulsc_control &control,
                   int order) = 0;
  /// Kernels that the last step launched, where that is counted.
  virtual int64_t countLaunches() const { return 0; }
};

std::unique_ptr<ExecTarget> makeExecTarget();

#endif // ULSC_TEST_UNIT_LOWER_EXECTARGET_H
