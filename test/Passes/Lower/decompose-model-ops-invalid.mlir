// RUN: ulsc-opt %s --ulsc-decompose-model-ops --verify-diagnostics

// Positions in a group are found in f32, which counts to 2^24.
uls.block @b(%x: tensor<4x16777217xf32>, %max: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4x16777217xf32>) {
  // expected-error @+1 {{has no lowering to kernels: a pattern in passes/Lower is missing}}
  %y = uls.reduce_max_grad %x, %max, %dy dims [1] : tensor<4x16777217xf32>, tensor<4xf32>
  uls.yield %y : tensor<4x16777217xf32>
}
