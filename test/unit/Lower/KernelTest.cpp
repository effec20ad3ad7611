//===- KernelTest.cpp - Kernels against plain C++ -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "ExecProgram.h"
#include "KernelTexts.h"
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

static const float infinity = std::numeric_limits<float>::infinity();
static const int64_t outAt = 1 << 20, otherAt = 1 << 19, scaleAt = 1 << 18;

static void fillNormal(float *data, int64_t count, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i)
    data[i] = normal(generator);
}

/// Runs in one part and in three, and expects the same bits of `count` bytes at `outAt`.
static void runBoth(ExecProgram &program, int64_t bytes) {
  ASSERT_TRUE(program.isValid());
  program.run(1);
  std::vector<char> first(program.at<char>(outAt), program.at<char>(outAt) + bytes);
  std::memset(program.at<char>(outAt), 0xff, bytes);
  program.run(3);
  EXPECT_EQ(std::memcmp(first.data(), program.at<char>(outAt), bytes), 0) << "the number of threads changes results";
}

/// An elementwise kernel of one f32 input with `body` from %a to %r.
static std::string unary(int64_t n, const std::string &body) {
  return format(R"(
    exec.kernel private @k(%x: tensor<$Nxf32>) -> tensor<$Nxf32> attributes {row_dims = 1 : i64} {
      %e = tensor.empty() : tensor<$Nxf32>
      %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%x : tensor<$Nxf32>) outs(%e : tensor<$Nxf32>) {
        ^bb0(%a: f32, %o: f32):
          $BODY
          linalg.yield %r : f32
      } -> tensor<$Nxf32>
      exec.yield %y : tensor<$Nxf32>
    })", {{"N", text(n)}, {"BODY", body}});
}

/// Distance in units in the last place of `expected`.
static double ulps(float actual, double expected) {
  float nearest = expected;
  float next = std::nextafter(std::fabs(nearest), infinity) - std::fabs(nearest);
  return std::fabs(actual - expected) / next;
}

static void checkFunction(const std::string &op, double (*reference)(double), float low, float high, double limit) {
  const int64_t n = 100003;
  ExecProgram program(launchOnce(unary(n, "%r = " + op + " %a : f32"), "k", {{text(n) + "xf32", 0}}, {{text(n) + "xf32", outAt}}));
  for (int64_t i = 0; i < n; ++i)
    program.at<float>(0)[i] = low + (high - low) * i / (n - 1);
  runBoth(program, n * 4);
  double worst = 0, where = 0;
  for (int64_t i = 0; i < n; ++i) {
    double distance = ulps(program.at<float>(outAt)[i], reference(program.at<float>(0)[i]));
    if (distance > worst)
      worst = distance, where = program.at<float>(0)[i];
  }
  EXPECT_LE(worst, limit) << op << " at " << where;
  float edges[] = {NAN, infinity, -infinity, 0.0f};
  std::copy(edges, edges + 4, program.at<float>(0));
  program.run();
  EXPECT_TRUE(std::isnan(program.at<float>(outAt)[0])) << op << " hides NaN";
  for (int i = 1; i < 4; ++i) {
    double expected = reference(edges[i]);
    float actual = program.at<float>(outAt)[i];
    EXPECT_TRUE(actual == expected || (std::isnan(expected) && std::isnan(actual))) << op << " of " << edges[i] << ": " << actual;
  }
}

TEST(Functions, AreAccurate) {
  checkFunction("math.exp", std::exp, -87, 88, 2);
  checkFunction("math.log", std::log, 1e-30f, 50, 2);
  checkFunction("math.log", std::log, 0.5f, 2, 2);
  checkFunction("math.tanh", std::tanh, -9, 9, 6);
  checkFunction("math.erf", std::erf, -4, 4, 8);
  checkFunction("math.log1p", std::log1p, -0.5f, 2, 4);
}

TEST(RowKernel, FusesElementwiseOps) {
  for (int64_t rows : {1, 3, 17})
    for (int64_t columns : {1, 3, 17, 1000}) {
      std::string shape = text(rows) + "x" + text(columns) + "xf32";
      ExecProgram program(launchOnce(biasGelu(rows, columns), "k", {{shape, 0}, {text(columns) + "xf32", otherAt}}, {{shape, outAt}}));
      fillNormal(program.at<float>(0), rows * columns);
      fillNormal(program.at<float>(otherAt), columns, 2);
      runBoth(program, rows * columns * 4);
      for (int64_t i = 0; i < rows * columns; ++i) {
        double x = double(program.at<float>(0)[i]) + program.at<float>(otherAt)[i % columns];
        double y = 0.5 * x * (1 + std::tanh(0.79788456 * (x + 0.044715 * x * x * x)));
        EXPECT_NEAR(program.at<float>(outAt)[i], y, 2e-6);
      }
    }
}

TEST(RowKernel, SoftmaxKeepsMaskedRowsAndNaN) {
  for (int64_t columns : {1, 3, 17, 1000}) {
    const int64_t rows = 37;
    std::string shape = text(rows) + "x" + text(columns) + "xf32";
    ExecProgram program(launchOnce(softmax(rows, columns), "k", {{shape, 0}}, {{shape, outAt}}));
    float *x = program.at<float>(0), *y = program.at<float>(outAt);
    fillNormal(x, rows * columns);
    for (int64_t c = 0; c < columns; ++c)
      x[1 * columns + c] = -infinity;
    x[2 * columns] = NAN;
    if (columns > 1)
      x[3 * columns] = -infinity;
    runBoth(program, rows * columns * 4);
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < columns; ++c)
        sum += std::exp(double(x[r * columns + c]));
      for (int64_t c = 0; c < columns; ++c) {
        float actual = y[r * columns + c];
        if (r == 1)
          EXPECT_EQ(actual, 0.0f);
        else if (r == 2)
          EXPECT_TRUE(std::isnan(actual));
        else
          EXPECT_NEAR(actual, std::exp(double(x[r * columns + c])) / sum, 2e-6);
      }
    }
  }
}

static const char *columnSum = R"(
    #id = affine_map<(r, c) -> (r, c)>
    #col = affine_map<(r, c) -> (c)>
    #c = affine_map<(c) -> (c)>
    exec.kernel private @k(%x: tensor<$Rx$Cxf32>, %g: tensor<$Cxf32>) -> tensor<$Cxf32>
        attributes {kind = #exec.kernel_kind<columns>, row_dims = 1 : i64} {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<$Rx$Cxf32>
      %ec = tensor.empty() : tensor<$Cxf32>
      %iz = linalg.fill ins(%zero : f32) outs(%ec : tensor<$Cxf32>) -> tensor<$Cxf32>
      %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<$Rx$Cxf32>) outs(%e : tensor<$Rx$Cxf32>) {
        ^bb0(%a: f32, %o: f32):
          %0 = arith.mulf %a, %a : f32
          linalg.yield %0 : f32
      } -> tensor<$Rx$Cxf32>
      %s = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
          ins(%q : tensor<$Rx$Cxf32>) outs(%iz : tensor<$Cxf32>) {
        ^bb0(%a: f32, %acc: f32):
          %0 = arith.addf %a, %acc : f32
          linalg.yield %0 : f32
      } -> tensor<$Cxf32>
      %y = linalg.generic {indexing_maps = [#c, #c, #c], iterator_types = ["parallel"]}
          ins(%g, %s : tensor<$Cxf32>, tensor<$Cxf32>) outs(%ec : tensor<$Cxf32>) {
        ^bb0(%a: f32, %b: f32, %o: f32):
          %0 = arith.addf %a, %b : f32
          linalg.yield %0 : f32
      } -> tensor<$Cxf32>
      exec.yield %y : tensor<$Cxf32>
    })";

TEST(ColumnKernel, SumsRowsIntoColumns) {
  for (int64_t rows : {1, 3, 129})
    for (int64_t columns : {1, 17, 1000}) {
      std::string kernel = format(columnSum, {{"R", text(rows)}, {"C", text(columns)}});
      ExecProgram program(launchOnce(kernel, "k", {{text(rows) + "x" + text(columns) + "xf32", 0}, {text(columns) + "xf32", scaleAt * 3}},
                                     {{text(columns) + "xf32", outAt}}));
      fillNormal(program.at<float>(0), rows * columns);
      fillNormal(program.at<float>(scaleAt * 3), columns, 2);
      runBoth(program, columns * 4);
      for (int64_t c = 0; c < columns; ++c) {
        double sum = program.at<float>(scaleAt * 3)[c];
        for (int64_t r = 0; r < rows; ++r)
          sum += double(program.at<float>(0)[r * columns + c]) * program.at<float>(0)[r * columns + c];
        EXPECT_NEAR(program.at<float>(outAt)[c], sum, 1e-5 * (1 + std::fabs(sum)));
      }
    }
}

TEST(ScatterKernel, AddsRowsInOrder) {
  const int64_t rows = 300, columns = 70, entries = 11;
  std::string kernel = format(R"(
    exec.kernel private @k(%x: tensor<$Rx$Cxf32>, %i: tensor<$Rxi32>, %t: tensor<$Vx$Cxf32>) -> tensor<$Vx$Cxf32>
        attributes {kind = #exec.kernel_kind<scatter>, row_dims = 1 : i64} {
      %y = exec.scatter_add %x at %i into %t : tensor<$Rx$Cxf32>, tensor<$Rxi32>, tensor<$Vx$Cxf32>
      exec.yield %y : tensor<$Vx$Cxf32>
    })", {{"R", text(rows)}, {"C", text(columns)}, {"V", text(entries)}});
  std::string table = text(entries) + "x" + text(columns) + "xf32";
  ExecProgram program(launchOnce(kernel, "k", {{text(rows) + "x" + text(columns) + "xf32", 0}, {text(rows) + "xi32", scaleAt}, {table, otherAt}},
                                 {{table, outAt}}));
  fillNormal(program.at<float>(0), rows * columns);
  fillNormal(program.at<float>(otherAt), entries * columns, 2);
  for (int64_t r = 0; r < rows; ++r)
    program.at<int32_t>(scaleAt)[r] = r == 5 ? -1 : r == 6 ? int(entries) : int(r * 7 % entries);
  runBoth(program, entries * columns * 4);
  std::vector<double> expected(program.at<float>(otherAt), program.at<float>(otherAt) + entries * columns);
  for (int64_t r = 0; r < rows; ++r)
    if (r != 5 && r != 6)
      for (int64_t c = 0; c < columns; ++c)
        expected[r * 7 % entries * columns + c] += program.at<float>(0)[r * columns + c];
  for (int64_t i = 0; i < entries * columns; ++i)
    EXPECT_NEAR(program.at<float>(outAt)[i], expected[i], 1e-4);
}

TEST(RowKernel, GathersRows) {
  const int64_t rows = 50, columns = 33, entries = 11;
  std::string kernel = format(R"(
    exec.kernel private @k(%i: tensor<$Rxi32>, %t: tensor<$Vx$Cxbf16>) -> tensor<$Rx$Cxbf16> attributes {row_dims = 1 : i64} {
      %e = tensor.empty() : tensor<$Rx$Cxbf16>
      %y = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
          ins(%i : tensor<$Rxi32>) outs(%e : tensor<$Rx$Cxbf16>) {
        ^bb0(%a: i32, %o: bf16):
          %row = arith.index_cast %a : i32 to index
          %column = linalg.index 1 : index
          %0 = tensor.extract %t[%row, %column] : tensor<$Vx$Cxbf16>
          linalg.yield %0 : bf16
      } -> tensor<$Rx$Cxbf16>
      exec.yield %y : tensor<$Rx$Cxbf16>
    })", {{"R", text(rows)}, {"C", text(columns)}, {"V", text(entries)}});
  ExecProgram program(launchOnce(kernel, "k", {{text(rows) + "xi32", 0}, {text(entries) + "x" + text(columns) + "xbf16", otherAt}},
                                 {{text(rows) + "x" + text(columns) + "xbf16", outAt}}));
  for (int64_t r = 0; r < rows; ++r)
    program.at<int32_t>(0)[r] = r * 7 % entries;
  for (int64_t i = 0; i < entries * columns; ++i)
    program.at<uint16_t>(otherAt)[i] = toBf16(i * 0.37f - 20);
  runBoth(program, rows * columns * 2);
  for (int64_t i = 0; i < rows * columns; ++i)
    EXPECT_EQ(program.at<uint16_t>(outAt)[i], program.at<uint16_t>(otherAt)[i / columns * 7 % entries * columns + i % columns]);
}

TEST(RowKernel, AddsInBf16) {
  const int64_t n = 5003;
  std::string kernel = bf16Add(n);
  std::string shape = text(n) + "xbf16";
  ExecProgram program(launchOnce(kernel, "k", {{shape, 0}, {shape, otherAt}}, {{shape, outAt}}));
  std::mt19937 generator(1);
  for (int64_t i = 0; i < n; ++i) {
    program.at<uint16_t>(0)[i] = generator();
    program.at<uint16_t>(otherAt)[i] = generator();
  }
  runBoth(program, n * 2);
  for (int64_t i = 0; i < n; ++i) {
    float sum = fromBf16(program.at<uint16_t>(0)[i]) + fromBf16(program.at<uint16_t>(otherAt)[i]);
    EXPECT_EQ(program.at<uint16_t>(outAt)[i], toBf16(sum)) << sum;
  }
}

TEST(TransposeKernel, PermutesDimensions) {
  for (auto [a, b, c] : {std::array<int64_t, 3>{3, 17, 33}, {1, 64, 16}, {5, 1, 7}, {2, 8, 8}}) {
    std::vector<std::pair<std::string, std::string>> sizes = {{"A", text(a)}, {"B", text(b)}, {"C", text(c)}};
    std::string kernel = transpose(a, b, c);
    ExecProgram program(launchOnce(kernel, "k", {{format("$Ax$Bx$Cxf32", sizes), 0}}, {{format("$Cx$Ax$Bxf32", sizes), outAt}}));
    fillNormal(program.at<float>(0), a * b * c);
    runBoth(program, a * b * c * 4);
    for (int64_t i = 0; i < a; ++i)
      for (int64_t j = 0; j < b; ++j)
        for (int64_t k = 0; k < c; ++k)
          EXPECT_EQ(program.at<float>(outAt)[(k * a + i) * b + j], program.at<float>(0)[(i * b + j) * c + k]);
  }
}

TEST(RowKernel, DropsWhatTheGeneratorSays) {
  const int64_t rows = 9, columns = 37;
  std::string kernel = format(R"(
    exec.kernel private @k(%x: tensor<$Rx$Cxf32>, %layer: i64, %offset: i64) -> tensor<$Rx$Cxi32> attributes {row_dims = 1 : i64} {
      %e = tensor.empty() : tensor<$Rx$Cxi32>
      %y = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<$Rx$Cxf32>) outs(%e : tensor<$Rx$Cxi32>) {
        ^bb0(%a: f32, %o: i32):
          %r = linalg.index 0 : index
          %c = linalg.index 1 : index
          %ri = arith.index_cast %r : index to i64
          %ci = arith.index_cast %c : index to i64
          %n = arith.constant $C : i64
          %g = arith.addi %ri, %offset : i64
          %m = arith.muli %g, %n : i64
          %i = arith.addi %m, %ci : i64
          %w = exec.random %i, %layer {key = 1234567 : i64} : i32
          linalg.yield %w : i32
      } -> tensor<$Rx$Cxi32>
      exec.yield %y : tensor<$Rx$Cxi32>
    })", {{"R", text(rows)}, {"C", text(columns)}});
  std::string shape = text(rows) + "x" + text(columns);
  ExecProgram program(launchOnce(kernel, "k", {{shape + "xf32", 0}}, {{shape + "xi32", outAt}}, {5, int64_t(1) << 33}));
  program.control.seed = 99;
  program.control.step = 3;
  runBoth(program, rows * columns * 4);
  ulsc_random_stream stream = ulsc_random_stream_of(99, 1234567, 5, 3);
  for (int64_t i = 0; i < rows * columns; ++i) {
    uint32_t words[4];
    ulsc_random_words(stream, (uint64_t(1) << 33) * columns + i, words);
    EXPECT_EQ(program.at<uint32_t>(outAt)[i], words[0]);
  }
}

TEST(RowKernel, NormalisesRows) {
  const int64_t rows = 19, columns = 77;
  std::string shape = text(rows) + "x" + text(columns) + "xf32";
  ExecProgram program(launchOnce(rmsNorm(rows, columns), "k", {{shape, 0}, {text(columns) + "xf32", otherAt}}, {{shape, outAt}}));
  fillNormal(program.at<float>(0), rows * columns);
  fillNormal(program.at<float>(otherAt), columns, 2);
  runBoth(program, rows * columns * 4);
  for (int64_t r = 0; r < rows; ++r) {
    const float *x = program.at<float>(0) + r * columns;
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += double(x[c]) * x[c];
    for (int64_t c = 0; c < columns; ++c)
      EXPECT_NEAR(program.at<float>(outAt)[r * columns + c], x[c] / std::sqrt(sum / columns + 1e-6) * program.at<float>(otherAt)[c], 2e-6);
  }
}

TEST(RowKernel, UpdatesInPlace) {
  const int64_t n = 4099;
  std::string shape = text(n) + "xf32";
  ExecProgram program(launchOnce(adamW(n), "k", {{shape, outAt}, {shape, 0}, {shape, otherAt}, {shape, scaleAt}},
                                 {{shape, outAt}, {shape, otherAt}, {shape, scaleAt}}));
  program.control.learning_rate = 0.1f, program.control.beta1 = 0.9f, program.control.beta2 = 0.95f;
  program.control.epsilon = 1e-8f, program.control.bias_correction1 = 0.1f, program.control.bias_correction2 = 0.05f;
  program.control.weight_decay = 0.1f;
  fillNormal(program.at<float>(outAt), n), fillNormal(program.at<float>(0), n, 2);
  std::vector<float> before(program.at<float>(outAt), program.at<float>(outAt) + n);
  ASSERT_TRUE(program.isValid());
  program.run(2);
  for (int64_t i = 0; i < n; ++i) {
    double g = program.at<float>(0)[i], w = before[i];
    double expected = w - 0.1 * (g / (std::fabs(g) + 1e-8) + 0.1 * w);
    EXPECT_NEAR(program.at<float>(outAt)[i], expected, 2e-6);
  }
}
