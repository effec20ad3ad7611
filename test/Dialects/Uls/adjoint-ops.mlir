// RUN: ulsc-opt %s | ulsc-opt | FileCheck %s

// CHECK-LABEL: uls.block @ops
uls.block @ops(%x: tensor<4x8xf32>, %s: tensor<f32>, %m: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>) {
  // CHECK: uls.mask {{ *}}ge %arg0, %arg1, %arg0 : tensor<4x8xf32>, tensor<f32>, tensor<4x8xf32>
  %a = uls.mask ge %x, %s, %x : tensor<4x8xf32>, tensor<f32>, tensor<4x8xf32>
  // CHECK: uls.reduce_max_grad %arg0, %arg2, %arg2 dims [1] : tensor<4x8xf32>, tensor<4xf32>
  %b = uls.reduce_max_grad %x, %m, %m dims [1] : tensor<4x8xf32>, tensor<4xf32>
  // CHECK: uls.sum_ranks %arg1 : tensor<f32>
  %c = uls.sum_ranks %s : tensor<f32>
  // CHECK: uls.select %arg1, %arg0, %{{.*}} : tensor<f32>, tensor<4x8xf32>
  %d = uls.select %s, %x, %a : tensor<f32>, tensor<4x8xf32>
  uls.yield %d, %b, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>
}
