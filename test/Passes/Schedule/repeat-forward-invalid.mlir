// RUN: not ulsc-opt %s --ulsc-repeat-forward=recompute=full:group=3 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: error: recompute is "full:group=3", but the model has 2 layers; the nearest: full:group=2
// RUN: not ulsc-opt %s --ulsc-repeat-forward=recompute=full:group=2,layers=4 2>&1 | FileCheck %s --check-prefix=LAYERS
// LAYERS: error: recompute is "full:group=2,layers=4", but the model has 2 layers; the nearest: full:group=2,layers=2
// RUN: not ulsc-opt %s --ulsc-repeat-forward=recompute=ful 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ulsc-opt %s --ulsc-cut-joint-blocks=recompute=ful 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ulsc-opt %s --ulsc-schedule-pipeline=recompute=ful 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: recompute is "ful", expected none, selective, selective:attn,norm,act,gather, full, full:group=K or full:layers=N; did you mean full

module attributes {dist.partitioned} {
uls.block @b(%x: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {primal_arguments = 1, primal_results = 1, gradients = array<i64: 0>, cotangents = array<i64: 0>} {
  %y = uls.mul %x, %x : tensor<4xf32>, tensor<4xf32>
  uls.result %y : tensor<4xf32>
  %dx = uls.mul %dy, %x : tensor<4xf32>, tensor<4xf32>
  uls.yield %dx : tensor<4xf32>
}
uls.step @step(%x: tensor<4xf32>) {
  %x0, %r0 = uls.call @b(%x) {layer = 0 : i64} : (tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  %x1, %r1 = uls.call @b(%x0) {layer = 1 : i64} : (tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  %d1 = uls.backward @b %r1 (%x1) : (tensor<4xf32>) -> tensor<4xf32>
  %d0 = uls.backward @b %r0 (%d1) : (tensor<4xf32>) -> tensor<4xf32>
  uls.yield
}
}
