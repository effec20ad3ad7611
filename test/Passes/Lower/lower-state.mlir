// RUN: ulsc-opt %s --ulsc-lower-state | FileCheck %s

uls.param @w : tensor<4x8xbf16> axes ["a", "b"] init <normal, 0.02>
uls.state @w.master of @w role "master" : tensor<4x8xf32>
uls.param @frozen : tensor<8xf32> axes ["a"] init <ones> {frozen}
uls.param @v : tensor<8xf32> axes ["a"] init <ones>

// The kernel of a parameter with a master value gives the rounded stored value, too.
// CHECK: exec.kernel private @sgd_32(%[[P:.*]]: tensor<32xf32>, %[[G:.*]]: tensor<32xf32>, %[[CLIP:.*]]: tensor<f32>, %{{.*}}: i64) -> (tensor<32xf32>, tensor<32xbf16>)
// CHECK-SAME: family = "sgd tensor<?xf32>, tensor<?xf32>, tensor<f32> stored bf16"
// CHECK: uls.mul %[[G]], %[[CLIP]]
// CHECK: %[[NEW:.*]] = uls.sub
// CHECK: %[[STORED:.*]] = uls.convert %[[NEW]] : tensor<32xf32> -> tensor<32xbf16>
// CHECK: exec.yield %[[NEW]], %[[STORED]]
// CHECK: exec.kernel private @sgd_8
// CHECK-SAME: family = "sgd tensor<?xf32>, tensor<?xf32>, tensor<f32>"
// CHECK-NOT: uls.update_rule
uls.update_rule @sgd(%p: tensor<?xf32>, %g: tensor<?xf32>, %clip: tensor<f32>) -> (tensor<?xf32>)
    attributes {roles = ["parameter", "gradient"], updates = ["parameter"]} {
  %0 = uls.mul %g, %clip : tensor<?xf32>, tensor<f32>
  %1 = uls.sub %p, %0 : tensor<?xf32>, tensor<?xf32>
  uls.yield %1 : tensor<?xf32>
}

// CHECK-LABEL: uls.step @step
// CHECK: exec.get "tokens" : tensor<1x4x8xi32>
// CHECK: %[[W:.*]] = exec.get "w" : tensor<4x8xbf16>
// CHECK: uls.convert %[[W]] : tensor<4x8xbf16> -> tensor<4x8xf32>
// CHECK: exec.put %{{.*}} in "w.gradient" : tensor<4x8xf32>
// CHECK: exec.get "w.master" : tensor<4x8xf32>
// CHECK: %[[FIRST:.*]] = arith.constant 0 : i64
// CHECK: exec.apply @sgd_32(%{{.*}}) scalars(%[[FIRST]])
// CHECK: exec.put %{{.*}} in "w.master" : tensor<4x8xf32>
// CHECK: exec.put %{{.*}} in "w" : tensor<4x8xbf16>
// The frozen parameter takes no number: twice 1 is for the second trainable one.
// CHECK: %[[SECOND:.*]] = arith.constant 2 : i64
// CHECK: exec.apply @sgd_8(%{{.*}}) scalars(%[[SECOND]])
uls.step @step(%tokens: tensor<1x4x8xi32>, %targets: tensor<1x4x8xi32>) {
  %w = uls.materialize @w : tensor<4x8xf32>
  %v = uls.materialize @v : tensor<8xf32>
  %count = uls.count_valid %tokens : tensor<1x4x8xi32> -> tensor<f32>
  uls.update @sgd(%w, %v) scalars (%count) parameters ["w", "v"] : (tensor<4x8xf32>, tensor<8xf32>), (tensor<f32>)
  uls.yield
}
