//===- RandomModel.h - Random models on random meshes --------------------------------*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_UNIT_PROPERTY_RANDOMMODEL_H
#define ULSC_TEST_UNIT_PROPERTY_RANDOMMODEL_H

#include <cstdint>
#include <string>

namespace ulsc::test {

struct RandomModel {
  /// A module of the stage `graph` with a mesh and storage shardings.
  std::string text;
  /// Whether it is smooth: finite differences are safe.
  bool isSmooth = true;
};

/// The same model for the same seed: one to three mesh axes (at most 8 ranks), one or two distinct
/// layers of random pieces (norms, feed-forward, attention, dropout, changes of shape), called
/// several times, tied or untied embeddings, random storage shardings and pins inside layers.
RandomModel drawModel(uint64_t seed);

} // namespace ulsc::test

#endif // ULSC_TEST_UNIT_PROPERTY_RANDOMMODEL_H
