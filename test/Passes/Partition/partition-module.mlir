// RUN: ulsc-opt %s --split-input-file --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline | FileCheck %s

module attributes {uls.batch = {data_axes = ["dp"]}} {
dist.mesh @mesh <["dp"=2, "tp"=2]>
// One all-reduce forward, one backward; gradients of parameters leave as they are.
// CHECK-LABEL: uls.block @mlp
// CHECK-SAME: tensor<2x16xf32>
// CHECK-SAME: tensor<16x32xf32>
uls.block @mlp(%x: tensor<4x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
               %up: tensor<16x64xf32> {uls.axes = ["embed", "mlp"], uls.parameter, dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
               %down: tensor<64x16xf32> {uls.axes = ["mlp", "embed"], uls.parameter, dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>}, %dr: tensor<4x16xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>)
    attributes {primal_arguments = 3, primal_results = 1, gradients = array<i64: 0, 1, 2>, cotangents = array<i64: 0>} {
  // CHECK: %[[H:.*]] = uls.einsum "be,em->bm" {{.*}} -> tensor<2x32xf32>
  %h = uls.einsum "be,em->bm" %x, %up : tensor<4x16xf32>, tensor<16x64xf32> -> tensor<4x64xf32>
  %g = uls.gelu none %h : tensor<4x64xf32>
  // CHECK: %[[P:.*]] = uls.einsum "bm,me->be"
  // CHECK-NEXT: %[[Y:.*]] = dist.all_reduce sum %[[P]] over @mesh ["tp"] cause "layers.*.down: contraction of mlp, sharded by pin of argument {{[0-9]}} of @mlp"
  // CHECK-NEXT: %[[R:.*]] = uls.add %{{.*}}, %[[Y]]
  %y = uls.einsum "bm,me->be" %g, %down : tensor<4x64xf32>, tensor<64x16xf32> -> tensor<4x16xf32> loc("layers.*.down")
  %r = uls.add %x, %y : tensor<4x16xf32>, tensor<4x16xf32>
  // CHECK-NEXT: uls.result %[[R]]
  uls.result %r : tensor<4x16xf32>
  %dg = uls.einsum "be,me->bm" %dr, %down : tensor<4x16xf32>, tensor<64x16xf32> -> tensor<4x64xf32>
  %ddown = uls.einsum "bm,be->me" %g, %dr : tensor<4x64xf32>, tensor<4x16xf32> -> tensor<64x16xf32>
  %dh = uls.gelu_grad none %h, %dg : tensor<4x64xf32>
  %dup = uls.einsum "be,bm->em" %x, %dh : tensor<4x16xf32>, tensor<4x64xf32> -> tensor<16x64xf32>
  // CHECK: dist.all_reduce sum
  // CHECK-NOT: dist.all_reduce
  %dx0 = uls.einsum "bm,em->be" %dh, %up : tensor<4x64xf32>, tensor<16x64xf32> -> tensor<4x16xf32>
  %dx = uls.add %dr, %dx0 : tensor<4x16xf32>, tensor<4x16xf32>
  // CHECK: uls.yield
  uls.yield %dx, %dup, %ddown : tensor<4x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>
}
}

// -----

// The vocabulary-parallel loss exchanges row statistics, never logits; both sums travel as one.
module {
dist.mesh @mesh <["tp"=2]>
// CHECK-LABEL: uls.block @loss
uls.block @loss(%logits: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}, %targets: tensor<8xi32>) -> (tensor<8xf32>) {
  // CHECK: %[[M:.*]] = uls.logits_max %{{.*}} vocabulary 60 shard <[8, 64], <@mesh, {{\[}}{}, {"tp"}]>> : tensor<8x32xf32> -> tensor<8xf32>
  // CHECK: dist.all_reduce max %[[M]] over @mesh ["tp"] cause "loss: row statistics of the loss, vocabulary sharded by pin of argument 0 of @loss"
  // CHECK: %[[S:.*]], %[[T:.*]] = uls.logits_sums
  // CHECK: dist.all_reduce sum %[[S]], %[[T]] over @mesh ["tp"]
  // CHECK: uls.logits_loss
  // CHECK-NOT: all_gather
  %loss, %lse = uls.cross_entropy %logits, %targets vocabulary 60 : tensor<8x64xf32>, tensor<8xi32> -> tensor<8xf32> loc("loss")
  uls.yield %loss : tensor<8xf32>
}
// CHECK-LABEL: uls.block @lookup
uls.block @lookup(%tokens: tensor<8xi32>, %table: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>}) -> (tensor<8x16xf32>) {
  // CHECK: %[[E:.*]] = uls.embedding %{{.*}} shard <[64, 16], <@mesh, {{\[}}{"tp"}, {}]>> : tensor<8xi32>, tensor<32x16xf32> -> tensor<8x16xf32>
  // CHECK: dist.all_reduce sum %[[E]] over @mesh ["tp"]
  %0 = uls.embedding %tokens, %table : tensor<8xi32>, tensor<64x16xf32> -> tensor<8x16xf32>
  uls.yield %0 : tensor<8x16xf32>
}
}

// -----

// A bias after a row-parallel product is added once: after the reduction.
module {
dist.mesh @mesh <["tp"=2]>
// CHECK-LABEL: uls.block @row_parallel_bias
uls.block @row_parallel_bias(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
                             %w: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
                             %b: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) -> (tensor<8x16xf32>) {
  // CHECK: %[[Y:.*]] = dist.all_reduce sum
  %y = uls.einsum "be,em->bm" %x, %w : tensor<8x64xf32>, tensor<64x16xf32> -> tensor<8x16xf32>
  %c = uls.broadcast %b dims [1] : tensor<16xf32> -> tensor<8x16xf32>
  // CHECK: uls.add %[[Y]]
  %z = uls.add %y, %c : tensor<8x16xf32>, tensor<8x16xf32>
  uls.yield %z : tensor<8x16xf32>
}
}

// -----

// Axes of size 1 shard nothing and cause nothing.
module {
dist.mesh @mesh <["dp"=1, "tp"=1]>
// CHECK-LABEL: uls.block @alone
uls.block @alone(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>},
                 %w: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>}) -> (tensor<8x16xf32>) {
  // CHECK-NEXT: uls.einsum
  // CHECK-NEXT: uls.yield
  %y = uls.einsum "be,em->bm" %x, %w : tensor<8x64xf32>, tensor<64x16xf32> -> tensor<8x16xf32>
  uls.yield %y : tensor<8x16xf32>
}
}
