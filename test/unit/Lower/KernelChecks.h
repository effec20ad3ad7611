//===- KernelChecks.h - What tests of kernels share -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_TEST_UNIT_LOWER_KERNELCHECKS_H
#define ULSC_TEST_UNIT_LOWER_KERNELCHECKS_H

#include "ExecProgram.h"
#include "KernelTexts.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

inline const float infinity = std::numeric_limits<float>::infinity();
inline const int64_t outAt = 1 << 20, otherAt = 1 << 19, scaleAt = 1 << 18;

inline void fillNormal(float *data, int64_t count, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i)
    data[i] = normal(generator);
}

/// Runs in one part and in three, and expects the same bits of `count` bytes at `outAt`.
inline void runBoth(ExecProgram &program, int64_t bytes) {
  ASSERT_TRUE(program.isValid());
  program.run(1);
  std::vector<char> first(program.at<char>(outAt), program.at<char>(outAt) + bytes);
  std::memset(program.at<char>(outAt), 0xff, bytes);
  program.run(3);
  EXPECT_EQ(std::memcmp(first.data(), program.at<char>(outAt), bytes), 0)
      << "the number of threads changes results";
}

#endif // ULSC_TEST_UNIT_LOWER_KERNELCHECKS_H
