// What each policy keeps of a block with a normalization, an attention and an activation function.
// RUN: ulsc-opt %s --ulsc-cut-joint-blocks=recompute=none | FileCheck %s --check-prefix=NONE
// RUN: ulsc-opt %s --ulsc-cut-joint-blocks=recompute=selective:norm | FileCheck %s --check-prefix=NORM
// RUN: ulsc-opt %s --ulsc-cut-joint-blocks=recompute=selective:act | FileCheck %s --check-prefix=ACT
// RUN: ulsc-opt %s --ulsc-cut-joint-blocks=recompute=selective:attn | FileCheck %s --check-prefix=ATTN
// RUN: ulsc-opt %s --ulsc-cut-joint-blocks=recompute=selective | FileCheck %s --check-prefix=ALL
// RUN: ulsc-opt %s --ulsc-cut-joint-blocks=recompute=selective:act,norm,gather,attn | FileCheck %s --check-prefix=ALL
// The default leaves attention.
// RUN: ulsc-opt %s --ulsc-cut-joint-blocks | FileCheck %s --check-prefix=DEFAULT
// RUN: ulsc-opt %s --ulsc-cut-joint-blocks=recompute=selective:norm,act,gather | FileCheck %s --check-prefix=DEFAULT

// All policies keep the query, whose own computation is a contraction, and none repeats a contraction.
// A reshape is free: only one side of it is kept.

// NONE: module attributes {dist.partitioned, uls.recompute = "none"}
// NONE-LABEL: uls.block @b.fwd
// NONE: %[[N:.*]], %[[RSTD:.*]] = uls.rms_norm
// NONE: %[[Q:.*]] = uls.einsum "bse,ef->bsf" %{{[^,]*}}, %arg3
// NONE: %[[O:.*]], %[[LSE:.*]] = uls.attention
// NONE: %[[S:.*]] = uls.silu
// NONE: uls.yield %{{[^,]*}}, %[[N]], %[[RSTD]], %[[Q]], %[[O]], %[[LSE]], %{{[^,]*}}, %[[S]] :
// NONE-LABEL: uls.block @b.bwd
// NONE-NOT: uls.rms_norm %
// NONE-NOT: uls.attention %
// NONE-NOT: uls.silu %

// NORM-LABEL: uls.block @b.fwd
// NORM: %[[Q:.*]] = uls.einsum "bse,ef->bsf" %{{[^,]*}}, %arg3
// NORM: %[[O:.*]], %[[LSE:.*]] = uls.attention
// NORM: %[[S:.*]] = uls.silu
// NORM: uls.yield %{{[^,]*}}, %[[Q]], %[[O]], %[[LSE]], %{{[^,]*}}, %[[S]] :
// NORM-LABEL: uls.block @b.bwd
// NORM: uls.rms_norm %
// NORM-NOT: uls.attention %
// NORM-NOT: uls.silu %

// ACT-LABEL: uls.block @b.fwd
// ACT: %[[N:.*]], %[[RSTD:.*]] = uls.rms_norm
// ACT: %[[Q:.*]] = uls.einsum "bse,ef->bsf" %{{[^,]*}}, %arg3
// ACT: %[[O:.*]], %[[LSE:.*]] = uls.attention
// ACT: uls.yield %{{[^,]*}}, %[[N]], %[[RSTD]], %[[Q]], %[[O]], %[[LSE]], %{{[^,]*}} :
// ACT-LABEL: uls.block @b.bwd
// ACT-NOT: uls.rms_norm %
// ACT-NOT: uls.attention %
// ACT: uls.silu %

// ATTN-LABEL: uls.block @b.fwd
// ATTN: %[[N:.*]], %[[RSTD:.*]] = uls.rms_norm
// ATTN: %[[Q:.*]] = uls.einsum "bse,ef->bsf" %{{[^,]*}}, %arg3
// ATTN: %[[S:.*]] = uls.silu
// ATTN: uls.yield %{{[^,]*}}, %[[N]], %[[RSTD]], %[[Q]], %{{[^,]*}}, %[[S]] :
// ATTN-LABEL: uls.block @b.bwd
// ATTN-SAME: uls.recomputed_flops = 1.024000e+03
// ATTN-NOT: uls.rms_norm %
// ATTN: uls.attention %
// ATTN-NOT: uls.silu %

// ALL: module attributes {dist.partitioned, uls.recompute = "selective"}
// ALL-LABEL: uls.block @b.fwd
// ALL: %[[Q:.*]] = uls.einsum "bse,ef->bsf" %{{[^,]*}}, %arg3
// ALL: uls.yield %{{[^,]*}}, %[[Q]], %{{[^,]*}} :
// ALL-LABEL: uls.block @b.bwd
// ALL-NOT: uls.einsum "bse,ef->bsf"
// ALL-NOT: dist.all_reduce
// ALL-DAG: uls.rms_norm %
// ALL-DAG: uls.attention %
// ALL-DAG: uls.silu %
// ALL-NOT: dist.all_reduce
// ALL: uls.yield

// DEFAULT: module attributes {dist.partitioned, uls.recompute = "selective:norm,act,gather"}
// DEFAULT-LABEL: uls.block @b.fwd
// DEFAULT: %[[Q:.*]] = uls.einsum "bse,ef->bsf" %{{[^,]*}}, %arg3
// DEFAULT: %[[O:.*]], %[[LSE:.*]] = uls.attention
// DEFAULT: uls.yield %{{[^,]*}}, %[[Q]], %[[O]], %[[LSE]], %{{[^,]*}} :
// DEFAULT-LABEL: uls.block @b.bwd
// DEFAULT-NOT: uls.attention %

module attributes {dist.partitioned} {
uls.block @b(%x: tensor<2x4x16xf32>, %p: tensor<2x4xi32>, %w: tensor<16xf32> {uls.parameter}, %wq: tensor<16x16xf32> {uls.parameter},
             %wo: tensor<16x16xf32> {uls.parameter}, %dr: tensor<2x4x16xf32>)
    -> (tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16x16xf32>)
    attributes {primal_arguments = 5, primal_results = 1, gradients = array<i64: 0, 2, 3, 4>, cotangents = array<i64: 0>} {
  %n, %rstd = uls.rms_norm %x, %w epsilon 1.0e-05 : tensor<2x4x16xf32>, tensor<16xf32> -> tensor<2x4xf32>
  %q0 = uls.einsum "bse,ef->bsf" %n, %wq : tensor<2x4x16xf32>, tensor<16x16xf32> -> tensor<2x4x16xf32>
  %q = uls.reshape %q0 : tensor<2x4x16xf32> -> tensor<2x4x1x1x16xf32>
  %k = uls.reshape %q0 : tensor<2x4x16xf32> -> tensor<2x4x1x16xf32>
  %o, %lse = uls.attention %q, %k, %k positions %p, %p {causal, scale = 0.25 : f64}
    : tensor<2x4x1x1x16xf32>, tensor<2x4x1x16xf32>, tensor<2x4xi32>, tensor<2x4xi32> -> tensor<2x4x1x1xf32>
  %o2 = uls.reshape %o : tensor<2x4x1x1x16xf32> -> tensor<2x4x16xf32>
  %h = uls.einsum "bse,ef->bsf" %o2, %wo : tensor<2x4x16xf32>, tensor<16x16xf32> -> tensor<2x4x16xf32>
  %z = dist.all_reduce sum %h over @mesh ["tp"] : (tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  %s = uls.silu %z : tensor<2x4x16xf32>
  %r = uls.mul %s, %s : tensor<2x4x16xf32>, tensor<2x4x16xf32>
  uls.result %r : tensor<2x4x16xf32>
  %ds = uls.mul %dr, %s : tensor<2x4x16xf32>, tensor<2x4x16xf32>
  %dh = uls.silu_grad %z, %ds : tensor<2x4x16xf32>
  %dwo = uls.einsum "bse,bsf->ef" %o2, %dh : tensor<2x4x16xf32>, tensor<2x4x16xf32> -> tensor<16x16xf32>
  %do = uls.einsum "bsf,ef->bse" %dh, %wo : tensor<2x4x16xf32>, tensor<16x16xf32> -> tensor<2x4x16xf32>
  %do2 = uls.reshape %do : tensor<2x4x16xf32> -> tensor<2x4x1x1x16xf32>
  %dq, %dk, %dv = uls.attention_grad %q, %k, %k positions %p, %p results %o, %lse cotangent %do2 {causal, scale = 0.25 : f64}
    : tensor<2x4x1x1x16xf32>, tensor<2x4x1x16xf32>, tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4x1x1xf32>
  %dq0 = uls.reshape %dq : tensor<2x4x1x1x16xf32> -> tensor<2x4x16xf32>
  %dwq = uls.einsum "bse,bsf->ef" %n, %dq0 : tensor<2x4x16xf32>, tensor<2x4x16xf32> -> tensor<16x16xf32>
  %dn = uls.einsum "bsf,ef->bse" %dq0, %wq : tensor<2x4x16xf32>, tensor<16x16xf32> -> tensor<2x4x16xf32>
  %dx, %dw = uls.rms_norm_grad %x, %w, %rstd, %dn : tensor<2x4x16xf32>, tensor<16xf32>, tensor<2x4xf32> -> tensor<16xf32>
  uls.yield %dx, %dw, %dwq, %dwo : tensor<2x4x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}
}
