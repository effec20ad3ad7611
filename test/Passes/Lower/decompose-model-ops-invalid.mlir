// RUN: ulsc-opt %s --ulsc-decompose-model-ops --verify-diagnostics

uls.block @b(%x: tensor<4x8xf32>, %max: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4x8xf32>) {
  // expected-error @+1 {{has no lowering to kernels: a pattern in passes/Lower is missing}}
  %y = uls.reduce_max_grad %x, %max, %dy dims [1] : tensor<4x8xf32>, tensor<4xf32>
  uls.yield %y : tensor<4x8xf32>
}
