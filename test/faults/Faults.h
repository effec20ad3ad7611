//===- Faults.h - Passes that break compiled programs -----------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// A plugin of tests: each pass breaks a program in one place, after all that would refuse it has
// been checked, and fails when there is no such place. What the program then does is for the
// simulated device to find.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_FAULTS_FAULTS_H
#define ULSC_TEST_FAULTS_FAULTS_H

#include "dialects/Exec/ExecOps.h"

#include "mlir/Pass/Pass.h"

namespace ulsc::test {

/// Whether the location names an op of the source model whose name has `text` in it.
bool isAt(mlir::Location location, llvm::StringRef text);

/// A collective and its wait, which are in one block.
struct Collective {
  exec::CollectiveStartOp start;
  exec::CollectiveWaitOp wait;
};

/// Those in `module` whose location names `at`, in the order of the program.
llvm::SmallVector<Collective> findCollectives(mlir::ModuleOp module, llvm::StringRef at);

/// Whether `op` reads or writes memory of `buffer`, seen through any view.
bool touches(mlir::Operation *op, mlir::Value buffer);

// What the passes do; each returns false where it finds no place for its fault.

/// An op that uses a collective's results no longer waits for them.
bool waitLate(mlir::ModuleOp module, llvm::StringRef at);
/// A collective no longer waits for the op that makes what it sends.
bool startEarly(mlir::ModuleOp module, llvm::StringRef at);
/// A reader of a buffer comes once more, after the buffer was declared dead.
bool readLate(mlir::ModuleOp module, llvm::StringRef at);

/// A rank by its coordinate on the mesh's first axis.
struct RankFault {
  mlir::ModuleOp module;
  llvm::StringRef at;
  int64_t rank;
};

/// Two collectives of different sizes change places on one rank.
bool swapOnRank(const RankFault &fault);
/// One rank gives half the elements.
bool halveOnRank(const RankFault &fault);
/// One rank leaves a collective out.
bool skipOnRank(const RankFault &fault);
/// One rank calls `function` of the C library, with 0, where the others come to a collective.
bool callOnRank(const RankFault &fault, llvm::StringRef function);

/// Registers `test-break-program`, for the stage exec.
void registerBreakProgram();
/// Registers `test-break-kernel`, for the stage llvm, where kernels are PTX.
void registerBreakKernel();

} // namespace ulsc::test

#endif // ULSC_TEST_FAULTS_FAULTS_H
