// RUN: ulsc-opt %s --split-input-file --ulsc-choose-attention --verify-diagnostics | FileCheck %s
// RUN: ulsc-opt %s --split-input-file --ulsc-choose-attention=attention=own | FileCheck %s --check-prefix=OWN
// OWN-NOT: exec.library
// OWN-NOT: reason

// Forward and gradient, in a loop, the gradient's positions by way of the forward block. Rows are told once for each name.
// CHECK: exec.attention_choices = [{library = "cudnn", source = "model.layers.*.self_attn"}]
// CHECK: uls.attention {{.*}}exec.library = #exec.attention_library<cudnn>
// CHECK: uls.attention_grad {{.*}}exec.library = #exec.attention_library<cudnn>
uls.block @layer.fwd(%q: tensor<2x8x2x2x16xbf16>, %k: tensor<2x8x2x16xbf16>, %p: tensor<2x8xi32>)
    -> (tensor<2x8x2x2x16xbf16>, tensor<2x8x2x2xf32>, tensor<2x8xi32>) {
  %o, %lse = uls.attention %q, %k, %k positions %p, %p {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32> loc("model.layers.*.self_attn")
  uls.yield %o, %lse, %p : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x2xf32>, tensor<2x8xi32>
}
uls.block @layer.bwd(%q: tensor<2x8x2x2x16xbf16>, %k: tensor<2x8x2x16xbf16>, %p: tensor<2x8xi32>, %o: tensor<2x8x2x2x16xbf16>, %lse: tensor<2x8x2x2xf32>)
    -> (tensor<2x8x2x2x16xbf16>) {
  %dq, %dk, %dv = uls.attention_grad %q, %k, %k positions %p, %p results %o, %lse cotangent %q {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8x2x2xf32> loc("model.layers.*.self_attn")
  uls.yield %dq : tensor<2x8x2x2x16xbf16>
}
uls.block @outer(%q: tensor<2x8x2x2x16xbf16>, %k: tensor<2x8x2x16xbf16>, %p: tensor<2x8xi32>)
    -> (tensor<2x8x2x2x16xbf16>, tensor<2x8x2x2xf32>, tensor<2x8xi32>) {
  %o, %lse, %same = uls.call @layer.fwd(%q, %k, %p) : (tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>) -> (tensor<2x8x2x2x16xbf16>, tensor<2x8x2x2xf32>, tensor<2x8xi32>)
  uls.yield %o, %lse, %same : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x2xf32>, tensor<2x8xi32>
}
uls.step @step(%tokens: tensor<3x2x8xi32>, %targets: tensor<3x2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x16xbf16>
  %k = uls.constant dense<0.0> : tensor<2x8x2x16xbf16>
  %p = uls.iota dim 1 : tensor<2x8xi32>
  %last, %counted = uls.microbatches 3 iter (%q, %p) : (tensor<2x8x2x2x16xbf16>, tensor<2x8xi32>) -> (tensor<2x8x2x2x16xbf16>, tensor<2x8xi32>) {
  ^bb0(%m: i64, %x: tensor<2x8x2x2x16xbf16>, %carried: tensor<2x8xi32>):
    %o, %lse, %same = uls.call @outer(%x, %k, %carried) : (tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>) -> (tensor<2x8x2x2x16xbf16>, tensor<2x8x2x2xf32>, tensor<2x8xi32>)
    %dq = uls.call @layer.bwd(%x, %k, %same, %o, %lse) : (tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8x2x2x16xbf16>, tensor<2x8x2x2xf32>) -> tensor<2x8x2x2x16xbf16>
    uls.yield %dq, %carried : tensor<2x8x2x2x16xbf16>, tensor<2x8xi32>
  }
  %o, %lse, %same = uls.call @layer.fwd(%last, %k, %counted) : (tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>) -> (tensor<2x8x2x2x16xbf16>, tensor<2x8x2x2xf32>, tensor<2x8xi32>)
  uls.yield
}

// -----

// Where nothing is masked, positions may be any; what no step runs is left alone.
// CHECK-LABEL: uls.block @unused
// CHECK-NOT: exec.library
uls.block @unused(%q: tensor<2x8x2x2x16xbf16>, %k: tensor<2x8x2x16xbf16>, %p: tensor<2x8xi32>) -> (tensor<2x8x2x2x16xbf16>) {
  %o, %lse = uls.attention %q, %k, %k positions %p, %p {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  uls.yield %o : tensor<2x8x2x2x16xbf16>
}
// CHECK-LABEL: uls.step @whole
// CHECK: uls.attention {{.*}}exec.library
uls.step @whole(%p: tensor<2x8xi32>, %s: tensor<2x4xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x128xf16>
  %k = uls.constant dense<0.0> : tensor<2x4x2x128xf16>
  %o, %lse = uls.attention %q, %k, %k positions %p, %s {scale = 0.25 : f64}
    : tensor<2x8x2x2x128xf16>, tensor<2x4x2x128xf16>, tensor<2x8xi32>, tensor<2x4xi32> -> tensor<2x8x2x2xf32>
  uls.yield
}

// -----

// What the iota counts along other dimensions may be sharded.
// CHECK-LABEL: uls.step @rows_of_a_rank
// CHECK: uls.attention {{.*}}exec.library
dist.mesh @mesh <["dp"=2]>
uls.step @rows_of_a_rank(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x16xbf16>
  %k = uls.constant dense<0.0> : tensor<2x8x2x16xbf16>
  %p = uls.iota dim 1 shard <[4, 8], <@mesh, [{"dp"}, {}]>> : tensor<2x8xi32>
  %o, %lse = uls.attention %q, %k, %k positions %p, %p {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  uls.yield
}

// -----

// CHECK: exec.attention_choices = [{library = "own", reason = "its elements are f32; cudnn takes bf16 and f16", source = "line
// CHECK-LABEL: uls.step @wide
// CHECK-NOT: exec.library
uls.step @wide(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x16xf32>
  %k = uls.constant dense<0.0> : tensor<2x8x2x16xf32>
  %p = uls.iota dim 1 : tensor<2x8xi32>
  %o, %lse = uls.attention %q, %k, %k positions %p, %p {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  uls.yield
}

// -----

// CHECK-LABEL: uls.step @dropping
// CHECK-NOT: exec.library
uls.step @dropping(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x16xbf16>
  %k = uls.constant dense<0.0> : tensor<2x8x2x16xbf16>
  %p = uls.iota dim 1 : tensor<2x8xi32>
  uls.microbatches 1 iter () : () -> () {
  ^bb0(%m: i64):
    %c = uls.make_context %m rows 2
    // expected-remark @below {{it drops probabilities; cudnn takes attention without dropout, for it draws other random numbers}}
    %o, %lse = uls.attention %q, %k, %k positions %p, %p context %c {scale = 0.25 : f64, causal, dropoutKey = "attn", dropoutRate = 0.1 : f64}
      : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
    uls.yield
  }
  uls.yield
}

// -----

// CHECK-LABEL: uls.step @packed
// CHECK-NOT: exec.library
uls.step @packed(%s: tensor<2x8xi32>, %targets: tensor<2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x16xbf16>
  %k = uls.constant dense<0.0> : tensor<2x8x2x16xbf16>
  %p = uls.iota dim 1 : tensor<2x8xi32>
  // expected-remark @below {{it has segments; cudnn takes attention without}}
  %o, %lse = uls.attention %q, %k, %k positions %p, %p segments %s, %s : tensor<2x8xi32>, tensor<2x8xi32> {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  uls.yield
}

// -----

// CHECK-LABEL: uls.step @heads
// CHECK-NOT: exec.library
uls.step @heads(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x12xbf16>
  %k = uls.constant dense<0.0> : tensor<2x8x2x12xbf16>
  %q136 = uls.constant dense<0.0> : tensor<2x8x2x2x136xbf16>
  %k136 = uls.constant dense<0.0> : tensor<2x8x2x136xbf16>
  %p = uls.iota dim 1 : tensor<2x8xi32>
  // expected-remark @below {{its heads have 12 elements; cudnn takes multiples of 8 up to 128}}
  %o, %lse = uls.attention %q, %k, %k positions %p, %p {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x12xbf16>, tensor<2x8x2x12xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  // expected-remark @below {{its heads have 136 elements; cudnn takes multiples of 8 up to 128}}
  %o1, %lse1 = uls.attention %q136, %k136, %k136 positions %p, %p {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x136xbf16>, tensor<2x8x2x136xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  uls.yield
}

// -----

// CHECK-LABEL: uls.step @more_keys
// CHECK-NOT: exec.library
uls.step @more_keys(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x16xbf16>
  %k = uls.constant dense<0.0> : tensor<2x16x2x16xbf16>
  %p = uls.iota dim 1 : tensor<2x8xi32>
  %s = uls.iota dim 1 : tensor<2x16xi32>
  // expected-remark @below {{it is causal with 8 queries and 16 keys; cudnn takes as many of both}}
  %o, %lse = uls.attention %q, %k, %k positions %p, %s {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xbf16>, tensor<2x16x2x16xbf16>, tensor<2x8xi32>, tensor<2x16xi32> -> tensor<2x8x2x2xf32>
  uls.yield
}

// -----

// CHECK-LABEL: uls.step @other_positions
// CHECK-NOT: exec.library
dist.mesh @mesh <["cp"=2]>
uls.step @other_positions(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x16xbf16>
  %k = uls.constant dense<0.0> : tensor<2x8x2x16xbf16>
  %p = uls.iota dim 1 : tensor<2x8xi32>
  %rows = uls.iota dim 0 : tensor<2x8xi32>
  %part = uls.iota dim 1 shard <[2, 16], <@mesh, [{}, {"cp"}]>> : tensor<2x8xi32>
  %long = uls.iota dim 1 : tensor<2x16xi32>
  %shifted = uls.slice %long dim 1 offset 8 : tensor<2x16xi32> -> tensor<2x8xi32>
  // expected-remark @below {{positions of its queries are an argument of uls.step; cudnn takes those that count from 0 along the sequence}}
  %o0, %lse0 = uls.attention %q, %k, %k positions %tokens, %p {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  // expected-remark @below {{positions of its keys count along dimension 0; cudnn takes}}
  %o1, %lse1 = uls.attention %q, %k, %k positions %p, %rows {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  // expected-remark @below {{positions of its queries are those of a rank's part of the sequence, which is sharded over cp; cudnn takes}}
  %o2, %lse2 = uls.attention %q, %k, %k positions %part, %p {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  // expected-remark @below {{positions of its keys come from uls.slice at line}}
  %o3, %lse3 = uls.attention %q, %k, %k positions %p, %shifted {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  uls.yield
}

// -----

// One call of several with other positions is enough, however deep it is.
// CHECK-LABEL: uls.block @layer
// CHECK-NOT: exec.library
uls.block @layer(%q: tensor<2x8x2x2x16xbf16>, %k: tensor<2x8x2x16xbf16>, %p: tensor<2x8xi32>) -> (tensor<2x8x2x2x16xbf16>) {
  // expected-remark @below {{positions of its queries come from uls.add at line}}
  %o, %lse = uls.attention %q, %k, %k positions %p, %p {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  uls.yield %o : tensor<2x8x2x2x16xbf16>
}
uls.block @outer(%q: tensor<2x8x2x2x16xbf16>, %k: tensor<2x8x2x16xbf16>, %p: tensor<2x8xi32>) -> (tensor<2x8x2x2x16xbf16>) {
  %o = uls.call @layer(%q, %k, %p) : (tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>) -> tensor<2x8x2x2x16xbf16>
  uls.yield %o : tensor<2x8x2x2x16xbf16>
}
uls.step @first(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x16xbf16>
  %k = uls.constant dense<0.0> : tensor<2x8x2x16xbf16>
  %p = uls.iota dim 1 : tensor<2x8xi32>
  %o = uls.call @layer(%q, %k, %p) : (tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>) -> tensor<2x8x2x2x16xbf16>
  uls.yield
}
uls.step @second(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x16xbf16>
  %k = uls.constant dense<0.0> : tensor<2x8x2x16xbf16>
  %p = uls.iota dim 1 : tensor<2x8xi32>
  %next = uls.microbatches 2 iter (%p) : (tensor<2x8xi32>) -> tensor<2x8xi32> {
  ^bb0(%m: i64, %carried: tensor<2x8xi32>):
    %o = uls.call @outer(%q, %k, %carried) : (tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>) -> tensor<2x8x2x2x16xbf16>
    %twice = uls.add %carried, %carried : tensor<2x8xi32>, tensor<2x8xi32>
    uls.yield %twice : tensor<2x8xi32>
  }
  uls.yield
}

// -----

// Who has one name is computed by one: what can't be given keeps the rest.
// CHECK: exec.attention_choices = [{library = "own", reason = "its heads have 12 elements; cudnn takes multiples of 8 up to 128", source = "attn"}]
// CHECK-LABEL: uls.step @one_name
// CHECK-NOT: exec.library
// expected-remark @unknown {{its heads have 12 elements}}
uls.step @one_name(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x16xbf16>
  %k = uls.constant dense<0.0> : tensor<2x8x2x16xbf16>
  %q12 = uls.constant dense<0.0> : tensor<2x8x2x2x12xbf16>
  %k12 = uls.constant dense<0.0> : tensor<2x8x2x12xbf16>
  %p = uls.iota dim 1 : tensor<2x8xi32>
  %o, %lse = uls.attention %q, %k, %k positions %p, %p {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32> loc("attn")
  %o1, %lse1 = uls.attention %q12, %k12, %k12 positions %p, %p {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x12xbf16>, tensor<2x8x2x12xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32> loc("attn")
  uls.yield
}
