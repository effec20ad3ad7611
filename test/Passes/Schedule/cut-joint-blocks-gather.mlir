// Of what is gathered along the sequence, the shard is kept where gathers may be repeated, else what was gathered.
// RUN: ulsc-opt %s --ulsc-cut-joint-blocks=recompute=selective:gather | FileCheck %s --check-prefix=SHARD
// RUN: ulsc-opt %s --ulsc-cut-joint-blocks | FileCheck %s --check-prefix=SHARD
// RUN: ulsc-opt %s --ulsc-cut-joint-blocks=recompute=none | FileCheck %s --check-prefix=WHOLE
// `full` runs the gather again with all else, and not a second time.
// RUN: ulsc-opt %s --ulsc-cut-joint-blocks=recompute=full | FileCheck %s --check-prefix=WHOLE

// SHARD-LABEL: uls.block @b.fwd
// SHARD-SAME: -> tensor<2x8x16xf32> {
// SHARD-LABEL: uls.block @b.bwd
// SHARD-SAME: uls.recomputed_us
// SHARD: dist.all_gather {{.*}}uls.again
// SHARD-NOT: dist.all_gather

// WHOLE-LABEL: uls.block @b.fwd
// WHOLE: %[[G:.*]] = dist.all_gather
// WHOLE: uls.yield %{{.*}}, %[[G]] :
// WHOLE-LABEL: uls.block @b.bwd
// WHOLE-NOT: dist.all_gather

module attributes {dist.partitioned} {
dist.mesh @mesh <["tp"=2]>
uls.block @b(%x: tensor<2x4x16xf32>, %w: tensor<16x16xf32> {uls.parameter}, %dr: tensor<2x8x16xf32>) -> (tensor<2x8x16xf32>, tensor<16x16xf32>)
    attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 1>, cotangents = array<i64: 0>} {
  %g = dist.all_gather %x dims [1] over @mesh ["tp"] : (tensor<2x4x16xf32>) -> tensor<2x8x16xf32>
  %r = uls.einsum "bse,ef->bsf" %g, %w : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
  uls.result %r : tensor<2x8x16xf32>
  %dw = uls.einsum "bse,bsf->ef" %g, %dr : tensor<2x8x16xf32>, tensor<2x8x16xf32> -> tensor<16x16xf32>
  uls.yield %dw : tensor<16x16xf32>
}
}
