// RUN: ulsc-opt %s --ulsc-repeat-forward=recompute=full | FileCheck %s --check-prefix=ONE
// RUN: ulsc-opt %s --ulsc-repeat-forward=recompute=full:group=2 | FileCheck %s --check-prefix=TWO
// RUN: ulsc-opt %s --ulsc-repeat-forward=recompute=full:layers=1 | FileCheck %s --check-prefix=FIRST
// RUN: ulsc-opt %s --ulsc-repeat-forward=recompute=full:layers=2,group=2 | FileCheck %s --check-prefix=PAIR
// RUN: ulsc-opt %s --ulsc-repeat-forward=recompute=selective | FileCheck %s --check-prefix=NOT
// RUN: ulsc-opt %s --ulsc-schedule-pipeline=recompute=full:group=2 | FileCheck %s --check-prefix=CUT

// The block before the layers has no layer index and is called once, with residuals.
// ONE-LABEL: uls.step @step
// ONE: %[[E:.*]]:2 = uls.call @b(%{{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
// ONE: %[[X0:.*]] = uls.call @b(%[[E]]#0, %{{.*}}) {layer = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// ONE: %[[X1:.*]] = uls.call @b(%[[X0]], %{{.*}}) {layer = 1 : i64} : {{.*}} -> tensor<4xf32>
// ONE: %[[X2:.*]] = uls.call @b(%[[X1]], %{{.*}}) {layer = 2 : i64} : {{.*}} -> tensor<4xf32>
// ONE-NEXT: %[[A2:.*]]:2 = uls.call @b(%[[X1]], %{{.*}}) {layer = 2 : i64, uls.again}
// ONE-NEXT: uls.backward @b %[[A2]]#1(%[[X2]])
// ONE-NEXT: %[[A1:.*]]:2 = uls.call @b(%[[X0]], %{{.*}}) {layer = 1 : i64, uls.again}
// ONE-NEXT: uls.backward @b %[[A1]]#1
// ONE-NEXT: %[[A0:.*]]:2 = uls.call @b(%[[E]]#0, %{{.*}}) {layer = 0 : i64, uls.again}
// ONE-NEXT: uls.backward @b %[[A0]]#1
// ONE-NEXT: uls.backward @b %[[E]]#1

// A group goes on from its own results; the last one is smaller.
// TWO-LABEL: uls.step @step
// TWO: %[[X0:.*]] = uls.call @b(%[[E:.*]]#0, %{{.*}}) {layer = 0 : i64} : {{.*}} -> tensor<4xf32>
// TWO: %[[X1:.*]] = uls.call @b(%[[X0]], %{{.*}}) {layer = 1 : i64} : {{.*}} -> tensor<4xf32>
// TWO: uls.call @b(%[[X1]], %{{.*}}) {layer = 2 : i64}
// TWO-NEXT: %[[A2:.*]]:2 = uls.call @b(%[[X1]], %{{.*}}) {layer = 2 : i64, uls.again}
// TWO-NEXT: uls.backward @b %[[A2]]#1
// TWO-NEXT: %[[A0:.*]]:2 = uls.call @b(%[[E]]#0, %{{.*}}) {layer = 0 : i64, uls.again}
// TWO-NEXT: %[[A1:.*]]:2 = uls.call @b(%[[A0]]#0, %{{.*}}) {layer = 1 : i64, uls.again}
// TWO-NEXT: uls.backward @b %[[A1]]#1
// TWO-NEXT: uls.backward @b %[[A0]]#1

// FIRST-LABEL: uls.step @step
// FIRST: uls.call @b(%[[E:.*]]#0, %{{.*}}) {layer = 0 : i64} : {{.*}} -> tensor<4xf32>
// FIRST: %[[X1:.*]]:2 = uls.call @b(%{{.*}}) {layer = 1 : i64} : {{.*}} -> (tensor<4xf32>, !uls.residuals)
// FIRST: %[[X2:.*]]:2 = uls.call @b(%{{.*}}) {layer = 2 : i64}
// FIRST-NEXT: uls.backward @b %[[X2]]#1
// FIRST-NEXT: uls.backward @b %[[X1]]#1
// FIRST-NEXT: %[[A0:.*]]:2 = uls.call @b(%[[E]]#0, %{{.*}}) {layer = 0 : i64, uls.again}
// FIRST-NEXT: uls.backward @b %[[A0]]#1

// PAIR-LABEL: uls.step @step
// PAIR: %[[X2:.*]]:2 = uls.call @b(%{{.*}}) {layer = 2 : i64}
// PAIR-NEXT: uls.backward @b %[[X2]]#1
// PAIR-NEXT: uls.call @b(%{{.*}}) {layer = 0 : i64, uls.again}
// PAIR-NEXT: uls.call @b(%{{.*}}) {layer = 1 : i64, uls.again}
// PAIR-NEXT: uls.backward @b

// NOT-NOT: uls.again

// After the cut: the first call computes its result only and repeats no kept value; the repeated one gives it where the next layer of
// the group reads it, and else leaves out what only the result needs, the collective at its end included.
// CUT: module attributes {dist.partitioned, uls.recompute = "full:group=2",
// CUT-LABEL: uls.block @b.fwd(
// CUT: dist.all_reduce
// CUT: uls.yield %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>
// CUT-LABEL: uls.block @b.fwd.bare(
// CUT: dist.all_reduce
// CUT: uls.yield %{{[^,]*}} : tensor<4xf32>
// CUT-LABEL: uls.block @b.again(
// CUT-NOT: dist.all_reduce
// CUT: %[[H:.*]] = uls.einsum
// CUT-NOT: dist.all_reduce
// CUT: uls.yield %[[H]] : tensor<4xf32>
// CUT-LABEL: uls.block @b.again.through(
// CUT: dist.all_reduce
// CUT: uls.yield %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>
// CUT-LABEL: uls.block @b.bwd(
// CUT-LABEL: uls.step @step
// CUT: %[[E:.*]]:2 = uls.call @b.fwd(
// CUT: %[[X0:.*]] = uls.call @b.fwd.bare(%[[E]]#0, %{{.*}}) {layer = 0 : i64}
// CUT: %[[X1:.*]] = uls.call @b.fwd.bare(%[[X0]], %{{.*}}) {layer = 1 : i64}
// CUT: uls.call @b.fwd.bare(%[[X1]], %{{.*}}) {layer = 2 : i64}
// CUT: uls.call @b.again(%[[X1]], %{{.*}}) {layer = 2 : i64, uls.again}
// CUT-NEXT: uls.call @b.bwd
// CUT: %[[A0:.*]]:2 = uls.call @b.again.through(%[[E]]#0, %{{.*}}) {layer = 0 : i64, uls.again}
// CUT: %[[A1:.*]] = uls.call @b.again(%[[A0]]#0, %{{.*}}) {layer = 1 : i64, uls.again}
// CUT: uls.call @b.bwd(%{{.*}}, %[[A1]],
// CUT: uls.call @b.bwd(%{{.*}}, %[[A0]]#1,

module attributes {dist.partitioned} {
dist.mesh @mesh <["tp"=2]>
uls.block @b(%x: tensor<4xf32>, %w: tensor<4xf32> {uls.parameter}, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 0, 1>, cotangents = array<i64: 0>} {
  %h = uls.einsum "i,i->i" %x, %w : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %y = uls.einsum "i,i->i" %h, %h : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %z = dist.all_reduce sum %y over @mesh ["tp"] : (tensor<4xf32>) -> tensor<4xf32>
  uls.result %z : tensor<4xf32>
  %dh = uls.mul %dy, %h : tensor<4xf32>, tensor<4xf32>
  %dx = uls.mul %dh, %w : tensor<4xf32>, tensor<4xf32>
  uls.yield %dx, %dh : tensor<4xf32>, tensor<4xf32>
}
uls.step @step(%x: tensor<4xf32>, %w: tensor<4xf32>) {
  %e, %re = uls.call @b(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  %x0, %r0 = uls.call @b(%e, %w) {layer = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  %x1, %r1 = uls.call @b(%x0, %w) {layer = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  %x2, %r2 = uls.call @b(%x1, %w) {layer = 2 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  %d2, %g2 = uls.backward @b %r2 (%x2) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %d1, %g1 = uls.backward @b %r1 (%d2) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %d0, %g0 = uls.backward @b %r0 (%d1) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %de, %ge = uls.backward @b %re (%d0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %n = uls.global_norm %g0, %g1, %g2, %ge : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  uls.report "grad_norm" %n : tensor<f32>
  uls.yield
}
}
