// RUN: ulsc-opt %s --ulsc-peel-last-microbatch --ulsc-bucket-gradients --ulsc-overlap-collectives | FileCheck %s

module attributes {dist.partitioned} {
uls.block @b.bwd(%w: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  uls.yield %w, %dy, %w : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Two calls, two gradients each: the loop keeps 3 of 4 microbatches, and each call's reduction starts before the next call.
// CHECK-LABEL: uls.step @step
// CHECK: uls.microbatches 3 iter
// CHECK: uls.call @b.bwd
// CHECK: uls.call @b.bwd
// CHECK: uls.yield
// CHECK: }
// CHECK: %[[D1:.*]]:3 = uls.call @b.bwd
// CHECK: dist.start {
// CHECK-NEXT: dist.all_reduce sum %{{.*}}, %{{.*}} over @mesh ["dp"] cause "first; second"
// CHECK: uls.call @b.bwd(%{{.*}}, %[[D1]]#0)
// CHECK: dist.start {
// CHECK: dist.wait
// CHECK: dist.wait
// CHECK: uls.global_norm
uls.step @step(%w: tensor<4xf32>, %dy: tensor<4xf32>) {
  %zero = uls.constant dense<0.0> : tensor<4xf32>
  %g0, %g1, %g2, %g3 = uls.microbatches 4 iter (%zero, %zero, %zero, %zero) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%m: i64, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %a2: tensor<4xf32>, %a3: tensor<4xf32>):
    %x1, %p, %q = uls.call @b.bwd(%w, %dy) {layer = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    %b0 = uls.accumulate %a0, %p : tensor<4xf32>, tensor<4xf32>
    %b1 = uls.accumulate %a1, %q : tensor<4xf32>, tensor<4xf32>
    %x0, %r, %s = uls.call @b.bwd(%w, %x1) {layer = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    %b2 = uls.accumulate %a2, %r : tensor<4xf32>, tensor<4xf32>
    %b3 = uls.accumulate %a3, %s : tensor<4xf32>, tensor<4xf32>
    uls.yield %b0, %b1, %b2, %b3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %r0 = dist.all_reduce sum %g0 over @mesh ["dp"] cause "first" : (tensor<4xf32>) -> tensor<4xf32>
  %r1 = dist.all_reduce sum %g1 over @mesh ["dp"] cause "second" : (tensor<4xf32>) -> tensor<4xf32>
  %r2 = dist.all_reduce sum %g2 over @mesh ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
  %r3 = dist.all_reduce sum %g3 over @mesh ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
  %n = uls.global_norm %r0, %r1, %r2, %r3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  uls.report "grad_norm" %n : tensor<f32>
  uls.yield
}
}
