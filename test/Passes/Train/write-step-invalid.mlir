// RUN: ulsc-opt %s --split-input-file --ulsc-make-joint-blocks --ulsc-write-update-rule --ulsc-write-step --verify-diagnostics

// expected-error@+1 {{needs the attribute uls.batch with microbatches of 1 or more}}
module {
  uls.param @w : tensor<4xf32> axes ["embed"] init <ones>
  uls.block @loss(%w: tensor<4xf32> {uls.parameter}) -> (tensor<f32>) {
    %y = uls.reduce sum %w dims [0] : tensor<4xf32> -> tensor<f32>
    uls.yield %y : tensor<f32>
  }
  uls.forward @forward(%tokens: tensor<4xi32>, %targets: tensor<4xi32>) -> (tensor<f32>) {
    %w = uls.materialize @w : tensor<4xf32>
    %loss = uls.call @loss(%w) : (tensor<4xf32>) -> tensor<f32>
    uls.yield %loss : tensor<f32>
  }
}

// -----

module attributes {uls.batch = {microbatches = 1 : i64}} {
  uls.block @loss(%x: tensor<4xf32>) -> (tensor<f32>) {
    %y = uls.reduce sum %x dims [0] : tensor<4xf32> -> tensor<f32>
    uls.yield %y : tensor<f32>
  }
  // expected-error@+1 {{argument 2 of type 'tensor<4xf32>' is neither tokens, targets (integers, in this order) nor the context}}
  uls.forward @forward(%tokens: tensor<4xi32>, %targets: tensor<4xi32>, %x: tensor<4xf32>) -> (tensor<f32>) {
    %loss = uls.call @loss(%x) : (tensor<4xf32>) -> tensor<f32>
    uls.yield %loss : tensor<f32>
  }
}

// -----

module attributes {uls.batch = {microbatches = 1 : i64}} {
  uls.param @w : tensor<4xf32> axes ["embed"] init <ones> {frozen}
  uls.block @loss(%x: tensor<4xf32>) -> (tensor<f32>) {
    %y = uls.reduce sum %x dims [0] : tensor<4xf32> -> tensor<f32>
    uls.yield %y : tensor<f32>
  }
  // expected-error@+1 {{has no parameter to train; unfreeze one}}
  uls.forward @forward(%tokens: tensor<4xi32>, %targets: tensor<4xi32>) -> (tensor<f32>) {
    %w = uls.materialize @w : tensor<4xf32>
    %loss = uls.call @loss(%w) : (tensor<4xf32>) -> tensor<f32>
    uls.yield %loss : tensor<f32>
  }
}

// -----

module attributes {uls.batch = {microbatches = 1 : i64}} {
  uls.param @w : tensor<4xf32> axes ["embed"] init <ones>
  // expected-warning@+1 {{the loss does not depend on parameter "unused"; it stays as it is}}
  uls.param @unused : tensor<4xf32> axes ["embed"] init <ones>
  // expected-error@+1 {{@w.moment1 is taken; the state of parameter @w needs this name}}
  uls.param @"w.moment1" : tensor<4xf32> axes ["embed"] init <ones> {frozen}
  uls.block @loss(%w: tensor<4xf32> {uls.parameter}) -> (tensor<f32>) {
    %y = uls.reduce sum %w dims [0] : tensor<4xf32> -> tensor<f32>
    uls.yield %y : tensor<f32>
  }
  uls.forward @forward(%tokens: tensor<4xi32>, %targets: tensor<4xi32>) -> (tensor<f32>) {
    %w = uls.materialize @w : tensor<4xf32>
    %loss = uls.call @loss(%w) : (tensor<4xf32>) -> tensor<f32>
    uls.yield %loss : tensor<f32>
  }
}
