// Tensors that are split at random, and which element lies where, found one element at a time.
#ifndef ULSC_RUNTIME_TEST_UNIT_SPLIT_TENSOR_H
#define ULSC_RUNTIME_TEST_UNIT_SPLIT_TENSOR_H

#include "core/manifest.h"

#include <random>

namespace ulsc::test {

using runtime::Shape;

/// A parameter of one mesh.
struct SplitTensor {
  runtime::Mesh mesh;
  runtime::StateTensor tensor;

  /// The manifest of a program that has this tensor alone, at the beginning of its arena.
  runtime::Manifest manifest() const;
  /// For messages of failed tests.
  std::string text() const;
};

/// Up to four dimensions, a scalar among them.
Shape randomShape(std::mt19937 &random);

/// A tensor of this logical shape with random padding on a random mesh of up to three axes, each of
/// which splits a dimension, splits the flattened block, or replicates.
SplitTensor randomSplit(const Shape &logicalShape, std::mt19937 &random);

/// The logical flat index of each element of a rank's memory, -1 for padding.
std::vector<int64_t> expectedPart(const SplitTensor &split, const Shape &coordinates);

} // namespace ulsc::test

#endif // ULSC_RUNTIME_TEST_UNIT_SPLIT_TENSOR_H
