// A row- and column-parallel product, a vocabulary-parallel lookup and loss, and dropout, partitioned by hand over 4 ranks.
// RUN: split-file %s %t
// RUN: ulsc-interpret %t/source.mlir --entry b --compare %t/local.mlir | FileCheck %s
// RUN: not ulsc-interpret %t/source.mlir --entry b --compare %t/unreduced.mlir 2>&1 | FileCheck %s --check-prefix=PARTIAL
// RUN: not ulsc-interpret %t/source.mlir --entry b --compare %t/wrong.mlir 2>&1 | FileCheck %s --check-prefix=WRONG
// CHECK: agrees
// PARTIAL: leaves "result 0" inconsistent: replicas differ between rank 0 and rank 1
// WRONG: result 0 of @b differs by

//--- source.mlir
uls.block @b(%tokens: tensor<4x3xi32> {uls.range = 8 : i64}, %table: tensor<8x6xf32>, %up: tensor<6x8xf32>, %c: !uls.context)
    -> (tensor<4x3x6xf32>, tensor<4x3xf32>) {
  %x = uls.embedding %tokens, %table : tensor<4x3xi32>, tensor<8x6xf32> -> tensor<4x3x6xf32>
  %h = uls.einsum "bse,em->bsm" %x, %up : tensor<4x3x6xf32>, tensor<6x8xf32> -> tensor<4x3x8xf32>
  %g = uls.gelu tanh %h : tensor<4x3x8xf32>
  %y = uls.einsum "bsm,em->bse" %g, %up : tensor<4x3x8xf32>, tensor<6x8xf32> -> tensor<4x3x6xf32>
  %d = uls.dropout %y, %c key "k" rate 0.5 : tensor<4x3x6xf32>
  %l = uls.einsum "bse,ve->bsv" %x, %table : tensor<4x3x6xf32>, tensor<8x6xf32> -> tensor<4x3x8xf32>
  %loss, %lse = uls.cross_entropy %l, %tokens vocabulary 8 : tensor<4x3x8xf32>, tensor<4x3xi32> -> tensor<4x3xf32>
  uls.yield %d, %loss : tensor<4x3x6xf32>, tensor<4x3xf32>
}

//--- local.mlir
module attributes {dist.partitioned} {
  dist.mesh @mesh <["dp"=2, "tp"=2]>
  uls.block @b(%tokens: tensor<2x3xi32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
               %table: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
               %up: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}, %c: !uls.context)
      -> (tensor<2x3x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}, {}]>},
          tensor<2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>}) {
    %xp = uls.embedding %tokens, %table shard <[8, 6], <@mesh, [{"tp"}, {}]>> : tensor<2x3xi32>, tensor<4x6xf32> -> tensor<2x3x6xf32>
    %hx = dist.start {
      %r = dist.all_reduce sum %xp over @mesh ["tp"] : (tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
      dist.yield %r : tensor<2x3x6xf32>
    } : !dist.handle<tensor<2x3x6xf32>>
    %x = dist.wait %hx : !dist.handle<tensor<2x3x6xf32>> -> tensor<2x3x6xf32>
    %h = uls.einsum "bse,em->bsm" %x, %up : tensor<2x3x6xf32>, tensor<6x4xf32> -> tensor<2x3x4xf32>
    %g = uls.gelu tanh %h : tensor<2x3x4xf32>
    %yp = uls.einsum "bsm,em->bse" %g, %up : tensor<2x3x4xf32>, tensor<6x4xf32> -> tensor<2x3x6xf32>
    // The same as an all-reduce, in two steps.
    %ys = dist.reduce_scatter sum %yp dims [2] over @mesh ["tp"] : (tensor<2x3x6xf32>) -> tensor<2x3x3xf32>
    %y = dist.all_gather %ys dims [2] over @mesh ["tp"] : (tensor<2x3x3xf32>) -> tensor<2x3x6xf32>
    %d = uls.dropout %y, %c key "k" rate 0.5 shard <[4, 3, 6], <@mesh, [{"dp"}, {}, {}]>> : tensor<2x3x6xf32>
    %l = uls.einsum "bse,ve->bsv" %x, %table : tensor<2x3x6xf32>, tensor<4x6xf32> -> tensor<2x3x4xf32>
    %mp = uls.logits_max %l vocabulary 8 shard <[4, 3, 8], <@mesh, [{"dp"}, {}, {"tp"}]>> : tensor<2x3x4xf32> -> tensor<2x3xf32>
    %m = dist.all_reduce max %mp over @mesh ["tp"] : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %sp, %tp = uls.logits_sums %l, %tokens, %m vocabulary 8 shard <[4, 3, 8], <@mesh, [{"dp"}, {}, {"tp"}]>> : tensor<2x3x4xf32>, tensor<2x3xi32>, tensor<2x3xf32>
    %s, %t = dist.all_reduce sum %sp, %tp over @mesh ["tp"] : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
    %loss, %lse = uls.logits_loss %m, %s, %t, %tokens : tensor<2x3xf32>, tensor<2x3xi32>
    uls.yield %d, %loss : tensor<2x3x6xf32>, tensor<2x3xf32>
  }
}

//--- unreduced.mlir
// The partial product is taken for the whole.
module attributes {dist.partitioned} {
  dist.mesh @mesh <["tp"=2]>
  uls.block @b(%tokens: tensor<4x3xi32>, %table: tensor<8x6xf32>,
               %up: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}, %c: !uls.context)
      -> (tensor<4x3x6xf32>, tensor<4x3xf32>) {
    %x = uls.embedding %tokens, %table : tensor<4x3xi32>, tensor<8x6xf32> -> tensor<4x3x6xf32>
    %h = uls.einsum "bse,em->bsm" %x, %up : tensor<4x3x6xf32>, tensor<6x4xf32> -> tensor<4x3x4xf32>
    %g = uls.gelu tanh %h : tensor<4x3x4xf32>
    %y = uls.einsum "bsm,em->bse" %g, %up : tensor<4x3x4xf32>, tensor<6x4xf32> -> tensor<4x3x6xf32>
    %loss = uls.constant dense<0.0> : tensor<4x3xf32>
    uls.yield %y, %loss : tensor<4x3x6xf32>, tensor<4x3xf32>
  }
}

//--- wrong.mlir
// Dropout keyed by local rows.
module attributes {dist.partitioned} {
  dist.mesh @mesh <["dp"=2]>
  uls.block @b(%tokens: tensor<2x3xi32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>}, %table: tensor<8x6xf32>,
               %up: tensor<6x8xf32>, %c: !uls.context)
      -> (tensor<2x3x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}, {}]>},
          tensor<2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>}) {
    %x = uls.embedding %tokens, %table : tensor<2x3xi32>, tensor<8x6xf32> -> tensor<2x3x6xf32>
    %h = uls.einsum "bse,em->bsm" %x, %up : tensor<2x3x6xf32>, tensor<6x8xf32> -> tensor<2x3x8xf32>
    %g = uls.gelu tanh %h : tensor<2x3x8xf32>
    %y = uls.einsum "bsm,em->bse" %g, %up : tensor<2x3x8xf32>, tensor<6x8xf32> -> tensor<2x3x6xf32>
    %d = uls.dropout %y, %c key "k" rate 0.5 : tensor<2x3x6xf32>
    %l = uls.einsum "bse,ve->bsv" %x, %table : tensor<2x3x6xf32>, tensor<8x6xf32> -> tensor<2x3x8xf32>
    %loss, %lse = uls.cross_entropy %l, %tokens vocabulary 8 : tensor<2x3x8xf32>, tensor<2x3xi32> -> tensor<2x3xf32>
    uls.yield %d, %loss : tensor<2x3x6xf32>, tensor<2x3xf32>
  }
}
