// RUN: ulsc-opt %s --split-input-file --ulsc-make-joint-blocks | FileCheck %s

// Only the second layer's input needs a gradient: the first layer is the block itself, the second a variant. The gradient of
// the parameter has the gradient dtype, that of the activation its own.
uls.param @w0 : tensor<4xf32> axes ["embed"] init <ones>
uls.param @w1 : tensor<4xf32> axes ["embed"] init <ones>
// CHECK-LABEL: uls.block @layer(
// CHECK-SAME: %[[X:.*]]: tensor<4xbf16>, %[[W:.*]]: tensor<4xbf16> {uls.axes = ["embed"], uls.parameter}, %[[DY:.*]]: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xf32> {uls.axes = ["embed"]})
// CHECK-SAME: {cotangents = array<i64: 0>, gradients = array<i64: 1>, primal_arguments = 2 : i64, primal_results = 1 : i64}
// CHECK: %[[Y:.*]] = uls.mul %[[X]], %[[W]]
// CHECK: uls.result %[[Y]]
// CHECK: %[[DW:.*]] = uls.mul %[[DY]], %[[X]]
// CHECK: %[[G:.*]] = uls.convert %[[DW]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK: uls.yield %[[G]]
// CHECK-LABEL: uls.block @layer.variant1
// CHECK-SAME: gradients = array<i64: 0, 1>
uls.block @layer(%x: tensor<4xbf16>, %w: tensor<4xbf16> {uls.axes = ["embed"], uls.parameter}) -> (tensor<4xbf16>) {
  %y = uls.mul %x, %w : tensor<4xbf16>, tensor<4xbf16>
  uls.yield %y : tensor<4xbf16>
}
// No gradient passes through this block: it stays plain.
// CHECK-LABEL: uls.block @embed(
// CHECK-NOT: primal_arguments
// CHECK: uls.yield
uls.block @embed(%tokens: tensor<4xi32>) -> (tensor<4xbf16>) {
  %x = uls.convert %tokens : tensor<4xi32> -> tensor<4xbf16>
  uls.yield %x : tensor<4xbf16>
}
uls.block @loss(%x: tensor<4xbf16>) -> (tensor<f32>) {
  %y = uls.reduce sum %x dims [0] : tensor<4xbf16> -> tensor<f32>
  uls.yield %y : tensor<f32>
}
// CHECK-LABEL: uls.forward @forward
// CHECK: uls.call @layer(
// CHECK: uls.call @layer.variant1(
uls.forward @forward(%tokens: tensor<4xi32>, %targets: tensor<4xi32>) -> (tensor<f32>) {
  %w0 = uls.materialize @w0 : tensor<4xbf16>
  %w1 = uls.materialize @w1 : tensor<4xbf16>
  %x0 = uls.call @embed(%tokens) : (tensor<4xi32>) -> tensor<4xbf16>
  %x1 = uls.call @layer(%x0, %w0) {layer = 0 : i64} : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  %x2 = uls.call @layer(%x1, %w1) {layer = 1 : i64} : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  %loss = uls.call @loss(%x2) : (tensor<4xbf16>) -> tensor<f32>
  uls.yield %loss : tensor<f32>
}

// -----

// A frozen parameter gets no gradient, and nothing before the first trained one gets any.
uls.param @w0 : tensor<4xf32> axes ["embed"] init <ones> {frozen}
uls.param @w1 : tensor<4xf32> axes ["embed"] init <ones>
// CHECK-LABEL: uls.block @frozen_layer(
// CHECK-NOT: primal_arguments
// CHECK: uls.yield
uls.block @frozen_layer(%x: tensor<4xf32>, %w: tensor<4xf32> {uls.parameter}) -> (tensor<4xf32>) {
  %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
  uls.yield %y : tensor<4xf32>
}
// CHECK-LABEL: uls.block @head(
// CHECK-SAME: gradients = array<i64: 2>
uls.block @head(%x: tensor<4xf32>, %frozen: tensor<4xf32> {uls.parameter}, %w: tensor<4xf32> {uls.parameter}) -> (tensor<f32>) {
  %a = uls.mul %x, %frozen : tensor<4xf32>, tensor<4xf32>
  %b = uls.mul %a, %w : tensor<4xf32>, tensor<4xf32>
  %y = uls.reduce sum %b dims [0] : tensor<4xf32> -> tensor<f32>
  uls.yield %y : tensor<f32>
}
uls.forward @forward(%tokens: tensor<4xi32>, %targets: tensor<4xi32>, %x: tensor<4xf32>) -> (tensor<f32>) {
  %w0 = uls.materialize @w0 : tensor<4xf32>
  %w1 = uls.materialize @w1 : tensor<4xf32>
  %x1 = uls.call @frozen_layer(%x, %w0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %loss = uls.call @head(%x1, %w0, %w1) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  uls.yield %loss : tensor<f32>
}

// -----

// A result on which the loss does not depend has no cotangent, and the ops behind it no adjoint.
uls.param @w : tensor<4xf32> axes ["embed"] init <ones>
// CHECK-LABEL: uls.block @two_results(
// CHECK-SAME: cotangents = array<i64: 1>, gradients = array<i64: 0>
// CHECK: uls.result
// CHECK-NOT: uls.mul
// CHECK: uls.neg
// CHECK-NEXT: uls.yield
uls.block @two_results(%w: tensor<4xf32> {uls.parameter}) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = uls.exp %w : tensor<4xf32>
  %b = uls.neg %w : tensor<4xf32>
  uls.yield %a, %b : tensor<4xf32>, tensor<4xf32>
}
uls.block @loss(%x: tensor<4xf32>) -> (tensor<f32>) {
  %y = uls.reduce sum %x dims [0] : tensor<4xf32> -> tensor<f32>
  uls.yield %y : tensor<f32>
}
uls.forward @forward(%tokens: tensor<4xi32>, %targets: tensor<4xi32>) -> (tensor<f32>) {
  %w = uls.materialize @w : tensor<4xf32>
  %a, %b = uls.call @two_results(%w) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %loss = uls.call @loss(%b) : (tensor<4xf32>) -> tensor<f32>
  uls.yield %loss : tensor<f32>
}
