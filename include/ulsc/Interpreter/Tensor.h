//===- Tensor.h - Values of the interpreter ---------------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_INTERPRETER_TENSOR_H
#define ULSC_INTERPRETER_TENSOR_H

#include "dialects/Dist/Dist.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <vector>

namespace ulsc::interpreter {

using Shape = llvm::SmallVector<int64_t, 6>;

/// An immutable row-major tensor: doubles for every floating-point type, 64-bit integers for every
/// integer type. Copies share their elements.
class Tensor {
public:
  /// A rank-0 zero.
  Tensor() : Tensor(Shape{}, std::vector<double>{0.0}) {}
  Tensor(llvm::ArrayRef<int64_t> shape, std::vector<double> elements);
  Tensor(llvm::ArrayRef<int64_t> shape, std::vector<int64_t> elements);

  static Tensor zeros(llvm::ArrayRef<int64_t> shape, bool isFloat = true);
  static Tensor scalar(double value) { return Tensor(Shape{}, std::vector<double>{value}); }
  /// The elements of a constant.
  static Tensor fromAttribute(mlir::ElementsAttr attr);

  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return shape.size(); }
  int64_t getNumElements() const;
  bool isFloat() const { return bool(floatElements); }
  llvm::ArrayRef<double> getFloats() const { return *floatElements; }
  llvm::ArrayRef<int64_t> getIntegers() const { return *integerElements; }
  /// Any element as a double.
  double getAsDouble(int64_t index) const {
    return isFloat() ? (*floatElements)[index] : double((*integerElements)[index]);
  }

  /// A tensor of `newShape` whose element i is this one's element `source(i)`, or zero where that
  /// is negative.
  Tensor gather(llvm::ArrayRef<int64_t> newShape,
                llvm::function_ref<int64_t(int64_t)> source) const;
  Tensor reshape(llvm::ArrayRef<int64_t> newShape) const;
  /// The block of `size` at `offsets`.
  Tensor block(llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> size) const;
  /// Elementwise function of one or two tensors of the same shape; floating point only.
  Tensor map(llvm::function_ref<double(double)> function) const;
  Tensor zip(const Tensor &other, llvm::function_ref<double(double, double)> function) const;
  /// Rounds every element to a floating-point type, by way of f32 for narrower ones as the kernels
  /// do.
  Tensor round(mlir::FloatType type) const;
  bool hasNaN() const;

private:
  Shape shape;
  std::shared_ptr<const std::vector<double>> floatElements;
  std::shared_ptr<const std::vector<int64_t>> integerElements;
};

/// Number of elements of a shape.
int64_t getNumElements(llvm::ArrayRef<int64_t> shape);
/// Row-major strides.
Shape getStrides(llvm::ArrayRef<int64_t> shape);
/// Row-major position of `index` in `shape`.
int64_t getPosition(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> index);
/// Calls `visit` with every index of `shape`, row-major.
void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);
double roundTo(double value, mlir::FloatType type);

/// One rank's block of a global tensor.
Tensor shardOf(const Tensor &global, dist::ShardingAttr sharding, dist::MeshAttr mesh,
               int64_t rank);

/// The global tensor of which every rank holds a block: summands of partial axes are combined, and
/// replicas must agree within `tolerance` of their own size. On disagreement returns nothing and
/// says in `error` which ranks differ.
std::optional<Tensor> assemble(llvm::ArrayRef<Tensor> blocks, dist::ShardingAttr sharding,
                               dist::MeshAttr mesh, llvm::ArrayRef<int64_t> globalShape,
                               double tolerance, std::string &error);

/// Largest difference of two tensors relative to the largest element of `expected`; infinite when
/// shapes differ or either holds a NaN.
double getRelativeDifference(const Tensor &actual, const Tensor &expected);

} // namespace ulsc::interpreter

#endif // ULSC_INTERPRETER_TENSOR_H
