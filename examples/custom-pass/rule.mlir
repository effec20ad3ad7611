// RUN: ulsc-opt --load-pass-plugin=%custom_pass --pass-pipeline="builtin.module(example-clip-elements{limit=0.5})" %s | FileCheck %s

// CHECK-LABEL: uls.update_rule @sgd(%arg0: tensor<?xf32>, %arg1: tensor<?xf32>
// CHECK: %[[LOW:.*]] = uls.constant dense<-5.000000e-01>
// CHECK: %[[HIGH:.*]] = uls.constant dense<5.000000e-01>
// CHECK: %[[A:.*]] = uls.maximum %arg1, %[[LOW]]
// CHECK: %[[B:.*]] = uls.minimum %[[A]], %[[HIGH]]
// CHECK: uls.mul %[[B]], %arg2
uls.update_rule @sgd(%p: tensor<?xf32>, %g: tensor<?xf32>, %clip: tensor<f32>) -> (tensor<?xf32>)
    attributes {roles = ["parameter", "gradient"], updates = ["parameter"]} {
  %lr = uls.control "learning_rate" : tensor<f32>
  %0 = uls.mul %g, %clip : tensor<?xf32>, tensor<f32>
  %1 = uls.mul %0, %lr : tensor<?xf32>, tensor<f32>
  %2 = uls.sub %p, %1 : tensor<?xf32>, tensor<?xf32>
  uls.yield %2 : tensor<?xf32>
}
