//===- EmitRandom.h - The counter-based generator in generated code -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER_EMITRANDOM_H
#define ULSC_PASSES_LOWER_EMITRANDOM_H

#include "passes/Lower/CodeBuilder.h"

namespace ulsc::lower {

/// A stream of include/ulsc/Random.h; all four are i32 values, the same for all elements.
struct RandomStream {
  mlir::Value key0, key1, instance, step;
};

/// The stream of `ulsc_random_stream_of`: `seed`, `instance` and `step` are i64 values.
RandomStream emitRandomStream(CodeBuilder &code, mlir::Value seed, uint64_t nameHash,
                              mlir::Value instance, mlir::Value step);

/// Word 0 of `ulsc_random_words` at the i64 `index`: an i32. Plain integer arithmetic, which
/// vectorises.
mlir::Value emitRandomWord(CodeBuilder &code, const RandomStream &stream, mlir::Value index);

/// `ulsc_random_drop_threshold` of the f32 `rate`: an i32 to compare unsigned. An element is kept
/// when its word is at least this.
mlir::Value emitDropThreshold(CodeBuilder &code, mlir::Value rate);

/// The rate in use: `controlRate` of the control block unless negative, otherwise `compiledRate`.
mlir::Value emitDropoutRate(CodeBuilder &code, mlir::Value controlRate, float compiledRate);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_EMITRANDOM_H
