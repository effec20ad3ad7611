// RUN: ulsc-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: uls.block @neutral_elements
// CHECK-NEXT: uls.yield %arg0, %arg0
uls.block @neutral_elements(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %zero = uls.constant dense<0.0> : tensor<3xf32>
  %one = uls.constant dense<1.0> : tensor<f32>
  %a = uls.add %zero, %x : tensor<3xf32>, tensor<3xf32>
  %b = uls.mul %x, %one : tensor<3xf32>, tensor<f32>
  uls.yield %a, %b : tensor<3xf32>, tensor<3xf32>
}

// The zero gives the result its shape.
// CHECK-LABEL: uls.block @neutral_with_the_shape
// CHECK: uls.add
uls.block @neutral_with_the_shape(%x: tensor<f32>) -> (tensor<3xf32>) {
  %zero = uls.constant dense<0.0> : tensor<3xf32>
  %a = uls.add %x, %zero : tensor<f32>, tensor<3xf32>
  uls.yield %a : tensor<3xf32>
}

// Through a wider type and back is exact; through a narrower one it rounds.
// CHECK-LABEL: uls.block @conversions
// CHECK: %[[N:.*]] = uls.convert %arg1
// CHECK: %[[R:.*]] = uls.convert %[[N]]
// CHECK: uls.yield %arg0, %[[R]]
uls.block @conversions(%x: tensor<3xbf16>, %y: tensor<3xf32>) -> (tensor<3xbf16>, tensor<3xf32>) {
  %wide = uls.convert %x : tensor<3xbf16> -> tensor<3xf32>
  %back = uls.convert %wide : tensor<3xf32> -> tensor<3xbf16>
  %narrow = uls.convert %y : tensor<3xf32> -> tensor<3xbf16>
  %rounded = uls.convert %narrow : tensor<3xbf16> -> tensor<3xf32>
  uls.yield %back, %rounded : tensor<3xbf16>, tensor<3xf32>
}

// CHECK-LABEL: uls.block @permutations
// CHECK-NEXT: %[[T:.*]] = uls.transpose %arg0 [2, 0, 1]
// CHECK-NEXT: uls.yield %[[T]], %arg0
uls.block @permutations(%x: tensor<2x3x5xf32>) -> (tensor<5x2x3xf32>, tensor<2x3x5xf32>) {
  %a = uls.transpose %x [1, 2, 0] : tensor<2x3x5xf32> -> tensor<3x5x2xf32>
  %b = uls.transpose %a [1, 2, 0] : tensor<3x5x2xf32> -> tensor<5x2x3xf32>
  %c = uls.transpose %b [1, 2, 0] : tensor<5x2x3xf32> -> tensor<2x3x5xf32>
  uls.yield %b, %c : tensor<5x2x3xf32>, tensor<2x3x5xf32>
}

// CHECK-LABEL: uls.block @reshapes
// CHECK-NEXT: uls.yield %arg0
uls.block @reshapes(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  %a = uls.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  %b = uls.reshape %a : tensor<6xf32> -> tensor<2x3xf32>
  uls.yield %b : tensor<2x3xf32>
}

// CHECK-LABEL: uls.block @parts
// CHECK-NEXT: uls.yield %arg0, %arg1, %arg0
uls.block @parts(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>) {
  %p = uls.pad %x dim 0 low 1 : tensor<2x3xf32> -> tensor<5x3xf32>
  %a = uls.slice %p dim 0 offset 1 : tensor<5x3xf32> -> tensor<2x3xf32>
  %c = uls.concat %x, %y dim 0 : tensor<2x3xf32>, tensor<4x3xf32> -> tensor<6x3xf32>
  %b = uls.slice %c dim 0 offset 2 : tensor<6x3xf32> -> tensor<4x3xf32>
  %l = uls.slice %x dim 1 offset 0 : tensor<2x3xf32> -> tensor<2x1xf32>
  %r = uls.slice %x dim 1 offset 1 : tensor<2x3xf32> -> tensor<2x2xf32>
  %w = uls.concat %l, %r dim 1 : tensor<2x1xf32>, tensor<2x2xf32> -> tensor<2x3xf32>
  uls.yield %a, %b, %w : tensor<2x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: uls.block @pads_that_tile
// CHECK-NEXT: %[[C:.*]] = uls.concat %arg1, %arg0, %arg2 dim 0
// CHECK-NEXT: uls.yield %[[C]]
uls.block @pads_that_tile(%b: tensor<2x3xf32>, %a: tensor<1x3xf32>, %c: tensor<4x3xf32>) -> (tensor<7x3xf32>) {
  %pb = uls.pad %b dim 0 low 1 : tensor<2x3xf32> -> tensor<7x3xf32>
  %pa = uls.pad %a dim 0 low 0 : tensor<1x3xf32> -> tensor<7x3xf32>
  %pc = uls.pad %c dim 0 low 3 : tensor<4x3xf32> -> tensor<7x3xf32>
  %s = uls.add %pb, %pc : tensor<7x3xf32>, tensor<7x3xf32>
  %y = uls.add %pa, %s : tensor<7x3xf32>, tensor<7x3xf32>
  uls.yield %y : tensor<7x3xf32>
}

// A gap or an overlap stays a sum.
// CHECK-LABEL: uls.block @pads_with_a_gap
// CHECK: uls.add
uls.block @pads_with_a_gap(%a: tensor<1x3xf32>, %b: tensor<1x3xf32>) -> (tensor<4x3xf32>) {
  %pa = uls.pad %a dim 0 low 0 : tensor<1x3xf32> -> tensor<4x3xf32>
  %pb = uls.pad %b dim 0 low 2 : tensor<1x3xf32> -> tensor<4x3xf32>
  %y = uls.add %pa, %pb : tensor<4x3xf32>, tensor<4x3xf32>
  uls.yield %y : tensor<4x3xf32>
}
