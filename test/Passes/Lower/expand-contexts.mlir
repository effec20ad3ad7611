// RUN: ulsc-opt %s --ulsc-expand-contexts | FileCheck %s

// A block takes layer and first row in place of the context.
// CHECK: uls.block @drop(%{{.*}}: tensor<4x8xf32>, %[[LAYER:.*]]: i64, %[[ROW:.*]]: i64)
// CHECK: %[[C:.*]] = builtin.unrealized_conversion_cast %[[LAYER]], %[[ROW]] : i64, i64 to !uls.context
// CHECK: uls.dropout %{{.*}}, %[[C]]
uls.block @drop(%x: tensor<4x8xf32>, %context: !uls.context) -> (tensor<4x8xf32>) {
  %y = uls.dropout %x, %context key "resid" rate 0.1 : tensor<4x8xf32>
  uls.yield %y : tensor<4x8xf32>
}

// The row is the microbatch's; the layer that of the call.
// CHECK-LABEL: uls.step @step
// CHECK: ^bb0(%[[M:.*]]: i64, %[[X:.*]]: tensor<4x8xf32>):
// CHECK: %[[ROWS:.*]] = arith.constant 4 : i64
// CHECK: %[[FIRST:.*]] = arith.muli %[[M]], %[[ROWS]]
// CHECK: %[[THREE:.*]] = arith.constant 3 : i64
// CHECK: uls.call @drop(%[[X]], %[[THREE]], %[[FIRST]]) {layer = 3 : i64}
uls.step @step(%tokens: tensor<2x4x8xi32>, %targets: tensor<2x4x8xi32>) {
  %zero = uls.constant dense<0.0> : tensor<4x8xf32>
  %r = uls.microbatches 2 iter (%zero) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%m: i64, %x: tensor<4x8xf32>):
    %c = uls.make_context %m rows 4
    %y = uls.call @drop(%x, %c) {layer = 3 : i64} : (tensor<4x8xf32>, !uls.context) -> tensor<4x8xf32>
    uls.yield %y : tensor<4x8xf32>
  }
  uls.yield
}
