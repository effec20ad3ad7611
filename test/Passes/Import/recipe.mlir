// RUN: split-file %s %t
// RUN: ulsc-opt %t/module.mlir --ulsc-graph-pipeline="recipe=%t/recipe.json" | FileCheck %s

// CHECK: uls.groups = [{lr_scale = 1.000000e+00 : f64, match = "*", weight_decay_scale = 1.000000e+00 : f64},
// CHECK-SAME: {lr_scale = 1.000000e-01 : f64, match = "*.bias", weight_decay_scale = 0.000000e+00 : f64}]
// CHECK: dist.mesh @mesh <["dp"=2, "tp"=2]>
// CHECK: uls.param @layers.0.up.weight {{.*}} sharding <@mesh, [{"tp"}, {}]> {dist.origin = {tp = "rule mlp{{.*}}tp (recipe line 3)"}}
// CHECK: uls.param @layers.1.up.weight {{.*}} sharding <@mesh, [{}, {"tp"}]> {dist.origin = {tp = "pin layers.1.*.weight (recipe line 4)"}}
// CHECK: uls.param @layers.0.up.bias {{.*}} {dist.origin = {tp = "rule mlp{{.*}}tp (recipe line 3)"}, frozen, group = 1 : i64}

// The layer that is pinned otherwise has a block of its own.
// CHECK: uls.block @layer(
// CHECK: uls.block @layer_0(
// CHECK: uls.call @layer(
// CHECK: uls.call @layer_0(

//--- recipe.json
{
  "mesh": {"tp": 2, "dp": 2},
  "rules": {"batch": "dp", "mlp": "tp"},
  "sharding": [{"match": "layers.1.*.weight", "dims": [null, "tp"]}],
  "groups": [{"match": "*.bias", "weight_decay": 0, "lr_scale": 0.1}],
  "frozen": ["layers.0.*.bias"]
}
//--- module.mlir
uls.param @layers.0.up.weight : tensor<8x8xf32> axes ["mlp", "embed"] init <normal, 0.02>
uls.param @layers.1.up.weight : tensor<8x8xf32> axes ["mlp", "embed"] init <normal, 0.02>
uls.param @layers.0.up.bias : tensor<8xf32> axes ["mlp"] init <zeros>
uls.block @layer(%x: tensor<2x8xf32>, %w: tensor<8x8xf32>) -> (tensor<2x8xf32>) {
  %0 = uls.einsum "be,me->bm" %x, %w : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
  uls.yield %0 : tensor<2x8xf32>
}
uls.forward @forward(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>) {
  %w0 = uls.materialize @layers.0.up.weight : tensor<8x8xf32>
  %w1 = uls.materialize @layers.1.up.weight : tensor<8x8xf32>
  %0 = uls.call @layer(%x, %w0) {layer = 0 : i64} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %1 = uls.call @layer(%0, %w1) {layer = 1 : i64} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  uls.yield %1 : tensor<2x8xf32>
}
