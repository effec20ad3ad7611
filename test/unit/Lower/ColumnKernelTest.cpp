//===- ColumnKernelTest.cpp - Kernels split by columns against plain C++ -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "KernelChecks.h"

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

static const char *scatter = R"(
    exec.kernel private @k(%x: tensor<$Rx$Cxf32>, %i: tensor<$Rxi32>, %t: tensor<$Vx$Cxf32>) -> tensor<$Vx$Cxf32>
        attributes {kind = #exec.kernel_kind<scatter>, row_dims = 1 : i64} {
      %y = exec.scatter_add %x at %i into %t : tensor<$Rx$Cxf32>, tensor<$Rxi32>, tensor<$Vx$Cxf32>
      exec.yield %y : tensor<$Vx$Cxf32>
    })";

TEST(ColumnKernel, SumsRowsIntoColumns) {
  // On a GPU blocks are as wide, and have as many threads, as columns and rows make worth it.
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1},
                               {3, 1},
                               {129, 1},
                               {1, 17},
                               {3, 17},
                               {129, 17},
                               {1, 1000},
                               {3, 1000},
                               {129, 1000},
                               {1100, 17},
                               {300, 130},
                               {2, 5000},
                               {3, 9000}}) {
    std::string kernel = format(columnSum, {{"R", text(rows)}, {"C", text(columns)}});
    ExecProgram program(launchOnce(
        kernel, "k",
        {{text(rows) + "x" + text(columns) + "xf32", 0}, {text(columns) + "xf32", scaleAt * 3}},
        {{text(columns) + "xf32", outAt}}));
    fillNormal(program.at<float>(0), rows * columns);
    fillNormal(program.at<float>(scaleAt * 3), columns, 2);
    runBoth(program, columns * 4);
    for (int64_t c = 0; c < columns; ++c) {
      double sum = program.at<float>(scaleAt * 3)[c];
      for (int64_t r = 0; r < rows; ++r)
        sum +=
            double(program.at<float>(0)[r * columns + c]) * program.at<float>(0)[r * columns + c];
      EXPECT_NEAR(program.at<float>(outAt)[c], sum, 1e-5 * (1 + std::fabs(sum)));
    }
  }
}

TEST(ScatterKernel, AddsRowsInOrder) {
  // On a GPU several blocks share the table's rows where there is enough to add or to begin with.
  for (auto [rows, columns, entries] : {std::tuple<int64_t, int64_t, int64_t>{300, 70, 11},
                                        {1, 1, 1},
                                        {700, 3, 40},
                                        {40, 600, 2},
                                        {20, 7, 3000}}) {
    SCOPED_TRACE(rows);
    std::string table = text(entries) + "x" + text(columns) + "xf32";
    ExecProgram program(launchOnce(
        format(scatter, {{"R", text(rows)}, {"C", text(columns)}, {"V", text(entries)}}), "k",
        {{text(rows) + "x" + text(columns) + "xf32", 0},
         {text(rows) + "xi32", scaleAt},
         {table, otherAt}},
        {{table, outAt}}));
    fillNormal(program.at<float>(0), rows * columns);
    fillNormal(program.at<float>(otherAt), entries * columns, 2);
    std::vector<float> expected(program.at<float>(otherAt),
                                program.at<float>(otherAt) + entries * columns);
    for (int64_t r = 0; r < rows; ++r) {
      bool isInside = r != 5 && r != 6;
      int64_t entry = r * 7 % entries;
      program.at<int32_t>(scaleAt)[r] = static_cast<int32_t>(isInside ? entry
                                                             : r == 5 ? -1
                                                                      : entries);
      for (int64_t c = 0; isInside && c < columns; ++c)
        expected[entry * columns + c] += program.at<float>(0)[r * columns + c];
    }
    runBoth(program, entries * columns * 4);
    for (int64_t i = 0; i < entries * columns; ++i)
      ASSERT_EQ(program.at<float>(outAt)[i], expected[i]) << i;
  }
}

TEST(ColumnKernel, TakesColumnsThatDoNotCollapse) {
  ExecProgram program(launchOnce(
      R"(
    #id = affine_map<(r, q, a, b) -> (r, q, a, b)>
    #a = affine_map<(r, q, a, b) -> (a)>
    #ab = affine_map<(r, q, a, b) -> (a, b)>
    exec.kernel private @k(%x: tensor<3x4x5x6xf32>, %w: tensor<5xf32>, %g: tensor<5x6xf32>) -> tensor<5x6xf32>
        attributes {kind = #exec.kernel_kind<columns>, row_dims = 2 : i64} {
      %s = linalg.generic {indexing_maps = [#id, #a, #ab], iterator_types = ["reduction", "reduction", "parallel", "parallel"]}
          ins(%x, %w : tensor<3x4x5x6xf32>, tensor<5xf32>) outs(%g : tensor<5x6xf32>) {
        ^bb0(%v: f32, %u: f32, %acc: f32):
          %0 = arith.mulf %v, %u : f32
          %1 = arith.addf %0, %acc : f32
          linalg.yield %1 : f32
      } -> tensor<5x6xf32>
      exec.yield %s : tensor<5x6xf32>
    })",
      "k", {{"3x4x5x6xf32", 0}, {"5xf32", scaleAt}, {"5x6xf32", otherAt}}, {{"5x6xf32", outAt}}));
  fillNormal(program.at<float>(0), 360), fillNormal(program.at<float>(scaleAt), 5, 2),
      fillNormal(program.at<float>(otherAt), 30, 3);
  runBoth(program, 120);
  for (int64_t c = 0; c < 30; ++c) {
    double sum = program.at<float>(otherAt)[c];
    for (int64_t r = 0; r < 12; ++r)
      sum += double(program.at<float>(0)[r * 30 + c]) * program.at<float>(scaleAt)[c / 6];
    EXPECT_NEAR(program.at<float>(outAt)[c], sum, 1e-5);
  }
}
