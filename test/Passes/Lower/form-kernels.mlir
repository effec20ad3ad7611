// RUN: ulsc-opt %s --ulsc-decompose-model-ops --ulsc-form-kernels | FileCheck %s

// Row ops that feed one another are one kernel with several results.
// CHECK-LABEL: uls.block @add_norm
// CHECK-NEXT: %[[R:.*]]:3 = exec.apply @add_rms_norm(
// CHECK-NEXT: uls.yield
uls.block @add_norm(%x: tensor<4x16x32xf32>, %y: tensor<4x16x32xf32>, %w: tensor<32xf32>)
    -> (tensor<4x16x32xf32>, tensor<4x16x32xf32>, tensor<4x16xf32>) {
  %s = uls.add %x, %y : tensor<4x16x32xf32>, tensor<4x16x32xf32>
  %n, %rstd = uls.rms_norm %s, %w epsilon 1.0e-5 : tensor<4x16x32xf32>, tensor<32xf32> -> tensor<4x16xf32>
  uls.yield %s, %n, %rstd : tensor<4x16x32xf32>, tensor<4x16x32xf32>, tensor<4x16xf32>
}

// A broadcast goes into the kernel that reads it, never to memory.
// CHECK-LABEL: uls.block @bias_gelu
// CHECK-SAME: %[[H:[^:]*]]: tensor<64x128xf32>, %[[B:[^:]*]]: tensor<128xf32>
// CHECK-NEXT: exec.apply @broadcast_add_gelu(%[[B]], %[[H]]) : (tensor<128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
uls.block @bias_gelu(%h: tensor<64x128xf32>, %b: tensor<128xf32>) -> (tensor<64x128xf32>) {
  %0 = uls.broadcast %b dims [1] : tensor<128xf32> -> tensor<64x128xf32>
  %1 = uls.add %h, %0 : tensor<64x128xf32>, tensor<64x128xf32>
  %2 = uls.gelu tanh %1 : tensor<64x128xf32>
  uls.yield %2 : tensor<64x128xf32>
}

// Weight and bias gradients share one walk over the rows, apart from the row kernel.
// CHECK-LABEL: uls.block @norm_grad
// CHECK: exec.apply @layer_norm_grad({{.*}}) : {{.*}} -> tensor<64x32xf32>
// CHECK: exec.apply @layer_norm_grad_0({{.*}}) : {{.*}} -> tensor<32xf32>, tensor<32xf32>
uls.block @norm_grad(%x: tensor<64x32xf32>, %w: tensor<32xf32>, %mean: tensor<64xf32>, %rstd: tensor<64xf32>,
                     %dy: tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %dx, %dw, %db = uls.layer_norm_grad %x, %w, %mean, %rstd, %dy
    : tensor<64x32xf32>, tensor<32xf32>, tensor<64xf32> -> tensor<32xf32>
  uls.yield %dx, %dw, %db : tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>
}

// The angles' cosines and sines are computed once, not again for each head; queries and keys would share them.
// CHECK-LABEL: uls.block @rotate
// CHECK-COUNT-3: exec.apply @rope
// CHECK-NOT: exec.apply
uls.block @rotate(%x: tensor<2x64x4x8xf32>, %p: tensor<2x64xi32>) -> (tensor<2x64x4x8xf32>) {
  %y = uls.rope %x, %p frequencies [1.0, 0.1, 0.01, 0.001] : tensor<2x64x4x8xf32>, tensor<2x64xi32>
  uls.yield %y : tensor<2x64x4x8xf32>
}

// What a collective separates stays apart.
// CHECK-LABEL: uls.block @around
// CHECK: exec.apply @neg
// CHECK: dist.all_reduce
// CHECK: exec.apply @exp
uls.block @around(%x: tensor<64x32xf32>) -> (tensor<64x32xf32>) {
  %0 = uls.neg %x : tensor<64x32xf32>
  %1 = dist.all_reduce sum %0 over @mesh ["tp"] : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = uls.exp %1 : tensor<64x32xf32>
  uls.yield %2 : tensor<64x32xf32>
}
dist.mesh @mesh <["tp"=2]>

// CHECK: exec.kernel private @layer_norm_grad_0
// CHECK-SAME: kind = #exec.kernel_kind<columns>, row_dims = 1
