// RUN: ulsc-opt %s --ulsc-make-joint-blocks=every-block --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Adjoint ops keep the module path of their op.
// CHECK: uls.result
// CHECK: uls.silu_grad {{.*}} loc("model.layers.*.mlp.act")
// CHECK: uls.einsum {{.*}} loc("model.layers.*.mlp.up_proj")
// CHECK: uls.einsum {{.*}} loc("model.layers.*.mlp.up_proj")
uls.block @mlp(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> (tensor<2x3xf32>) {
  %h = uls.einsum "be,em->bm" %x, %w : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32> loc("model.layers.*.mlp.up_proj")
  %y = uls.silu %h : tensor<2x3xf32> loc("model.layers.*.mlp.act")
  uls.yield %y : tensor<2x3xf32>
}
