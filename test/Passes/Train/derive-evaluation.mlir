// RUN: ulsc-opt %s --ulsc-derive-evaluation | FileCheck %s
// RUN: ulsc-opt %s --ulsc-train-pipeline --ulsc-derive-evaluation | FileCheck %s

// From a plain module and from a trained one the same program comes out: the layers' variants are one block again, nothing of training
// is left, nothing is dropped.
module attributes {uls.batch = {microbatches = 3 : i64}} {
  // CHECK-NOT: uls.state
  uls.param @w0 : tensor<8xf32> axes ["seq"] init <ones>
  uls.param @w1 : tensor<8xf32> axes ["seq"] init <ones>
  // CHECK-LABEL: uls.block @embed
  uls.block @embed(%tokens: tensor<4x8xi32>) -> (tensor<4x8xf32>) {
    %x = uls.convert %tokens : tensor<4x8xi32> -> tensor<4x8xf32>
    uls.yield %x : tensor<4x8xf32>
  }
  // CHECK-LABEL: uls.block @layer(
  // CHECK-SAME: !uls.context) -> (tensor<4x8xf32> {uls.axes = ["batch", "seq"]}) {
  // CHECK-NOT: uls.dropout
  // CHECK-NOT: uls.result
  // CHECK: uls.yield
  // CHECK-LABEL: uls.block @loss
  uls.block @layer(%x: tensor<4x8xf32>, %w: tensor<8xf32> {uls.parameter}, %c: !uls.context) -> (tensor<4x8xf32> {uls.axes = ["batch", "seq"]}) {
    %s = uls.broadcast %w dims [1] : tensor<8xf32> -> tensor<4x8xf32>
    %y = uls.mul %x, %s : tensor<4x8xf32>, tensor<4x8xf32>
    %d = uls.dropout %y, %c key "resid" rate 0.5 : tensor<4x8xf32>
    uls.yield %d : tensor<4x8xf32>
  }
  uls.block @loss(%x: tensor<4x8xf32>) -> (tensor<f32>) {
    %y = uls.reduce sum %x dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    uls.yield %y : tensor<f32>
  }
  uls.forward @forward(%tokens: tensor<4x8xi32>, %targets: tensor<4x8xi32>, %c: !uls.context) -> (tensor<f32>) {
    %w0 = uls.materialize @w0 : tensor<8xf32>
    %w1 = uls.materialize @w1 : tensor<8xf32>
    %x0 = uls.call @embed(%tokens) : (tensor<4x8xi32>) -> tensor<4x8xf32>
    %x1 = uls.call @layer(%x0, %w0, %c) {layer = 0 : i64} : (tensor<4x8xf32>, tensor<8xf32>, !uls.context) -> tensor<4x8xf32>
    %x2 = uls.call @layer(%x1, %w1, %c) {layer = 1 : i64} : (tensor<4x8xf32>, tensor<8xf32>, !uls.context) -> tensor<4x8xf32>
    %loss = uls.call @loss(%x2) : (tensor<4x8xf32>) -> tensor<f32>
    uls.yield %loss : tensor<f32>
  }
  // CHECK-NOT: uls.update_rule
  // CHECK-LABEL: uls.step @step(
  // CHECK: %[[SUM:.*]] = uls.microbatches 3 iter(%{{.*}}) : (tensor<f32>) -> tensor<f32>
  // CHECK: uls.call @layer({{.*}} {layer = 0 : i64} : {{.*}} -> tensor<4x8xf32>
  // CHECK: uls.call @layer({{.*}} {layer = 1 : i64}
  // CHECK: uls.add
  // CHECK: uls.yield
  // CHECK: %[[COUNT:.*]] = uls.count_valid
  // CHECK: %[[SCALE:.*]] = uls.div
  // CHECK: %[[MEAN:.*]] = uls.mul %[[SUM]], %[[SCALE]]
  // CHECK-NEXT: uls.report "loss" %[[MEAN]]
  // CHECK: uls.sum_ranks
  // CHECK-NEXT: uls.report "stop_count"
  // CHECK-NEXT: uls.yield
  // CHECK-NOT: uls.update
}
