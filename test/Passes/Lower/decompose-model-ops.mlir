// RUN: ulsc-opt %s --ulsc-decompose-model-ops | FileCheck %s

// bf16 is stored, f32 computed in; a splat constant and a control field go into the body.
// CHECK-LABEL: uls.block @elementwise
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK-DAG: exec.control "learning_rate" : f32
// CHECK-DAG: arith.constant 2.000000e+00 : f32
// CHECK: arith.mulf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
uls.block @elementwise(%x: tensor<4x8xbf16>) -> (tensor<4x8xbf16>) {
  %rate = uls.control "learning_rate" : tensor<f32>
  %two = uls.constant dense<2.0> : tensor<f32>
  %scale = uls.mul %rate, %two : tensor<f32>, tensor<f32>
  %wide = uls.convert %x : tensor<4x8xbf16> -> tensor<4x8xf32>
  %product = uls.mul %wide, %scale : tensor<4x8xf32>, tensor<f32>
  %y = uls.convert %product : tensor<4x8xf32> -> tensor<4x8xbf16>
  uls.yield %y : tensor<4x8xbf16>
}

// Letters that lie together are one dimension; the result's rows are those that lie together.
// CHECK-LABEL: uls.block @contract_heads
// CHECK: exec.contract "bse,khde->bskhd" %{{.*}}, %{{.*}} sizes [1, 6, 24, 8] strides [0, 8, 1], [0, 1, 8], [0, 24, 1]
// CHECK-NOT: linalg.generic
uls.block @contract_heads(%x: tensor<2x3x8xf32>, %w: tensor<2x3x4x8xf32>) -> (tensor<2x3x2x3x4xf32>) {
  %y = uls.einsum "bse,khde->bskhd" %x, %w : tensor<2x3x8xf32>, tensor<2x3x4x8xf32> -> tensor<2x3x2x3x4xf32>
  uls.yield %y : tensor<2x3x2x3x4xf32>
}

// The product adds to the accumulator itself.
// CHECK-LABEL: uls.block @contract_onto
// CHECK-SAME: %[[ACC:[^:]*]]: tensor<4x8xf32>)
// CHECK: exec.contract "bo,bi->oi" %{{.*}}, %{{.*}} onto %[[ACC]] sizes [1, 4, 8, 6]
// CHECK-NOT: linalg.generic
uls.block @contract_onto(%dy: tensor<6x4xf32>, %x: tensor<6x8xf32>, %acc: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  %dw = uls.einsum "bo,bi->oi" %dy, %x : tensor<6x4xf32>, tensor<6x8xf32> -> tensor<4x8xf32>
  %sum = uls.accumulate %acc, %dw : tensor<4x8xf32>, tensor<4x8xf32>
  uls.yield %sum : tensor<4x8xf32>
}

// Letters that don't: the operand is transposed first.
// CHECK-LABEL: uls.block @contract_scattered
// CHECK: linalg.generic
// CHECK: exec.contract
uls.block @contract_scattered(%x: tensor<2x8x3xf32>, %w: tensor<8x5xf32>) -> (tensor<2x3x5xf32>) {
  %y = uls.einsum "bes,eo->bso" %x, %w : tensor<2x8x3xf32>, tensor<8x5xf32> -> tensor<2x3x5xf32>
  uls.yield %y : tensor<2x3x5xf32>
}

// The table's gradient is scattered onto the accumulator.
// CHECK-LABEL: uls.block @scatter_onto
// CHECK-SAME: %[[ACC:[^:]*]]: tensor<16x8xf32>)
// CHECK: exec.apply @embedding_grad(%{{.*}}, %{{.*}}, %[[ACC]])
// CHECK-NOT: linalg.generic
uls.block @scatter_onto(%t: tensor<2x3xi32>, %dy: tensor<2x3x8xf32>, %acc: tensor<16x8xf32>) -> (tensor<16x8xf32>) {
  %0 = uls.embedding_grad %t, %dy : tensor<2x3xi32>, tensor<2x3x8xf32> -> tensor<16x8xf32>
  %sum = uls.accumulate %acc, %0 : tensor<16x8xf32>, tensor<16x8xf32>
  uls.yield %sum : tensor<16x8xf32>
}

// Padding columns of the logits count for nothing.
// CHECK-LABEL: uls.block @padded_loss
// CHECK: arith.constant 6 : i64
// CHECK: arith.cmpi slt
// CHECK: math.exp
// CHECK: tensor.extract
uls.block @padded_loss(%l: tensor<2x3x8xf32>, %t: tensor<2x3xi32>) -> (tensor<2x3xf32>) {
  %loss, %lse = uls.cross_entropy %l, %t vocabulary 6 : tensor<2x3x8xf32>, tensor<2x3xi32> -> tensor<2x3xf32>
  uls.yield %loss : tensor<2x3xf32>
}
