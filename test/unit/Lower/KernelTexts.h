//===- KernelTexts.h - Kernels that tests and benchmarks share -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_TEST_UNIT_LOWER_KERNELTEXTS_H
#define ULSC_TEST_UNIT_LOWER_KERNELTEXTS_H

#include "ExecProgram.h"

inline std::string text(int64_t value) { return std::to_string(value); }

/// gelu(x + bias), the tanh form.
inline std::string biasGelu(int64_t rows, int64_t columns) {
  return format(R"(
    exec.kernel private @k(%x: tensor<$Rx$Cxf32>, %b: tensor<$Cxf32>) -> tensor<$Rx$Cxf32> attributes {row_dims = 1 : i64} {
      %e = tensor.empty() : tensor<$Rx$Cxf32>
      %s = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>, affine_map<(r, c) -> (r, c)>],
          iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<$Rx$Cxf32>, tensor<$Cxf32>) outs(%e : tensor<$Rx$Cxf32>) {
        ^bb0(%a: f32, %d: f32, %o: f32):
          %0 = arith.addf %a, %d : f32
          linalg.yield %0 : f32
      } -> tensor<$Rx$Cxf32>
      %y = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>],
          iterator_types = ["parallel", "parallel"]} ins(%s : tensor<$Rx$Cxf32>) outs(%e : tensor<$Rx$Cxf32>) {
        ^bb0(%a: f32, %o: f32):
          %half = arith.constant 0.5 : f32
          %one = arith.constant 1.0 : f32
          %k = arith.constant 0.79788456 : f32
          %q = arith.constant 0.044715 : f32
          %a2 = arith.mulf %a, %a : f32
          %a3 = arith.mulf %a2, %a : f32
          %q3 = arith.mulf %a3, %q : f32
          %in = arith.addf %a, %q3 : f32
          %z = arith.mulf %in, %k : f32
          %t = math.tanh %z : f32
          %t1 = arith.addf %t, %one : f32
          %h = arith.mulf %a, %half : f32
          %r = arith.mulf %h, %t1 : f32
          linalg.yield %r : f32
      } -> tensor<$Rx$Cxf32>
      exec.yield %y : tensor<$Rx$Cxf32>
    })",
                {{"R", text(rows)}, {"C", text(columns)}});
}

/// Softmax of rows; a row of -inf gives zeros.
inline std::string softmax(int64_t rows, int64_t columns) {
  return format(R"(
    #id = affine_map<(r, c) -> (r, c)>
    #row = affine_map<(r, c) -> (r)>
    #r = affine_map<(r) -> (r)>
    exec.kernel private @k(%x: tensor<$Rx$Cxf32>) -> tensor<$Rx$Cxf32> attributes {row_dims = 1 : i64} {
      %low = arith.constant 0xFF800000 : f32
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<$Rx$Cxf32>
      %er = tensor.empty() : tensor<$Rxf32>
      %il = linalg.fill ins(%low : f32) outs(%er : tensor<$Rxf32>) -> tensor<$Rxf32>
      %iz = linalg.fill ins(%zero : f32) outs(%er : tensor<$Rxf32>) -> tensor<$Rxf32>
      %m0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<$Rx$Cxf32>) outs(%il : tensor<$Rxf32>) {
        ^bb0(%a: f32, %acc: f32):
          %0 = arith.maximumf %a, %acc : f32
          linalg.yield %0 : f32
      } -> tensor<$Rxf32>
      %m = linalg.generic {indexing_maps = [#r, #r], iterator_types = ["parallel"]}
          ins(%m0 : tensor<$Rxf32>) outs(%er : tensor<$Rxf32>) {
        ^bb0(%a: f32, %o: f32):
          %is = arith.cmpf oeq, %a, %low : f32
          %0 = arith.select %is, %zero, %a : f32
          linalg.yield %0 : f32
      } -> tensor<$Rxf32>
      %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
          ins(%x, %m : tensor<$Rx$Cxf32>, tensor<$Rxf32>) outs(%e : tensor<$Rx$Cxf32>) {
        ^bb0(%a: f32, %b: f32, %o: f32):
          %0 = arith.subf %a, %b : f32
          %1 = math.exp %0 : f32
          linalg.yield %1 : f32
      } -> tensor<$Rx$Cxf32>
      %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
          ins(%p : tensor<$Rx$Cxf32>) outs(%iz : tensor<$Rxf32>) {
        ^bb0(%a: f32, %acc: f32):
          %0 = arith.addf %a, %acc : f32
          linalg.yield %0 : f32
      } -> tensor<$Rxf32>
      %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
          ins(%p, %s : tensor<$Rx$Cxf32>, tensor<$Rxf32>) outs(%e : tensor<$Rx$Cxf32>) {
        ^bb0(%a: f32, %b: f32, %o: f32):
          %is = arith.cmpf oeq, %b, %zero : f32
          %q = arith.divf %a, %b : f32
          %0 = arith.select %is, %zero, %q : f32
          linalg.yield %0 : f32
      } -> tensor<$Rx$Cxf32>
      exec.yield %y : tensor<$Rx$Cxf32>
    })",
                {{"R", text(rows)}, {"C", text(columns)}});
}

inline std::string bf16Add(int64_t n) {
  return format(R"(
    exec.kernel private @k(%x: tensor<$Nxbf16>, %y: tensor<$Nxbf16>) -> tensor<$Nxbf16> attributes {row_dims = 1 : i64} {
      %e = tensor.empty() : tensor<$Nxbf16>
      %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%x, %y : tensor<$Nxbf16>, tensor<$Nxbf16>) outs(%e : tensor<$Nxbf16>) {
        ^bb0(%a: bf16, %b: bf16, %o: bf16):
          %r = arith.addf %a, %b : bf16
          linalg.yield %r : bf16
      } -> tensor<$Nxbf16>
      exec.yield %z : tensor<$Nxbf16>
    })",
                {{"N", text(n)}});
}

/// [a, b, c] to [c, a, b].
inline std::string transpose(int64_t a, int64_t b, int64_t c) {
  std::vector<std::pair<std::string, std::string>> sizes = {
      {"A", text(a)}, {"B", text(b)}, {"C", text(c)}};
  return format(R"(
    exec.kernel private @k(%x: tensor<$Ax$Bx$Cxf32>) -> tensor<$Cx$Ax$Bxf32> attributes {row_dims = 1 : i64} {
      %e = tensor.empty() : tensor<$Cx$Ax$Bxf32>
      %y = linalg.generic {indexing_maps = [affine_map<(c, a, b) -> (a, b, c)>, affine_map<(c, a, b) -> (c, a, b)>],
          iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<$Ax$Bx$Cxf32>) outs(%e : tensor<$Cx$Ax$Bxf32>) {
        ^bb0(%v: f32, %o: f32):
          linalg.yield %v : f32
      } -> tensor<$Cx$Ax$Bxf32>
      exec.yield %y : tensor<$Cx$Ax$Bxf32>
    })",
                sizes);
}

/// Root mean square normalisation with a weight.
inline std::string rmsNorm(int64_t rows, int64_t columns) {
  return format(R"(
    #id = affine_map<(r, c) -> (r, c)>
    #row = affine_map<(r, c) -> (r)>
    #r = affine_map<(r) -> (r)>
    #col = affine_map<(r, c) -> (c)>
    exec.kernel private @k(%x: tensor<$Rx$Cxf32>, %w: tensor<$Cxf32>) -> tensor<$Rx$Cxf32> attributes {row_dims = 1 : i64} {
      %zero = arith.constant 0.0 : f32
      %n = arith.constant $C.0 : f32
      %eps = arith.constant 1.0e-6 : f32
      %e = tensor.empty() : tensor<$Rx$Cxf32>
      %er = tensor.empty() : tensor<$Rxf32>
      %iz = linalg.fill ins(%zero : f32) outs(%er : tensor<$Rxf32>) -> tensor<$Rxf32>
      %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<$Rx$Cxf32>) outs(%iz : tensor<$Rxf32>) {
        ^bb0(%a: f32, %acc: f32):
          %0 = arith.mulf %a, %a : f32
          %1 = arith.addf %0, %acc : f32
          linalg.yield %1 : f32
      } -> tensor<$Rxf32>
      %q = linalg.generic {indexing_maps = [#r, #r], iterator_types = ["parallel"]}
          ins(%s : tensor<$Rxf32>) outs(%er : tensor<$Rxf32>) {
        ^bb0(%a: f32, %o: f32):
          %0 = arith.divf %a, %n : f32
          %1 = arith.addf %0, %eps : f32
          %2 = math.rsqrt %1 : f32
          linalg.yield %2 : f32
      } -> tensor<$Rxf32>
      %y = linalg.generic {indexing_maps = [#id, #row, #col, #id], iterator_types = ["parallel", "parallel"]}
          ins(%x, %q, %w : tensor<$Rx$Cxf32>, tensor<$Rxf32>, tensor<$Cxf32>) outs(%e : tensor<$Rx$Cxf32>) {
        ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
          %0 = arith.mulf %a, %b : f32
          %1 = arith.mulf %0, %c : f32
          linalg.yield %1 : f32
      } -> tensor<$Rx$Cxf32>
      exec.yield %y : tensor<$Rx$Cxf32>
    })",
                {{"R", text(rows)}, {"C", text(columns)}});
}

/// One step of AdamW.
inline std::string adamW(int64_t n) {
  return format(R"(
    #i = affine_map<(i) -> (i)>
    exec.kernel private @k(%w: tensor<$Nxf32>, %g: tensor<$Nxf32>, %m: tensor<$Nxf32>, %v: tensor<$Nxf32>)
        -> (tensor<$Nxf32>, tensor<$Nxf32>, tensor<$Nxf32>) attributes {row_dims = 1 : i64} {
      %e = tensor.empty() : tensor<$Nxf32>
      %y:3 = linalg.generic {indexing_maps = [#i, #i, #i, #i, #i, #i, #i], iterator_types = ["parallel"]}
          ins(%w, %g, %m, %v : tensor<$Nxf32>, tensor<$Nxf32>, tensor<$Nxf32>, tensor<$Nxf32>)
          outs(%e, %e, %e : tensor<$Nxf32>, tensor<$Nxf32>, tensor<$Nxf32>) {
        ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %o0: f32, %o1: f32, %o2: f32):
          %one = arith.constant 1.0 : f32
          %lr = exec.control "learning_rate" : f32
          %b1 = exec.control "beta1" : f32
          %b2 = exec.control "beta2" : f32
          %eps = exec.control "epsilon" : f32
          %c1 = exec.control "bias_correction1" : f32
          %c2 = exec.control "bias_correction2" : f32
          %wd = exec.control "weight_decay" : f32
          %n1 = arith.subf %one, %b1 : f32
          %n2 = arith.subf %one, %b2 : f32
          %m0 = arith.mulf %c, %b1 : f32
          %m1 = arith.mulf %b, %n1 : f32
          %mn = arith.addf %m0, %m1 : f32
          %v0 = arith.mulf %d, %b2 : f32
          %g2 = arith.mulf %b, %b : f32
          %v1 = arith.mulf %g2, %n2 : f32
          %vn = arith.addf %v0, %v1 : f32
          %vh = arith.divf %vn, %c2 : f32
          %sq = math.sqrt %vh : f32
          %den = arith.addf %sq, %eps : f32
          %mh = arith.divf %mn, %c1 : f32
          %u = arith.divf %mh, %den : f32
          %decay = arith.mulf %a, %wd : f32
          %s = arith.addf %u, %decay : f32
          %d1 = arith.mulf %s, %lr : f32
          %wn = arith.subf %a, %d1 : f32
          linalg.yield %wn, %mn, %vn : f32, f32, f32
      } -> (tensor<$Nxf32>, tensor<$Nxf32>, tensor<$Nxf32>)
      exec.yield %y#0, %y#1, %y#2 : tensor<$Nxf32>, tensor<$Nxf32>, tensor<$Nxf32>
    })",
                {{"N", text(n)}});
}

#endif // ULSC_TEST_UNIT_LOWER_KERNELTEXTS_H
