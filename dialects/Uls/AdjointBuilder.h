//===- AdjointBuilder.h - What an op's adjoint is built with ----------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_DIALECTS_ULS_ADJOINTBUILDER_H
#define ULSC_DIALECTS_ULS_ADJOINTBUILDER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace ulsc::uls {

/// Collects the cotangents of one op's operands while `DifferentiableOpInterface::buildAdjoint`
/// runs.
class AdjointBuilder {
public:
  explicit AdjointBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}
  virtual ~AdjointBuilder() = default;

  /// Whether someone asks for the cotangent of this operand. Ops skip work for those that no one
  /// wants.
  virtual bool needs(unsigned operand) const = 0;

  /// Type of the cotangent of this operand: its shape, in the dtype that gradients of this value
  /// have.
  virtual mlir::RankedTensorType getCotangentType(unsigned operand) const = 0;

  /// Hands over the cotangent of an operand, of type `getCotangentType(operand)`. At most once per
  /// operand.
  virtual void add(unsigned operand, mlir::Value cotangent) = 0;

  /// As `add`, for a cotangent of the operand's shape in any dtype: converts it to the one that is
  /// asked for.
  void addConverted(unsigned operand, mlir::Value cotangent);

  /// As `addConverted`, for a cotangent that has dimensions where the operand may be a scalar: sums
  /// them.
  void addReduced(unsigned operand, mlir::Value cotangent);

  /// Builds an op with one result where the adjoint is built.
  template <typename Op, typename... Args>
  mlir::Value create(Args &&...args) {
    return Op::create(builder, loc, std::forward<Args>(args)...)->getResult(0);
  }

  mlir::OpBuilder &builder;
  /// The source location of the op, which its adjoint keeps.
  mlir::Location loc;
};

} // namespace ulsc::uls

#endif // ULSC_DIALECTS_ULS_ADJOINTBUILDER_H
