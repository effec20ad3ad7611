// RUN: ulsc-opt %s -ulsc-emit-cpu-kernels | FileCheck %s

#rc = affine_map<(r, c) -> (r, c)>
#r = affine_map<(r, c) -> (r)>

// A sum and the op that uses it are two loops in one function; the square is computed in the sum's loop.
// CHECK-LABEL: llvm.func internal @centre(
// CHECK: scf.for
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args
// CHECK-COUNT-1: arith.mulf
// CHECK: arith.addf {{.*}} fastmath<reassoc
// CHECK: scf.for
// CHECK: arith.subf {{.*}}, %[[SUM]]
// CHECK: llvm.store
exec.kernel private @centre(%x: tensor<8x1000xf32>) -> tensor<8x1000xf32> attributes {row_dims = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x1000xf32>
  %er = tensor.empty() : tensor<8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%er : tensor<8xf32>) -> tensor<8xf32>
  %q = linalg.generic {indexing_maps = [#rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x1000xf32>) outs(%e : tensor<8x1000xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.mulf %a, %a : f32
      linalg.yield %0 : f32
  } -> tensor<8x1000xf32>
  %s = linalg.generic {indexing_maps = [#rc, #r], iterator_types = ["parallel", "reduction"]}
      ins(%q : tensor<8x1000xf32>) outs(%i : tensor<8xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %0 = arith.addf %a, %acc : f32
      linalg.yield %0 : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#rc, #r, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<8x1000xf32>, tensor<8xf32>) outs(%e : tensor<8x1000xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.subf %a, %b : f32
      linalg.yield %0 : f32
  } -> tensor<8x1000xf32>
  exec.yield %y : tensor<8x1000xf32>
}

exec.function private @launches(%a: memref<8x1000xf32>, %b: memref<8x1000xf32>) {
  // CHECK: exec.launch @centre
  // CHECK-SAME: extent = 8 : i64, grain = 8 : i64
  exec.launch @centre ins(%a : memref<8x1000xf32>) outs(%b : memref<8x1000xf32>)
  exec.return
}
