// RUN: ulsc-opt %s --split-input-file --ulsc-write-update-rule=optimizer=adamw | FileCheck %s --check-prefixes=CHECK,ADAMW
// RUN: ulsc-opt %s --split-input-file --ulsc-write-update-rule=optimizer=sgd | FileCheck %s --check-prefixes=CHECK,SGD

// ADAMW: uls.update_rule @adamw(%[[P:.*]]: tensor<?xf32>, %[[G:.*]]: tensor<?xbf16>, %[[M:.*]]: tensor<?xf32>, %[[V:.*]]: tensor<?xf32>, %[[CLIP:.*]]: tensor<f32>)
// ADAMW-SAME: roles = ["parameter", "gradient", "moment1", "moment2"], updates = ["parameter", "moment1", "moment2"]
// ADAMW: %[[WIDE:.*]] = uls.convert %[[G]] : tensor<?xbf16> -> tensor<?xf32>
// ADAMW: %[[CLIPPED:.*]] = uls.mul %[[WIDE]], %[[CLIP]]
// Weight decay is decoupled: it scales the parameter and never meets the moments.
// ADAMW: %[[DECAYED:.*]] = uls.mul %[[P]], %{{.*}} : tensor<?xf32>, tensor<f32>
// ADAMW: uls.sub %[[CLIPPED]], %[[M]]
// ADAMW: %[[DENOMINATOR:.*]] = uls.add %{{.*}}, %{{.*}} : tensor<?xf32>, tensor<f32>
// ADAMW: %[[UPDATE:.*]] = uls.div %{{.*}}, %[[DENOMINATOR]]
// ADAMW: %[[NEXT:.*]] = uls.sub %[[DECAYED]], %[[UPDATE]]
// ADAMW: uls.yield %[[NEXT]]

// SGD: uls.update_rule @sgd(%[[P:.*]]: tensor<?xf32>, %[[G:.*]]: tensor<?xbf16>, %[[M:.*]]: tensor<?xf32>, %[[CLIP:.*]]: tensor<f32>)
// SGD-SAME: roles = ["parameter", "gradient", "moment1"], updates = ["parameter", "moment1"]
// SGD-DAG: uls.control "weight_decay"
// SGD-DAG: uls.control "parameter_decay_scale"
// SGD: %[[DECAY:.*]] = uls.mul %[[P]], %{{.*}} : tensor<?xf32>, tensor<f32>
// SGD: %[[DIRECTION:.*]] = uls.add %{{.*}}, %[[DECAY]]
// SGD: uls.mul %[[M]], %{{.*}} : tensor<?xf32>, tensor<f32>
module attributes {uls.gradient_dtype = bf16} {}

// -----

// A rule that is there already stays the only one.
// CHECK: uls.update_rule @mine
// CHECK-NOT: uls.update_rule
uls.update_rule @mine(%p: tensor<?xf32>, %g: tensor<?xf32>, %clip: tensor<f32>) -> (tensor<?xf32>)
    attributes {roles = ["parameter", "gradient"], updates = ["parameter"]} {
  %0 = uls.sub %p, %g : tensor<?xf32>, tensor<?xf32>
  uls.yield %0 : tensor<?xf32>
}
