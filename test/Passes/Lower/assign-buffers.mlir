// RUN: ulsc-opt %s --ulsc-assign-buffers | FileCheck %s

exec.kernel private @twice(%x: tensor<64x32xf32>) -> tensor<64x32xf32> attributes {row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<64x32xf32>
  %m = linalg.generic {
      indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
    ^bb0(%a: f32, %unused: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
  } -> tensor<64x32xf32>
  exec.yield %m : tensor<64x32xf32>
}

// The result lies with the caller. No call asks for the argument afterwards, so that the value before it takes its place.
// CHECK-LABEL: exec.function private @chain
// CHECK-SAME: %[[X:[^:]*]]: memref<64x32xf32>, %[[Y:[^:]*]]: memref<64x32xf32>)
// CHECK-NEXT: exec.launch @twice ins(%[[X]] : {{.*}}) outs(%[[X]] :
// CHECK-NEXT: exec.launch @twice ins(%[[X]] : {{.*}}) outs(%[[Y]] :
// CHECK-NEXT: exec.return
uls.block @chain(%x: tensor<64x32xf32>) -> (tensor<64x32xf32>) {
  %y = exec.apply @twice(%x) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %z = exec.apply @twice(%y) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  uls.yield %z : tensor<64x32xf32>
}

// An argument cannot be a result without a copy.
// CHECK-LABEL: exec.function private @pass
// CHECK: exec.copy %arg0 to %arg1
uls.block @pass(%x: tensor<64x32xf32>) -> (tensor<64x32xf32>) {
  uls.yield %x : tensor<64x32xf32>
}

// The accumulator takes the sum.
// CHECK-LABEL: exec.function private @onto
// CHECK-SAME: %[[A:[^:]*]]: memref<6x4xf32>, %[[B:[^:]*]]: memref<6x8xf32>, %[[ACC:[^:]*]]: memref<4x8xf32>)
// CHECK-NEXT: %[[W:.*]] = exec.buffer workspaces : memref<{{.*}}xi8>
// CHECK-NEXT: exec.gemm "dw" %[[A]], %[[B]] outs(%[[ACC]]) workspace(%[[W]]) {{.*}} accumulate
// CHECK-NEXT: exec.return
uls.block @onto(%a: tensor<6x4xf32>, %b: tensor<6x8xf32>, %acc: tensor<4x8xf32> {exec.accumulates = 0 : i64})
    -> (tensor<4x8xf32>) {
  %0 = exec.contract "dw" %a, %b onto %acc sizes [1, 4, 8, 6] strides [0, 1, 4], [0, 8, 1], [0, 8, 1]
      : tensor<6x4xf32>, tensor<6x8xf32> onto tensor<4x8xf32> -> tensor<4x8xf32>
  uls.yield %0 : tensor<4x8xf32>
}
