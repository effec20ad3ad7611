//===- KernelTest.cpp - Kernels against plain C++ -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "KernelChecks.h"
#include <array>

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
    })",
                {{"N", text(n)}, {"BODY", body}});
}

/// Distance in units in the last place of `expected`.
static double ulps(float actual, double expected) {
  float nearest = expected;
  float next = std::nextafter(std::fabs(nearest), infinity) - std::fabs(nearest);
  return std::fabs(actual - expected) / next;
}

static void checkFunction(const std::string &op, double (*reference)(double), float low, float high,
                          double limit) {
  const int64_t n = 100003;
  ExecProgram program(launchOnce(unary(n, "%r = " + op + " %a : f32"), "k", {{text(n) + "xf32", 0}},
                                 {{text(n) + "xf32", outAt}}));
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
    EXPECT_TRUE(actual == expected || (std::isnan(expected) && std::isnan(actual)))
        << op << " of " << edges[i] << ": " << actual;
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
      ExecProgram program(launchOnce(biasGelu(rows, columns), "k",
                                     {{shape, 0}, {text(columns) + "xf32", otherAt}},
                                     {{shape, outAt}}));
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
    })",
                              {{"R", text(rows)}, {"C", text(columns)}, {"V", text(entries)}});
  ExecProgram program(launchOnce(
      kernel, "k",
      {{text(rows) + "xi32", 0}, {text(entries) + "x" + text(columns) + "xbf16", otherAt}},
      {{text(rows) + "x" + text(columns) + "xbf16", outAt}}));
  for (int64_t r = 0; r < rows; ++r)
    program.at<int32_t>(0)[r] = r * 7 % entries;
  for (int64_t i = 0; i < entries * columns; ++i)
    program.at<uint16_t>(otherAt)[i] = toBf16(i * 0.37f - 20);
  runBoth(program, rows * columns * 2);
  for (int64_t i = 0; i < rows * columns; ++i)
    EXPECT_EQ(program.at<uint16_t>(outAt)[i],
              program.at<uint16_t>(otherAt)[i / columns * 7 % entries * columns + i % columns]);
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
    std::vector<std::pair<std::string, std::string>> sizes = {
        {"A", text(a)}, {"B", text(b)}, {"C", text(c)}};
    std::string kernel = transpose(a, b, c);
    ExecProgram program(launchOnce(kernel, "k", {{format("$Ax$Bx$Cxf32", sizes), 0}},
                                   {{format("$Cx$Ax$Bxf32", sizes), outAt}}));
    fillNormal(program.at<float>(0), a * b * c);
    runBoth(program, a * b * c * 4);
    for (int64_t i = 0; i < a; ++i)
      for (int64_t j = 0; j < b; ++j)
        for (int64_t k = 0; k < c; ++k)
          EXPECT_EQ(program.at<float>(outAt)[(k * a + i) * b + j],
                    program.at<float>(0)[(i * b + j) * c + k]);
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
    })",
                              {{"R", text(rows)}, {"C", text(columns)}});
  std::string shape = text(rows) + "x" + text(columns);
  ExecProgram program(launchOnce(kernel, "k", {{shape + "xf32", 0}}, {{shape + "xi32", outAt}},
                                 {5, int64_t(1) << 33}));
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
  ExecProgram program(launchOnce(rmsNorm(rows, columns), "k",
                                 {{shape, 0}, {text(columns) + "xf32", otherAt}},
                                 {{shape, outAt}}));
  fillNormal(program.at<float>(0), rows * columns);
  fillNormal(program.at<float>(otherAt), columns, 2);
  runBoth(program, rows * columns * 4);
  for (int64_t r = 0; r < rows; ++r) {
    const float *x = program.at<float>(0) + r * columns;
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += double(x[c]) * x[c];
    for (int64_t c = 0; c < columns; ++c)
      EXPECT_NEAR(program.at<float>(outAt)[r * columns + c],
                  x[c] / std::sqrt(sum / columns + 1e-6) * program.at<float>(otherAt)[c], 2e-6);
  }
}

TEST(RowKernel, UpdatesInPlace) {
  const int64_t n = 4099;
  std::string shape = text(n) + "xf32";
  ExecProgram program(launchOnce(adamW(n), "k",
                                 {{shape, outAt}, {shape, 0}, {shape, otherAt}, {shape, scaleAt}},
                                 {{shape, outAt}, {shape, otherAt}, {shape, scaleAt}}));
  program.control.learning_rate = 0.1f, program.control.beta1 = 0.9f, program.control.beta2 = 0.95f;
  program.control.epsilon = 1e-8f, program.control.bias_correction1 = 0.1f,
  program.control.bias_correction2 = 0.05f;
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

TEST(Step, LoopsOverSlotsAndCalls) {
  std::string program = unary(1000, "%r = math.exp %a : f32") + R"(
    exec.function private @layer(%x: memref<1000xf32>, %y: memref<1000xf32>, %i: index) attributes {frame_bytes = 4096 : i64} {
      %t = exec.buffer temporaries offset(0) : memref<1000xf32>
      exec.launch @k ins(%x : memref<1000xf32>) outs(%t : memref<1000xf32>)
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %j = %c0 to %i step %c1 {
        exec.launch @k ins(%t : memref<1000xf32>) outs(%t : memref<1000xf32>)
      }
      exec.copy %t to %y : memref<1000xf32> to memref<1000xf32>
      exec.return
    }
    exec.function @ulsc_step() attributes {entry, frame_bytes = 2097152 : i64} {
      %x = exec.buffer activations offset(0) : memref<2x1000xf32>
      %y = exec.buffer activations offset(1048576) : memref<2x1000xf32>
      %f = exec.buffer temporaries offset(524288) : memref<4096xi8>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      scf.for %m = %c0 to %c2 step %c1 {
        %xs = exec.slot %x[%m] : memref<2x1000xf32> to memref<1000xf32>
        %ys = exec.slot %y[%m] : memref<2x1000xf32> to memref<1000xf32>
        exec.call @layer(%xs, %ys, %m) frame(%f : memref<4096xi8>) : memref<1000xf32>, memref<1000xf32>, index
      }
      exec.return
    })";
  ExecProgram step(program);
  for (int64_t i = 0; i < 2000; ++i)
    step.at<float>(0)[i] = i * 1e-4f;
  runBoth(step, 8000);
  for (int64_t i = 0; i < 2000; ++i) {
    double expected = std::exp(double(step.at<float>(0)[i]));
    expected = i < 1000 ? expected : std::exp(expected);
    EXPECT_NEAR(step.at<float>(outAt)[i], expected, 1e-6 * expected);
  }
}

TEST(RowKernel, ReducesSomeColumns) {
  // Norms over d of x[b, s, h, d], with rows (b, s).
  ExecProgram program(launchOnce(R"(
    #id = affine_map<(b, s, h, d) -> (b, s, h, d)>
    #bsh = affine_map<(b, s, h, d) -> (b, s, h)>
    exec.kernel private @k(%x: tensor<2x3x5x17xf32>) -> (tensor<2x3x5x17xf32>, tensor<2x3x5xf32>) attributes {row_dims = 2 : i64} {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<2x3x5x17xf32>
      %er = tensor.empty() : tensor<2x3x5xf32>
      %i = linalg.fill ins(%zero : f32) outs(%er : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
      %s = linalg.generic {indexing_maps = [#id, #bsh], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
          ins(%x : tensor<2x3x5x17xf32>) outs(%i : tensor<2x3x5xf32>) {
        ^bb0(%a: f32, %acc: f32):
          %0 = arith.mulf %a, %a : f32
          %1 = arith.addf %0, %acc : f32
          linalg.yield %1 : f32
      } -> tensor<2x3x5xf32>
      %y = linalg.generic {indexing_maps = [#id, #bsh, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
          ins(%x, %s : tensor<2x3x5x17xf32>, tensor<2x3x5xf32>) outs(%e : tensor<2x3x5x17xf32>) {
        ^bb0(%a: f32, %b: f32, %o: f32):
          %0 = math.rsqrt %b : f32
          %1 = arith.mulf %a, %0 : f32
          linalg.yield %1 : f32
      } -> tensor<2x3x5x17xf32>
      exec.yield %y, %s : tensor<2x3x5x17xf32>, tensor<2x3x5xf32>
    })",
                                 "k", {{"2x3x5x17xf32", 0}},
                                 {{"2x3x5x17xf32", outAt}, {"2x3x5xf32", otherAt}}));
  fillNormal(program.at<float>(0), 2 * 3 * 5 * 17);
  runBoth(program, 2 * 3 * 5 * 17 * 4);
  for (int64_t i = 0; i < 30; ++i) {
    double sum = 0;
    for (int64_t d = 0; d < 17; ++d)
      sum += std::pow(program.at<float>(0)[i * 17 + d], 2);
    EXPECT_NEAR(program.at<float>(otherAt)[i], sum, 1e-5);
    for (int64_t d = 0; d < 17; ++d)
      EXPECT_NEAR(program.at<float>(outAt)[i * 17 + d],
                  program.at<float>(0)[i * 17 + d] / std::sqrt(sum), 1e-6);
  }
}

TEST(RowKernel, ComputesProducersAtOtherElements) {
  // Rotation by halves: y[s, h, t, j] = z[s, h, t, j] * cos[s, j] + (t ? 1 : -1) * z[s, h, 1 - t,
  // j] * sin[s, j], z = 2 x.
  ExecProgram program(launchOnce(R"(
    #id = affine_map<(s, h, t, j) -> (s, h, t, j)>
    #other = affine_map<(s, h, t, j) -> (s, h, 1 - t, j)>
    #angle = affine_map<(s, h, t, j) -> (s, j)>
    exec.kernel private @k(%x: tensor<7x3x2x8xf32>, %c: tensor<7x8xf32>, %n: tensor<7x8xf32>) -> tensor<7x3x2x8xf32> attributes {row_dims = 2 : i64} {
      %e = tensor.empty() : tensor<7x3x2x8xf32>
      %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
          ins(%x : tensor<7x3x2x8xf32>) outs(%e : tensor<7x3x2x8xf32>) {
        ^bb0(%a: f32, %o: f32):
          %0 = arith.addf %a, %a : f32
          linalg.yield %0 : f32
      } -> tensor<7x3x2x8xf32>
      %y = linalg.generic {indexing_maps = [#id, #other, #angle, #angle, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
          ins(%z, %z, %c, %n : tensor<7x3x2x8xf32>, tensor<7x3x2x8xf32>, tensor<7x8xf32>, tensor<7x8xf32>) outs(%e : tensor<7x3x2x8xf32>) {
        ^bb0(%a: f32, %b: f32, %cos: f32, %sin: f32, %o: f32):
          %t = linalg.index 2 : index
          %c0 = arith.constant 0 : index
          %first = arith.cmpi eq, %t, %c0 : index
          %neg = arith.negf %b : f32
          %r = arith.select %first, %neg, %b : f32
          %0 = arith.mulf %a, %cos : f32
          %1 = arith.mulf %r, %sin : f32
          %2 = arith.addf %0, %1 : f32
          linalg.yield %2 : f32
      } -> tensor<7x3x2x8xf32>
      exec.yield %y : tensor<7x3x2x8xf32>
    })",
                                 "k",
                                 {{"7x3x2x8xf32", 0}, {"7x8xf32", scaleAt}, {"7x8xf32", otherAt}},
                                 {{"7x3x2x8xf32", outAt}}));
  float *x = program.at<float>(0), *cosine = program.at<float>(scaleAt),
        *sine = program.at<float>(otherAt);
  fillNormal(x, 7 * 48), fillNormal(cosine, 56, 2), fillNormal(sine, 56, 3);
  runBoth(program, 7 * 48 * 4);
  for (int64_t s = 0; s < 7; ++s)
    for (int64_t h = 0; h < 3; ++h)
      for (int64_t t = 0; t < 2; ++t)
        for (int64_t j = 0; j < 8; ++j) {
          int64_t at = ((s * 3 + h) * 2 + t) * 8 + j, other = ((s * 3 + h) * 2 + 1 - t) * 8 + j;
          double expected =
              2.0 * x[at] * cosine[s * 8 + j] + (t ? 2.0 : -2.0) * x[other] * sine[s * 8 + j];
          EXPECT_NEAR(program.at<float>(outAt)[at], expected, 1e-5);
        }
}

TEST(RowKernel, ConvertsF16) {
  std::string kernel = R"(
    #i = affine_map<(i) -> (i)>
    exec.kernel private @k(%x: tensor<1003xf32>) -> (tensor<1003xf16>, tensor<1003xf32>) attributes {row_dims = 1 : i64} {
      %e = tensor.empty() : tensor<1003xf16>
      %f = tensor.empty() : tensor<1003xf32>
      %h = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<1003xf32>) outs(%e : tensor<1003xf16>) {
        ^bb0(%a: f32, %o: f16):
          %0 = arith.truncf %a : f32 to f16
          linalg.yield %0 : f16
      } -> tensor<1003xf16>
      %y = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%h : tensor<1003xf16>) outs(%f : tensor<1003xf32>) {
        ^bb0(%a: f16, %o: f32):
          %0 = arith.extf %a : f16 to f32
          linalg.yield %0 : f32
      } -> tensor<1003xf32>
      exec.yield %h, %y : tensor<1003xf16>, tensor<1003xf32>
    })";
  ExecProgram program(
      launchOnce(kernel, "k", {{"1003xf32", 0}}, {{"1003xf16", otherAt}, {"1003xf32", outAt}}));
  fillNormal(program.at<float>(0), 1003);
  runBoth(program, 4012);
  for (int64_t i = 0; i < 1003; ++i) {
    float rounded = static_cast<_Float16>(program.at<float>(0)[i]);
    EXPECT_EQ(program.at<float>(outAt)[i], rounded);
    EXPECT_EQ(static_cast<float>(program.at<_Float16>(otherAt)[i]), rounded);
  }
}
