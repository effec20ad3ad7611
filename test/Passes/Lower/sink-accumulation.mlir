// RUN: ulsc-opt %s --split-input-file --ulsc-sink-accumulation | FileCheck %s

// What a block makes and its callers only add up, a variant of the block adds up itself, right where it is made.
// CHECK-NOT: uls.block @b.bwd(
// CHECK-LABEL: uls.block @b.bwd.acc
// CHECK-SAME: %[[DY:[^:]*]]: tensor<4xf32>, %[[X:[^:]*]]: tensor<4xf32>, %[[ACC:[^:]*]]: tensor<4xf32> {exec.accumulates = 1 : i64}
// CHECK: %[[DW:.*]] = uls.mul %[[DY]], %[[X]]
// CHECK-NEXT: %[[SUM:.*]] = uls.accumulate %[[ACC]], %[[DW]]
// CHECK-NEXT: %[[DX:.*]] = uls.neg
// CHECK: uls.yield %[[DX]], %[[SUM]]
uls.block @b.bwd(%dy: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %dw = uls.mul %dy, %x : tensor<4xf32>, tensor<4xf32>
  %dx = uls.neg %dy : tensor<4xf32>
  uls.yield %dx, %dw : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: uls.step @step
// CHECK: ^bb0(%{{.*}}: i64, %[[A:.*]]: tensor<4xf32>, %[[D:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[R:.*]]:2 = uls.call @b.bwd.acc(%[[D]], %[[D]], %[[A]])
// CHECK-NEXT: uls.yield %[[R]]#1, %[[R]]#0
uls.step @step(%tokens: tensor<2x4x8xi32>, %targets: tensor<2x4x8xi32>) {
  %zero = uls.constant dense<0.0> : tensor<4xf32>
  %one = uls.constant dense<1.0> : tensor<4xf32>
  %r:2 = uls.microbatches 2 iter (%zero, %one) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%m: i64, %a: tensor<4xf32>, %d: tensor<4xf32>):
    %dx, %dw = uls.call @b.bwd(%d, %d) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %s = uls.accumulate %a, %dw : tensor<4xf32>, tensor<4xf32>
    uls.yield %s, %dx : tensor<4xf32>, tensor<4xf32>
  }
  uls.yield
}

// -----

// A loop over one microbatch is its body, and what is added to zeros is the sum.
uls.block @b.fwd(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  %y = uls.neg %x : tensor<4xf32>
  uls.yield %y : tensor<4xf32>
}
// CHECK-LABEL: uls.step @single
// CHECK-NOT: uls.microbatches
// CHECK: uls.call @b.fwd
// CHECK-NOT: uls.accumulate
uls.step @single(%tokens: tensor<1x4x8xi32>, %targets: tensor<1x4x8xi32>) {
  %zero = uls.constant dense<0.0> : tensor<4xf32>
  %one = uls.constant dense<1.0> : tensor<4xf32>
  %r = uls.microbatches 1 iter (%zero) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%m: i64, %a: tensor<4xf32>):
    %y = uls.call @b.fwd(%one) : (tensor<4xf32>) -> tensor<4xf32>
    %s = uls.accumulate %a, %y : tensor<4xf32>, tensor<4xf32>
    uls.yield %s : tensor<4xf32>
  }
  uls.yield
}
