//===- Compare.h - Compares what two modules compute -------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_INTERPRETER_COMPARE_H
#define ULSC_INTERPRETER_COMPARE_H

#include "ulsc/Interpreter.h"

namespace ulsc::interpreter {

/// Tokens and targets of one global batch, [microbatches, rows, seq].
struct StepInputs {
  Tensor tokens, targets;
};

/// The shape of a step's tokens over the whole batch: that of its argument, scaled up where the
/// module is partitioned.
mlir::FailureOr<Shape> getGlobalInputShape(mlir::ModuleOp module);

/// Random tokens below `vocabulary`, the same for the same seed and step; one target in eight is
/// −1.
StepInputs drawStepInputs(llvm::ArrayRef<int64_t> shape, int64_t vocabulary, uint64_t seed,
                          int64_t step);

/// The next batch of a file's tokens, row by row, wrapping at the end; targets are one token on.
StepInputs readStepInputs(llvm::ArrayRef<uint16_t> tokens, llvm::ArrayRef<int64_t> shape,
                          int64_t step);

/// `uls.model`'s vocabulary, or the smallest number of rows of a parameter with a "vocab" axis; 2
/// without either.
int64_t getVocabulary(mlir::ModuleOp module);

/// One step of a module, from its initial values.
mlir::FailureOr<StepResult> runStep(mlir::ModuleOp module, const StepInputs &inputs,
                                    const Options &options = {});

/// What differs by more than `tolerance`, one line each. Losses, counts and norms are compared
/// relative to themselves; a gradient relative to its largest element or a hundredth of the global
/// norm, because one that is zero but for rounding has no size of its own; a parameter relative to
/// its largest element or 0.01.
std::vector<std::string> compareSteps(const StepResult &actual, const StepResult &expected,
                                      double tolerance);

/// Runs function `name` of `module` (a block, plain or joint, or a forward) on arguments drawn for
/// the same function of `source`, whose types are global, and gives global results. Shardings come
/// from `module`'s function, else from `source`'s. Integers are below the argument's attribute
/// `uls.range`, or 4.
mlir::FailureOr<std::vector<Tensor>> runEntry(mlir::ModuleOp module, mlir::ModuleOp source,
                                              llvm::StringRef name, uint64_t inputSeed,
                                              const Options &options = {});

/// The value of a function's argument for `runEntry`.
Tensor drawArgument(mlir::RankedTensorType type, int64_t range, uint64_t seed, unsigned index);

} // namespace ulsc::interpreter

#endif // ULSC_INTERPRETER_COMPARE_H
