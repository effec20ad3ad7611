// RUN: ulsc-opt %s --split-input-file --ulsc-choose-attention=attention=cudnn --verify-diagnostics
// RUN: not ulsc-opt %s --split-input-file --ulsc-choose-attention=attention=cudn 2>&1 | FileCheck %s
// CHECK: attention is "cudn", expected auto, own or cudnn; did you mean cudnn

uls.step @wide(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x16xf32>
  %k = uls.constant dense<0.0> : tensor<2x8x2x16xf32>
  %p = uls.iota dim 1 : tensor<2x8xi32>
  // expected-error @below {{cudnn can't compute this attention: its elements are f32; cudnn takes bf16 and f16; use --dtype bf16, or --attention auto}}
  %o, %lse = uls.attention %q, %k, %k positions %p, %p {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  uls.yield
}

// -----

uls.step @dropping(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x16xbf16>
  %k = uls.constant dense<0.0> : tensor<2x8x2x16xbf16>
  %p = uls.iota dim 1 : tensor<2x8xi32>
  uls.microbatches 1 iter () : () -> () {
  ^bb0(%m: i64):
    %c = uls.make_context %m rows 2
    // expected-error @below {{it drops probabilities; cudnn takes attention without dropout, for it draws other random numbers; use --dropout off, or --attention auto}}
    %o, %lse = uls.attention %q, %k, %k positions %p, %p context %c {scale = 0.25 : f64, causal, dropoutKey = "attn", dropoutRate = 0.1 : f64}
      : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
    uls.yield
  }
  uls.yield
}

// -----

// All that can't be given are named.
uls.step @heads(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) {
  %q = uls.constant dense<0.0> : tensor<2x8x2x2x12xbf16>
  %k = uls.constant dense<0.0> : tensor<2x8x2x12xbf16>
  %p = uls.iota dim 1 : tensor<2x8xi32>
  // expected-error @below {{its heads have 12 elements; cudnn takes multiples of 8 up to 128; use --attention auto}}
  %o, %lse = uls.attention %q, %k, %k positions %p, %p {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x12xbf16>, tensor<2x8x2x12xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  // expected-error @below {{its heads have 12 elements}}
  %dq, %dk, %dv = uls.attention_grad %q, %k, %k positions %p, %p results %o, %lse cotangent %q {scale = 0.25 : f64, causal}
    : tensor<2x8x2x2x12xbf16>, tensor<2x8x2x12xbf16>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8x2x2xf32>
  uls.yield
}
