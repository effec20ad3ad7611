//===- Combiner.h - How partial results of a reduction are joined --------------------*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_CUDA_COMBINER_H
#define ULSC_PASSES_LOWER_CUDA_COMBINER_H

#include "passes/Lower/CodeBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace ulsc::lower {

/// The op by which a reduction joins an element to what it has: threads that each took a part of
/// the elements join their results by the same.
class Combiner {
public:
  /// Of result `result` of `op`; nothing where the accumulator does not go into one associative
  /// and commutative op, whose value is the next accumulator.
  static std::optional<Combiner> find(mlir::linalg::GenericOp op, unsigned result);

  static Combiner sum(mlir::Type type) { return {Kind::AddF, type}; }
  static Combiner maximum(mlir::Type type) { return {Kind::MaximumF, type}; }

  /// What changes no value that it is joined to.
  mlir::Value neutral(CodeBuilder &code) const;
  mlir::Value combine(CodeBuilder &code, mlir::Value x, mlir::Value y) const;
  mlir::Type type() const { return valueType; }

private:
  enum class Kind { AddF, MaximumF, MinimumF, AddI, MaxSI, MinSI };
  Combiner(Kind kind, mlir::Type valueType) : kind(kind), valueType(valueType) {}

  Kind kind;
  mlir::Type valueType;
};

/// Those of all results of `op`; nothing where one has none.
std::optional<llvm::SmallVector<Combiner>> findCombiners(mlir::linalg::GenericOp op);

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_CUDA_COMBINER_H
