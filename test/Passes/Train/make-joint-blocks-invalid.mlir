// RUN: ulsc-opt %s --split-input-file --ulsc-make-joint-blocks --verify-diagnostics

// expected-error@+1 {{has 0 uls.forward ops, expected one}}
module {}

// -----

// expected-error@+1 {{returns ('tensor<4xf32>'), expected one floating-point scalar, the loss}}
uls.forward @forward(%tokens: tensor<4xi32>, %targets: tensor<4xi32>, %x: tensor<4xf32>) -> (tensor<4xf32>) {
  uls.yield %x : tensor<4xf32>
}

// -----

uls.param @w : tensor<2x4xf32> axes ["mlp", "embed"] init <ones>
uls.block @statistics(%w: tensor<2x4xf32> {uls.parameter}) -> (tensor<f32>) {
  %one = uls.constant dense<1.0> : tensor<4xf32>
  // expected-error@+1 {{has no adjoint through result 1, a row statistic}}
  %y, %rstd = uls.rms_norm %w, %one epsilon 1.0e-5 : tensor<2x4xf32>, tensor<4xf32> -> tensor<2xf32>
  %loss = uls.reduce sum %rstd dims [0] : tensor<2xf32> -> tensor<f32>
  uls.yield %loss : tensor<f32>
}
uls.forward @forward(%tokens: tensor<4xi32>, %targets: tensor<4xi32>) -> (tensor<f32>) {
  %w = uls.materialize @w : tensor<2x4xf32>
  %loss = uls.call @statistics(%w) : (tensor<2x4xf32>) -> tensor<f32>
  uls.yield %loss : tensor<f32>
}

// -----

uls.param @w : tensor<2x4xf32> axes ["mlp", "embed"] init <ones>
uls.block @no_adjoint(%w: tensor<2x4xf32> {uls.parameter}) -> (tensor<f32>) {
  // expected-error@+1 {{has no adjoint, but a gradient that is wanted passes through it}}
  %loss = uls.square_sum %w : tensor<2x4xf32> -> tensor<f32>
  uls.yield %loss : tensor<f32>
}
uls.forward @forward(%tokens: tensor<4xi32>, %targets: tensor<4xi32>) -> (tensor<f32>) {
  %w = uls.materialize @w : tensor<2x4xf32>
  %loss = uls.call @no_adjoint(%w) : (tensor<2x4xf32>) -> tensor<f32>
  uls.yield %loss : tensor<f32>
}
