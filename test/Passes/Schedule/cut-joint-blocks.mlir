// RUN: ulsc-opt %s --ulsc-cut-joint-blocks | FileCheck %s

module attributes {dist.partitioned} {

// The gelu is computed again from %h, which costs one kept value instead of two; the contraction is never repeated, and the
// caller keeps %x.
// CHECK-LABEL: uls.block @mlp.fwd
// CHECK-SAME: -> (tensor<2x16xf32>, tensor<2x32xf32>)
// CHECK: %[[H:.*]] = uls.einsum "be,em->bm"
// CHECK: uls.yield %{{.*}}, %[[H]]
// CHECK-LABEL: uls.block @mlp.bwd
// CHECK-SAME: %{{.*}}: tensor<2x16xf32>, %{{.*}}: tensor<16x32xf32>
// CHECK-NOT: uls.einsum "be,em->bm"
// CHECK: uls.gelu tanh
// CHECK: uls.gelu_grad
uls.block @mlp(%x: tensor<2x16xf32>, %up: tensor<16x32xf32> {uls.parameter}, %down: tensor<32x16xf32> {uls.parameter}, %dr: tensor<2x16xf32>)
    -> (tensor<2x16xf32>, tensor<2x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>)
    attributes {primal_arguments = 3, primal_results = 1, gradients = array<i64: 0, 1, 2>, cotangents = array<i64: 0>} {
  %h = uls.einsum "be,em->bm" %x, %up : tensor<2x16xf32>, tensor<16x32xf32> -> tensor<2x32xf32>
  %g = uls.gelu tanh %h : tensor<2x32xf32>
  %y = uls.einsum "bm,me->be" %g, %down : tensor<2x32xf32>, tensor<32x16xf32> -> tensor<2x16xf32>
  %z = dist.all_reduce sum %y over @mesh ["tp"] : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %r = uls.add %x, %z : tensor<2x16xf32>, tensor<2x16xf32>
  uls.result %r : tensor<2x16xf32>
  %dg = uls.einsum "be,me->bm" %dr, %down : tensor<2x16xf32>, tensor<32x16xf32> -> tensor<2x32xf32>
  %dd = uls.einsum "bm,be->me" %g, %dr : tensor<2x32xf32>, tensor<2x16xf32> -> tensor<32x16xf32>
  %dh = uls.gelu_grad tanh %h, %dg : tensor<2x32xf32>
  %du = uls.einsum "be,bm->em" %x, %dh : tensor<2x16xf32>, tensor<2x32xf32> -> tensor<16x32xf32>
  %dx = uls.einsum "bm,em->be" %dh, %up : tensor<2x32xf32>, tensor<16x32xf32> -> tensor<2x16xf32>
  uls.yield %dx, %du, %dd : tensor<2x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>
}

// CHECK-LABEL: uls.step @step
// CHECK: %[[F:.*]]:2 = uls.call @mlp.fwd(%[[X:.*]], %[[U:.*]], %[[D:.*]]) {layer = 1 : i64}
// CHECK: uls.call @mlp.bwd(%[[X]], %[[U]], %[[D]], %[[F]]#1, %[[F]]#0) {layer = 1 : i64}
uls.step @step(%x: tensor<2x16xf32>, %u: tensor<16x32xf32>, %d: tensor<32x16xf32>) {
  %y, %s = uls.call @mlp(%x, %u, %d) {layer = 1 : i64} : (tensor<2x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>) -> (tensor<2x16xf32>, !uls.residuals)
  %dx, %du, %dd = uls.backward @mlp %s (%y) : (tensor<2x16xf32>) -> (tensor<2x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>)
  %n = uls.global_norm %du, %dd : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<f32>
  uls.report "grad_norm" %n : tensor<f32>
  uls.yield
}
}
