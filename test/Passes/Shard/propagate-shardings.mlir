// RUN: ulsc-opt %s --split-input-file --ulsc-shard-pipeline | FileCheck %s

// A joint block as training writes it. One sum is left pending until it must be complete: %y before the residual addition,
// %dx0 before %dx; gradients of parameters leave the block pending over the data axes.
module attributes {uls.batch = {data_axes = ["dp"]}} {
dist.mesh @mesh <["dp"=2, "tp"=2]>
uls.param @up : tensor<16x64xf32> axes ["embed", "mlp"] init <normal, 0.02> sharding <@mesh, [{}, {"tp"}]> {dist.origin = {tp = "rule mlp→tp"}}
uls.param @down : tensor<64x16xf32> axes ["mlp", "embed"] init <normal, 0.02> sharding <@mesh, [{"tp"}, {}]> {dist.origin = {tp = "rule mlp→tp"}}
// CHECK-LABEL: uls.block @mlp
// CHECK-SAME: %{{.*}}: tensor<4x16xf32> {dist.origins = {dp = "pin of argument 0 of @forward"}, dist.sharding = #dist.sharding<@mesh, {{\[}}{"dp"}, {}]>
// CHECK-SAME: tensor<16x64xf32> {dist.origins = {tp = "rule mlp{{[^"]*}}tp"}, dist.sharding = #dist.sharding<@mesh, {{\[}}{}, {"tp"}]>
uls.block @mlp(%x: tensor<4x16xf32>, %up: tensor<16x64xf32> {uls.axes = ["embed", "mlp"], uls.parameter},
               %down: tensor<64x16xf32> {uls.axes = ["mlp", "embed"], uls.parameter}, %dr: tensor<4x16xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>)
    attributes {primal_arguments = 3, primal_results = 1, gradients = array<i64: 0, 1, 2>, cotangents = array<i64: 0>} {
  // CHECK: uls.einsum "be,em->bm" {{.*}}dist.shardings = [#dist.sharding<@mesh, {{\[}}{"dp"}, {"tp"}]>]
  %h = uls.einsum "be,em->bm" %x, %up : tensor<4x16xf32>, tensor<16x64xf32> -> tensor<4x64xf32>
  %g = uls.gelu none %h : tensor<4x64xf32>
  // CHECK: uls.einsum "bm,me->be" {{.*}}dist.causes = [{tp = "layers.*.down: contraction of mlp, sharded by rule mlp{{[^"]*}}tp"}]
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, {{\[}}{"dp"}, {}]>]
  %y = uls.einsum "bm,me->be" %g, %down : tensor<4x64xf32>, tensor<64x16xf32> -> tensor<4x16xf32> loc("layers.*.down")
  %r = uls.add %x, %y : tensor<4x16xf32>, tensor<4x16xf32>
  uls.result %r : tensor<4x16xf32>
  %dg = uls.einsum "be,me->bm" %dr, %down : tensor<4x16xf32>, tensor<64x16xf32> -> tensor<4x64xf32>
  // CHECK: uls.einsum "bm,be->me" {{.*}}dist.shardings = [#dist.sharding<@mesh, {{\[}}{"tp"}, {}], partial=[sum:{"dp"}]>]
  %ddown = uls.einsum "bm,be->me" %g, %dr : tensor<4x64xf32>, tensor<4x16xf32> -> tensor<64x16xf32>
  %dh = uls.gelu_grad none %h, %dg : tensor<4x64xf32>
  %dup = uls.einsum "be,bm->em" %x, %dh : tensor<4x16xf32>, tensor<4x64xf32> -> tensor<16x64xf32>
  %dx0 = uls.einsum "bm,em->be" %dh, %up : tensor<4x64xf32>, tensor<16x64xf32> -> tensor<4x16xf32>
  %dx = uls.add %dr, %dx0 : tensor<4x16xf32>, tensor<4x16xf32>
  uls.yield %dx, %dup, %ddown : tensor<4x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>
}
uls.forward @forward(%x: tensor<4x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>}) -> (tensor<4x16xf32>) {
  %up = uls.materialize @up : tensor<16x64xf32>
  %down = uls.materialize @down : tensor<64x16xf32>
  %y = uls.call @mlp(%x, %up, %down) : (tensor<4x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  uls.yield %y : tensor<4x16xf32>
}
}

// -----

// Branches of a gradient are added while pending; the sum is complete before the norm's adjoint, which would leave two pending.
module {
dist.mesh @mesh <["tp"=2]>
// CHECK-LABEL: uls.block @branches
uls.block @branches(%a: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
                    %w: tensor<16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
                    %x: tensor<8x32xf32>, %n: tensor<32xf32>, %rstd: tensor<8xf32>) -> (tensor<8x32xf32>) {
  // CHECK: uls.einsum {{.*}}partial=[sum:{"tp"}]
  %0 = uls.einsum "be,em->bm" %a, %w : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  // CHECK: uls.einsum {{.*}}partial=[sum:{"tp"}]
  %1 = uls.einsum "be,em->bm" %a, %w {second} : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  // CHECK: uls.add
  // CHECK-NOT: partial
  %2 = uls.add %0, %1 : tensor<8x32xf32>, tensor<8x32xf32>
  %3, %4 = uls.rms_norm_grad %x, %n, %rstd, %2 : tensor<8x32xf32>, tensor<32xf32>, tensor<8xf32> -> tensor<32xf32>
  // CHECK: uls.yield
  uls.yield %3 : tensor<8x32xf32>
}
}

// -----

// A reshape of split dimensions: the axis follows the major part.
module {
dist.mesh @mesh <["tp"=4]>
// CHECK-LABEL: uls.block @split_heads
uls.block @split_heads(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<8x4x16xf32>) {
  // CHECK: uls.reshape {{.*}}{{\[}}{}, {"tp"}, {}]
  %0 = uls.reshape %x : tensor<8x64xf32> -> tensor<8x4x16xf32>
  uls.yield %0 : tensor<8x4x16xf32>
}
// A priority weaker than 0, which is meant where none is written, has its say later and gives way, whatever takes less time.
// CHECK-LABEL: uls.block @priority
uls.block @priority(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}p1, {}]>},
                    %y: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<8x64xf32>) {
  // CHECK: uls.mul {{.*}}dist.conflicts = ["operand 0 dimension 0 gives up tp (pin of argument 0 of @priority)"]{{.*}}{{\[}}{}, {"tp"}]
  %0 = uls.mul %x, %y : tensor<8x64xf32>, tensor<8x64xf32>
  uls.yield %0 : tensor<8x64xf32>
}
}
