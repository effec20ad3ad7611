// RUN: ulsc-opt %s -ulsc-deduplicate-kernels | FileCheck %s

#i = affine_map<(i) -> (i)>

// CHECK: exec.kernel private @first
exec.kernel private @first(%x: tensor<8xf32>) -> tensor<8xf32> attributes {row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.negf %a : f32
      linalg.yield %0 : f32
  } -> tensor<8xf32>
  exec.yield %y : tensor<8xf32>
}

// CHECK-NOT: @same
exec.kernel private @same(%x: tensor<8xf32>) -> tensor<8xf32> attributes {row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.negf %a : f32
      linalg.yield %0 : f32
  } -> tensor<8xf32>
  exec.yield %y : tensor<8xf32>
}

// CHECK: exec.kernel private @other_body
exec.kernel private @other_body(%x: tensor<8xf32>) -> tensor<8xf32> attributes {row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
  } -> tensor<8xf32>
  exec.yield %y : tensor<8xf32>
}

// CHECK: exec.function private @launches
exec.function private @launches(%a: memref<8xf32>, %b: memref<8xf32>) {
  // CHECK: exec.launch @first
  exec.launch @first ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
  // CHECK: exec.launch @first
  exec.launch @same ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
  // CHECK: exec.launch @other_body
  exec.launch @other_body ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
  exec.return
}
