// RUN: ulsc-opt %s --ulsc-make-joint-blocks=every-block --canonicalize --cse | FileCheck %s
// Finite differences run on every block of this folder (test/unit/Differentiate); the checks here show the form.

// CHECK-LABEL: uls.block @neg
// CHECK: uls.result
// CHECK-NEXT: %[[DX:.*]] = uls.neg %arg1
// CHECK-NEXT: uls.yield %[[DX]]
uls.block @neg(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>) {
  %y = uls.neg %x : tensor<3x5xf32>
  uls.yield %y : tensor<3x5xf32>
}

// The adjoint names the forward result.
// CHECK-LABEL: uls.block @exp
// CHECK: %[[Y:.*]] = uls.exp
// CHECK: uls.result
// CHECK-NEXT: uls.mul %arg1, %[[Y]]
uls.block @exp(%x: tensor<7xf32>) -> (tensor<7xf32>) {
  %y = uls.exp %x : tensor<7xf32>
  uls.yield %y : tensor<7xf32>
}

uls.block @log(%x: tensor<3xf32>) -> (tensor<3xf32>) {
  %half = uls.constant dense<0.5> : tensor<f32>
  %square = uls.mul %x, %x : tensor<3xf32>, tensor<3xf32>
  %positive = uls.add %square, %half : tensor<3xf32>, tensor<f32>
  %y = uls.log %positive : tensor<3xf32>
  uls.yield %y : tensor<3xf32>
}

uls.block @sqrt(%x: tensor<3xf32>) -> (tensor<3xf32>) {
  %half = uls.constant dense<0.5> : tensor<f32>
  %square = uls.mul %x, %x : tensor<3xf32>, tensor<3xf32>
  %positive = uls.add %half, %square : tensor<f32>, tensor<3xf32>
  %y = uls.sqrt %positive : tensor<3xf32>
  uls.yield %y : tensor<3xf32>
}

uls.block @rsqrt(%x: tensor<3xf32>) -> (tensor<3xf32>) {
  %half = uls.constant dense<0.5> : tensor<f32>
  %square = uls.mul %x, %x : tensor<3xf32>, tensor<3xf32>
  %positive = uls.add %square, %half : tensor<3xf32>, tensor<f32>
  %y = uls.rsqrt %positive : tensor<3xf32>
  uls.yield %y : tensor<3xf32>
}

uls.block @tanh(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  %y = uls.tanh %x : tensor<2x3xf32>
  uls.yield %y : tensor<2x3xf32>
}

uls.block @silu(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  %y = uls.silu %x : tensor<2x3xf32>
  uls.yield %y : tensor<2x3xf32>
}

uls.block @gelu_exact(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  %y = uls.gelu none %x : tensor<2x3xf32>
  uls.yield %y : tensor<2x3xf32>
}

uls.block @gelu_tanh(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  %y = uls.gelu tanh %x : tensor<2x3xf32>
  uls.yield %y : tensor<2x3xf32>
}

// A chain of additions costs nothing.
// CHECK-LABEL: uls.block @add
// CHECK: uls.result
// CHECK-NEXT: uls.yield %arg2, %arg2
uls.block @add(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> (tensor<3x5xf32>) {
  %y = uls.add %a, %b : tensor<3x5xf32>, tensor<3x5xf32>
  uls.yield %y : tensor<3x5xf32>
}

// CHECK-LABEL: uls.block @add_twice
// CHECK: uls.result
// CHECK-NEXT: uls.add %arg1, %arg1
uls.block @add_twice(%a: tensor<3x5xf32>) -> (tensor<3x5xf32>) {
  %y = uls.add %a, %a : tensor<3x5xf32>, tensor<3x5xf32>
  uls.yield %y : tensor<3x5xf32>
}

// CHECK-LABEL: uls.block @add_scalar
// CHECK: %[[DB:.*]] = uls.reduce {{ *}}sum %arg2 dims [0, 1]
// CHECK: uls.yield %arg2, %[[DB]]
uls.block @add_scalar(%a: tensor<3x5xf32>, %b: tensor<f32>) -> (tensor<3x5xf32>) {
  %y = uls.add %a, %b : tensor<3x5xf32>, tensor<f32>
  uls.yield %y : tensor<3x5xf32>
}

uls.block @sub(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> (tensor<3x5xf32>) {
  %y = uls.sub %a, %b : tensor<3x5xf32>, tensor<3x5xf32>
  uls.yield %y : tensor<3x5xf32>
}

uls.block @sub_from_scalar(%a: tensor<f32>, %b: tensor<3x5xf32>) -> (tensor<3x5xf32>) {
  %y = uls.sub %a, %b : tensor<f32>, tensor<3x5xf32>
  uls.yield %y : tensor<3x5xf32>
}

uls.block @sub_scalar(%a: tensor<3x5xf32>, %b: tensor<f32>) -> (tensor<3x5xf32>) {
  %y = uls.sub %a, %b : tensor<3x5xf32>, tensor<f32>
  uls.yield %y : tensor<3x5xf32>
}

uls.block @mul(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> (tensor<3x5xf32>) {
  %y = uls.mul %a, %b : tensor<3x5xf32>, tensor<3x5xf32>
  uls.yield %y : tensor<3x5xf32>
}

uls.block @mul_scalar(%a: tensor<f32>, %b: tensor<3x5xf32>) -> (tensor<3x5xf32>) {
  %y = uls.mul %a, %b : tensor<f32>, tensor<3x5xf32>
  uls.yield %y : tensor<3x5xf32>
}

uls.block @square(%a: tensor<3x5xf32>) -> (tensor<3x5xf32>) {
  %y = uls.mul %a, %a : tensor<3x5xf32>, tensor<3x5xf32>
  uls.yield %y : tensor<3x5xf32>
}

uls.block @div(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>) {
  %positive = uls.exp %b : tensor<3xf32>
  %y = uls.div %a, %positive : tensor<3xf32>, tensor<3xf32>
  uls.yield %y : tensor<3xf32>
}

uls.block @div_by_scalar(%a: tensor<3x5xf32>, %b: tensor<f32>) -> (tensor<3x5xf32>) {
  %positive = uls.exp %b : tensor<f32>
  %y = uls.div %a, %positive : tensor<3x5xf32>, tensor<f32>
  uls.yield %y : tensor<3x5xf32>
}

uls.block @div_scalar(%a: tensor<f32>, %b: tensor<3x5xf32>) -> (tensor<3x5xf32>) {
  %positive = uls.exp %b : tensor<3x5xf32>
  %y = uls.div %a, %positive : tensor<f32>, tensor<3x5xf32>
  uls.yield %y : tensor<3x5xf32>
}

// CHECK-LABEL: uls.block @maximum
// CHECK: uls.mask {{ *}}ge %arg0, %arg1, %arg2
// CHECK: uls.mask {{ *}}lt %arg0, %arg1, %arg2
uls.block @maximum(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> (tensor<3x5xf32>) {
  %y = uls.maximum %a, %b : tensor<3x5xf32>, tensor<3x5xf32>
  uls.yield %y : tensor<3x5xf32>
}

uls.block @maximum_of_scalar(%a: tensor<3x5xf32>, %b: tensor<f32>) -> (tensor<3x5xf32>) {
  %y = uls.maximum %a, %b : tensor<3x5xf32>, tensor<f32>
  uls.yield %y : tensor<3x5xf32>
}

uls.block @minimum(%a: tensor<f32>, %b: tensor<3x5xf32>) -> (tensor<3x5xf32>) {
  %y = uls.minimum %a, %b : tensor<f32>, tensor<3x5xf32>
  uls.yield %y : tensor<3x5xf32>
}

// CHECK-LABEL: uls.block @convert
// CHECK: uls.result
// CHECK-NEXT: uls.convert %arg1 : tensor<3x5xbf16> -> tensor<3x5xf32>
uls.block @convert(%x: tensor<3x5xf32>) -> (tensor<3x5xbf16>) {
  %y = uls.convert %x : tensor<3x5xf32> -> tensor<3x5xbf16>
  uls.yield %y : tensor<3x5xbf16>
}

// CHECK-LABEL: uls.block @dropout
// CHECK: uls.result
// CHECK-NEXT: uls.dropout %arg2, %arg1 key "resid" rate 3.000000e-01
uls.block @dropout(%x: tensor<3x5x7xf32>, %context: !uls.context) -> (tensor<3x5x7xf32>) {
  %y = uls.dropout %x, %context key "resid" rate 0.3 : tensor<3x5x7xf32>
  uls.yield %y : tensor<3x5x7xf32>
}

// A value that no result depends on has a gradient of zeros; one that no one asks for has none.
// CHECK-LABEL: uls.block @unused
// CHECK: uls.yield %arg3, %{{.*}} : tensor<3xf32>, tensor<2xf32>
uls.block @unused(%x: tensor<3xf32>, %y: tensor<2xf32>, %i: tensor<4xi32> {uls.range = 4 : i64}) -> (tensor<3xf32>) {
  %z = uls.exp %y : tensor<2xf32>
  uls.yield %x : tensor<3xf32>
}
