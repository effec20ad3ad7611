// RUN: ulsc-opt %s --split-input-file | ulsc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: uls.block @scale
uls.block @scale(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>) {
  %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
  uls.yield %y : tensor<4xf32>
}
// CHECK-LABEL: uls.block @joint_scale
// CHECK-SAME: primal_arguments = 2
uls.block @joint_scale(%x: tensor<4xf32>, %w: tensor<4xf32>, %dy: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 0, 1>, cotangents = array<i64: 0>} {
  %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
  uls.result %y : tensor<4xf32>
  %dx = uls.mul %dy, %w : tensor<4xf32>, tensor<4xf32>
  %dw = uls.mul %dy, %x : tensor<4xf32>, tensor<4xf32>
  uls.yield %dx, %dw : tensor<4xf32>, tensor<4xf32>
}
uls.param @w : tensor<4xf32> axes ["embed"] init <normal, 0.02>
uls.forward @forward(%tokens: tensor<4x8xi32>, %targets: tensor<4x8xi32>, %c: !uls.context, %x: tensor<4xf32>) -> (tensor<4xf32>) {
  %w = uls.materialize @w : tensor<4xf32>
  // CHECK: uls.call @joint_scale
  %y, %r = uls.call @joint_scale(%x, %w) {layer = 3 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  %dx, %dw = uls.backward @joint_scale %r (%y) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: %[[FIRST:.*]]:2 = uls.backward @joint_scale %{{.*}} gives [1] : (tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  %dv, %left = uls.backward @joint_scale %r (%y) gives [1] : (tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  // CHECK: uls.backward @joint_scale %[[FIRST]]#1{{ ?}}() gives [0] : () -> tensor<4xf32>
  %dz = uls.backward @joint_scale %left () gives [0] : () -> tensor<4xf32>
  uls.yield %dw : tensor<4xf32>
}

// -----

// CHECK-LABEL: uls.block @attention
uls.block @attention(%q: tensor<2x8x2x2x16xf32>, %k: tensor<2x8x2x16xf32>, %v: tensor<2x8x2x16xf32>, %p: tensor<2x8xi32>, %c: !uls.context) -> (tensor<2x8x2x2x16xf32>) {
  // CHECK: uls.attention %{{.*}}, %{{.*}}, %{{.*}} positions
  %o, %lse = uls.attention %q, %k, %v positions %p, %p context %c {scale = 0.25 : f64, causal, dropoutKey = "attn", dropoutRate = 0.1 : f64}
      : tensor<2x8x2x2x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  %r = uls.rope %k, %p frequencies [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3] : tensor<2x8x2x16xf32>, tensor<2x8xi32>
  %d = uls.dropout %o, %c key "resid" rate 0.1 shard <[4, 8, 2, 2, 16], <@mesh, [{"dp"}, {}, {}, {}, {}]>> : tensor<2x8x2x2x16xf32>
  uls.yield %o : tensor<2x8x2x2x16xf32>
}
