// RUN: ulsc-opt %s -ulsc-emit-cpu-kernels -split-input-file -verify-diagnostics

exec.kernel private @reads_undefined_output(%x: tensor<8xf32>) -> tensor<8xf32> attributes {row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8xf32>
  // expected-error @below {{reads output 0, which starts as tensor.empty}}
  %m = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %a, %o : f32
      linalg.yield %0 : f32
  } -> tensor<8xf32>
  exec.yield %m : tensor<8xf32>
}

// -----

exec.kernel private @reshapes(%x: tensor<8xf32>) -> tensor<8xf32> attributes {row_dims = 1 : i64} {
  // expected-error @below {{'tensor.expand_shape' op is not legal in a kernel; linalg.generic, linalg.fill and tensor.empty are}}
  %v = tensor.expand_shape %x [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %e = tensor.empty() : tensor<8xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
  } -> tensor<8xf32>
  exec.yield %m : tensor<8xf32>
}

// -----

exec.kernel private @columns_without_reduction(%x: tensor<8x4xf32>) -> tensor<8x4xf32>
    attributes {kind = #exec.kernel_kind<columns>, row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8x4xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
  } -> tensor<8x4xf32>
  // expected-error @below {{yields a value that depends on no reduction in a kernel of kind columns}}
  exec.yield %m : tensor<8x4xf32>
}
