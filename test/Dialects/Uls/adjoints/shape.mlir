// RUN: ulsc-opt %s --ulsc-make-joint-blocks=every-block --canonicalize --cse | FileCheck %s

// Each gradient has its operand's order of dimensions.
// CHECK-LABEL: uls.block @einsum
// CHECK: uls.result
// CHECK-NEXT: uls.einsum "bsm,em->bse" %arg2, %arg1 {{.*}} -> tensor<2x3x5xf32>
// CHECK-NEXT: uls.einsum "bse,bsm->em" %arg0, %arg2 {{.*}} -> tensor<5x7xf32>
uls.block @einsum(%x: tensor<2x3x5xf32>, %w: tensor<5x7xf32>) -> (tensor<2x3x7xf32>) {
  %y = uls.einsum "bse,em->bsm" %x, %w : tensor<2x3x5xf32>, tensor<5x7xf32> -> tensor<2x3x7xf32>
  uls.yield %y : tensor<2x3x7xf32>
}

uls.block @einsum_batched(%q: tensor<2x3x4x5xf32>, %k: tensor<2x7x4x5xf32>) -> (tensor<2x4x3x7xf32>) {
  %y = uls.einsum "bshd,bthd->bhst" %q, %k : tensor<2x3x4x5xf32>, tensor<2x7x4x5xf32> -> tensor<2x4x3x7xf32>
  uls.yield %y : tensor<2x4x3x7xf32>
}

uls.block @einsum_two_contractions(%x: tensor<2x3x4x5xf32>, %w: tensor<7x3x5xf32>) -> (tensor<4x2x7xf32>) {
  %y = uls.einsum "bhsd,ehd->sbe" %x, %w : tensor<2x3x4x5xf32>, tensor<7x3x5xf32> -> tensor<4x2x7xf32>
  uls.yield %y : tensor<4x2x7xf32>
}

uls.block @einsum_outer(%x: tensor<3xf32>, %w: tensor<5xf32>) -> (tensor<5x3xf32>) {
  %y = uls.einsum "a,b->ba" %x, %w : tensor<3xf32>, tensor<5xf32> -> tensor<5x3xf32>
  uls.yield %y : tensor<5x3xf32>
}

uls.block @einsum_dot(%x: tensor<3xf32>, %w: tensor<3xf32>) -> (tensor<f32>) {
  %y = uls.einsum "a,a->" %x, %w : tensor<3xf32>, tensor<3xf32> -> tensor<f32>
  uls.yield %y : tensor<f32>
}

// Gradients of parameters leave in the gradient dtype, those of activations in their own.
// CHECK-LABEL: uls.block @einsum_bf16
// CHECK: uls.result
// CHECK-NEXT: uls.einsum "be,ae->ba" {{.*}} -> tensor<2x3xbf16>
// CHECK-NEXT: uls.einsum "ba,be->ae" {{.*}} -> tensor<3x5xf32>
uls.block @einsum_bf16(%x: tensor<2x3xbf16>, %w: tensor<3x5xbf16> {uls.parameter}) -> (tensor<2x5xbf16>) {
  %y = uls.einsum "ba,ae->be" %x, %w : tensor<2x3xbf16>, tensor<3x5xbf16> -> tensor<2x5xbf16>
  uls.yield %y : tensor<2x5xbf16>
}

// Also through ops that only rearrange: no gradient is rounded on its way back, and none is converted twice.
// CHECK-LABEL: uls.block @rearranged_bf16
// CHECK: uls.result
// CHECK: %[[D1:.*]] = uls.einsum "ba,be->ae" {{.*}} -> tensor<3x4xf32>
// CHECK: %[[D0:.*]] = uls.einsum "ba,be->ae" {{.*}} -> tensor<3x4xf32>
// CHECK-NOT: uls.convert
// CHECK-NOT: uls.pad
// CHECK: uls.concat %{{.*}}, %{{.*}} dim 0 : tensor<1x3x4xf32>, tensor<1x3x4xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT: uls.yield
uls.block @rearranged_bf16(%x: tensor<5x3xbf16>, %w: tensor<2x3x4xbf16> {uls.parameter}) -> (tensor<5x4xbf16>, tensor<5x4xbf16>) {
  %w0 = uls.slice %w dim 0 offset 0 : tensor<2x3x4xbf16> -> tensor<1x3x4xbf16>
  %w1 = uls.slice %w dim 0 offset 1 : tensor<2x3x4xbf16> -> tensor<1x3x4xbf16>
  %m0 = uls.reshape %w0 : tensor<1x3x4xbf16> -> tensor<3x4xbf16>
  %m1 = uls.reshape %w1 : tensor<1x3x4xbf16> -> tensor<3x4xbf16>
  %y0 = uls.einsum "ba,ae->be" %x, %m0 : tensor<5x3xbf16>, tensor<3x4xbf16> -> tensor<5x4xbf16>
  %y1 = uls.einsum "ba,ae->be" %x, %m1 : tensor<5x3xbf16>, tensor<3x4xbf16> -> tensor<5x4xbf16>
  uls.yield %y0, %y1 : tensor<5x4xbf16>, tensor<5x4xbf16>
}

// The bias's gradient is summed from bf16 in f32 and rounded once.
// CHECK-LABEL: uls.block @bias_bf16
// CHECK: uls.result
// CHECK-NEXT: %[[DB:.*]] = uls.reduce {{ *}}sum %arg2 dims [0, 1] : tensor<2x3x5xbf16> -> tensor<5xf32>
// CHECK-NEXT: uls.yield %arg2, %[[DB]]
uls.block @bias_bf16(%x: tensor<2x3x5xbf16>, %b: tensor<5xf32> {uls.parameter}) -> (tensor<2x3x5xbf16>) {
  %c = uls.convert %b : tensor<5xf32> -> tensor<5xbf16>
  %s = uls.broadcast %c dims [2] : tensor<5xbf16> -> tensor<2x3x5xbf16>
  %y = uls.add %x, %s : tensor<2x3x5xbf16>, tensor<2x3x5xbf16>
  uls.yield %y : tensor<2x3x5xbf16>
}

uls.block @reduce_sum(%x: tensor<2x3x5xf32>) -> (tensor<3xf32>) {
  %y = uls.reduce sum %x dims [0, 2] : tensor<2x3x5xf32> -> tensor<3xf32>
  uls.yield %y : tensor<3xf32>
}

uls.block @reduce_sum_all(%x: tensor<3x5xf32>) -> (tensor<f32>) {
  %y = uls.reduce sum %x dims [0, 1] : tensor<3x5xf32> -> tensor<f32>
  uls.yield %y : tensor<f32>
}

// CHECK-LABEL: uls.block @reduce_max
// CHECK: uls.reduce_max_grad %arg0, %{{.*}}, %arg1 dims [1]
uls.block @reduce_max(%x: tensor<2x3x5xf32>) -> (tensor<2x5xf32>) {
  %y = uls.reduce max %x dims [1] : tensor<2x3x5xf32> -> tensor<2x5xf32>
  uls.yield %y : tensor<2x5xf32>
}

uls.block @reduce_max_two(%x: tensor<2x3x5xf32>) -> (tensor<3xf32>) {
  %y = uls.reduce max %x dims [0, 2] : tensor<2x3x5xf32> -> tensor<3xf32>
  uls.yield %y : tensor<3xf32>
}

uls.block @broadcast(%x: tensor<3xf32>) -> (tensor<2x3x5xf32>) {
  %y = uls.broadcast %x dims [1] : tensor<3xf32> -> tensor<2x3x5xf32>
  uls.yield %y : tensor<2x3x5xf32>
}

uls.block @broadcast_scalar(%x: tensor<f32>) -> (tensor<2x3xf32>) {
  %y = uls.broadcast %x dims [] : tensor<f32> -> tensor<2x3xf32>
  uls.yield %y : tensor<2x3xf32>
}

uls.block @reshape(%x: tensor<2x3x5xf32>) -> (tensor<6x5xf32>) {
  %y = uls.reshape %x : tensor<2x3x5xf32> -> tensor<6x5xf32>
  uls.yield %y : tensor<6x5xf32>
}

// CHECK-LABEL: uls.block @transpose
// CHECK: uls.result
// CHECK-NEXT: uls.transpose %arg1 [1, 2, 0]
uls.block @transpose(%x: tensor<2x3x5xf32>) -> (tensor<5x2x3xf32>) {
  %y = uls.transpose %x [2, 0, 1] : tensor<2x3x5xf32> -> tensor<5x2x3xf32>
  uls.yield %y : tensor<5x2x3xf32>
}

// CHECK-LABEL: uls.block @slice
// CHECK: uls.pad %arg1 dim 1 low 2 : tensor<3x4xf32> -> tensor<3x7xf32>
uls.block @slice(%x: tensor<3x7xf32>) -> (tensor<3x4xf32>) {
  %y = uls.slice %x dim 1 offset 2 : tensor<3x7xf32> -> tensor<3x4xf32>
  uls.yield %y : tensor<3x4xf32>
}

uls.block @overlapping_slices(%x: tensor<3x7xf32>) -> (tensor<3x4xf32>) {
  %a = uls.slice %x dim 1 offset 1 : tensor<3x7xf32> -> tensor<3x4xf32>
  %b = uls.slice %x dim 1 offset 3 : tensor<3x7xf32> -> tensor<3x4xf32>
  %y = uls.mul %a, %b : tensor<3x4xf32>, tensor<3x4xf32>
  uls.yield %y : tensor<3x4xf32>
}

// CHECK-LABEL: uls.block @pad
// CHECK: uls.slice %arg1 dim 0 offset 2 : tensor<7x3xf32> -> tensor<4x3xf32>
uls.block @pad(%x: tensor<4x3xf32>) -> (tensor<7x3xf32>) {
  %y = uls.pad %x dim 0 low 2 : tensor<4x3xf32> -> tensor<7x3xf32>
  uls.yield %y : tensor<7x3xf32>
}

uls.block @concat(%a: tensor<1x3xf32>, %b: tensor<4x3xf32>, %c: tensor<2x3xf32>) -> (tensor<7x3xf32>) {
  %y = uls.concat %a, %b, %c dim 0 : tensor<1x3xf32>, tensor<4x3xf32>, tensor<2x3xf32> -> tensor<7x3xf32>
  uls.yield %y : tensor<7x3xf32>
}

// The cotangent keeps its own sharding: a reshard passes it on.
dist.mesh @mesh <["dp"=2, "tp"=2]>
// CHECK-LABEL: uls.block @reshard
uls.block @reshard(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>) {
  %y = uls.neg %x : tensor<3x5xf32>
  %z = dist.reshard %y to <@mesh, [{}, {}]> : tensor<3x5xf32>
  uls.yield %z : tensor<3x5xf32>
}
