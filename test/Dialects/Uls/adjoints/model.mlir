// RUN: ulsc-opt %s --ulsc-make-joint-blocks=every-block --canonicalize --cse | FileCheck %s

// CHECK-LABEL: uls.block @embedding
// CHECK: uls.embedding_grad %arg0, %arg2 {{.*}} -> tensor<11x3xf32>
uls.block @embedding(%tokens: tensor<2x5xi32> {uls.range = 11 : i64}, %table: tensor<11x3xf32>) -> (tensor<2x5x3xf32>) {
  %y = uls.embedding %tokens, %table : tensor<2x5xi32>, tensor<11x3xf32> -> tensor<2x5x3xf32>
  uls.yield %y : tensor<2x5x3xf32>
}

uls.block @rms_norm(%x: tensor<2x3x5xf32>, %w: tensor<5xf32>) -> (tensor<2x3x5xf32>) {
  %y, %rstd = uls.rms_norm %x, %w epsilon 1.0e-3 : tensor<2x3x5xf32>, tensor<5xf32> -> tensor<2x3xf32>
  uls.yield %y : tensor<2x3x5xf32>
}

// CHECK-LABEL: uls.block @rms_norm_bf16
// CHECK: uls.rms_norm_grad {{.*}} : tensor<2x3x5xbf16>, tensor<5xf32>, tensor<2x3xf32> -> tensor<5xf32>
uls.block @rms_norm_bf16(%x: tensor<2x3x5xbf16>, %w: tensor<5xf32> {uls.parameter}) -> (tensor<2x3x5xbf16>) {
  %y, %rstd = uls.rms_norm %x, %w epsilon 1.0e-3 : tensor<2x3x5xbf16>, tensor<5xf32> -> tensor<2x3xf32>
  uls.yield %y : tensor<2x3x5xbf16>
}

uls.block @layer_norm(%x: tensor<2x3x5xf32>, %w: tensor<5xf32>, %b: tensor<5xf32>) -> (tensor<2x3x5xf32>) {
  %y, %mean, %rstd = uls.layer_norm %x, %w, %b epsilon 1.0e-3 : tensor<2x3x5xf32>, tensor<5xf32> -> tensor<2x3xf32>
  uls.yield %y : tensor<2x3x5xf32>
}

uls.block @softmax(%x: tensor<2x3x5xf32>) -> (tensor<2x3x5xf32>) {
  %y = uls.softmax %x : tensor<2x3x5xf32>
  uls.yield %y : tensor<2x3x5xf32>
}

// CHECK-LABEL: uls.block @rope
// CHECK: uls.result
// CHECK-NEXT: uls.rope %arg2, %arg1 inverse frequencies
uls.block @rope(%x: tensor<2x3x2x6xf32>, %positions: tensor<2x3xi32> {uls.range = 9 : i64}) -> (tensor<2x3x2x6xf32>) {
  %y = uls.rope %x, %positions frequencies [1.0, 0.3, 0.1] : tensor<2x3x2x6xf32>, tensor<2x3xi32>
  uls.yield %y : tensor<2x3x2x6xf32>
}

// CHECK-LABEL: uls.block @rope_inverse
// CHECK: uls.result
// CHECK-NEXT: uls.rope %arg2, %arg1 frequencies
uls.block @rope_inverse(%x: tensor<2x3x2x6xf32>, %positions: tensor<2x3xi32> {uls.range = 9 : i64}) -> (tensor<2x3x2x6xf32>) {
  %y = uls.rope %x, %positions inverse frequencies [1.0, 0.3, 0.1] : tensor<2x3x2x6xf32>, tensor<2x3xi32>
  uls.yield %y : tensor<2x3x2x6xf32>
}

// CHECK-LABEL: uls.block @attention
// CHECK: %[[O:.*]], %[[LSE:.*]] = uls.attention
// CHECK: uls.attention_grad %arg0, %arg1, %arg2 positions {{.*}} results %[[O]], %[[LSE]] cotangent %arg3 {causal
uls.block @attention(%q: tensor<2x3x2x2x5xf32>, %k: tensor<2x3x2x5xf32>, %v: tensor<2x3x2x5xf32>) -> (tensor<2x3x2x2x5xf32>) {
  %p = uls.iota dim 1 : tensor<2x3xi32>
  %o, %lse = uls.attention %q, %k, %v positions %p, %p {scale = 0.7 : f64, causal}
      : tensor<2x3x2x2x5xf32>, tensor<2x3x2x5xf32>, tensor<2x3xi32>, tensor<2x3xi32> -> tensor<2x3x2x2xf32>
  uls.yield %o : tensor<2x3x2x2x5xf32>
}

// More keys than queries, no mask.
uls.block @attention_cross(%q: tensor<1x2x1x3x5xf32>, %k: tensor<1x4x1x5xf32>, %v: tensor<1x4x1x5xf32>) -> (tensor<1x2x1x3x5xf32>) {
  %p = uls.iota dim 1 : tensor<1x2xi32>
  %t = uls.iota dim 1 : tensor<1x4xi32>
  %o, %lse = uls.attention %q, %k, %v positions %p, %t {scale = 0.4 : f64}
      : tensor<1x2x1x3x5xf32>, tensor<1x4x1x5xf32>, tensor<1x2xi32>, tensor<1x4xi32> -> tensor<1x2x1x3xf32>
  uls.yield %o : tensor<1x2x1x3x5xf32>
}

// Segments may leave a query without any key.
uls.block @attention_segments(%q: tensor<2x4x1x2x3xf32>, %k: tensor<2x4x1x3xf32>, %v: tensor<2x4x1x3xf32>,
                              %s: tensor<2x4xi32> {uls.range = 3 : i64}, %t: tensor<2x4xi32> {uls.range = 3 : i64}) -> (tensor<2x4x1x2x3xf32>) {
  %p = uls.iota dim 1 : tensor<2x4xi32>
  %o, %lse = uls.attention %q, %k, %v positions %p, %p segments %s, %t : tensor<2x4xi32>, tensor<2x4xi32> {scale = 0.7 : f64, causal}
      : tensor<2x4x1x2x3xf32>, tensor<2x4x1x3xf32>, tensor<2x4xi32>, tensor<2x4xi32> -> tensor<2x4x1x2xf32>
  uls.yield %o : tensor<2x4x1x2x3xf32>
}

uls.block @attention_dropout(%q: tensor<2x5x2x1x3xf32>, %k: tensor<2x5x2x3xf32>, %v: tensor<2x5x2x3xf32>, %context: !uls.context) -> (tensor<2x5x2x1x3xf32>) {
  %p = uls.iota dim 1 : tensor<2x5xi32>
  %o, %lse = uls.attention %q, %k, %v positions %p, %p context %context {scale = 0.7 : f64, causal, dropoutKey = "attn", dropoutRate = 0.4 : f64}
      : tensor<2x5x2x1x3xf32>, tensor<2x5x2x3xf32>, tensor<2x5xi32>, tensor<2x5xi32> -> tensor<2x5x2x1xf32>
  uls.yield %o : tensor<2x5x2x1x3xf32>
}

// Some targets are −1; the last two columns are padding.
uls.block @cross_entropy(%logits: tensor<3x5x9xf32>, %shifted: tensor<3x5xi32> {uls.range = 8 : i64}) -> (tensor<3x5xf32>) {
  %one = uls.constant dense<1> : tensor<i32>
  %targets = uls.sub %shifted, %one : tensor<3x5xi32>, tensor<i32>
  %loss, %lse = uls.cross_entropy %logits, %targets vocabulary 7 : tensor<3x5x9xf32>, tensor<3x5xi32> -> tensor<3x5xf32>
  uls.yield %loss : tensor<3x5xf32>
}

// A whole layer: fan-out, residuals, grouped queries. The three input gradients of q, k and v are added before the norm's.
// CHECK-LABEL: uls.block @layer
// CHECK: uls.result
// CHECK: %[[V:.*]] = uls.einsum "bskd,kde->bse"
// CHECK: %[[VK:.*]] = uls.add %[[V]], %{{.*}} : tensor<2x3x4xf32>
// CHECK: %[[VKQ:.*]] = uls.add %[[VK]], %{{.*}} : tensor<2x3x4xf32>
// CHECK: uls.rms_norm_grad %arg0, %{{.*}}, %{{.*}}, %[[VKQ]]
uls.block @layer(%x: tensor<2x3x4xf32>, %n: tensor<4xf32>, %wq: tensor<1x2x4x4xf32>, %wk: tensor<1x4x4xf32>, %wv: tensor<1x4x4xf32>, %wo: tensor<4x1x2x4xf32>) -> (tensor<2x3x4xf32>) {
  %p = uls.iota dim 1 : tensor<2x3xi32>
  %h, %rstd = uls.rms_norm %x, %n epsilon 1.0e-3 : tensor<2x3x4xf32>, tensor<4xf32> -> tensor<2x3xf32>
  %q0 = uls.einsum "bse,kgde->bskgd" %h, %wq : tensor<2x3x4xf32>, tensor<1x2x4x4xf32> -> tensor<2x3x1x2x4xf32>
  %k0 = uls.einsum "bse,kde->bskd" %h, %wk : tensor<2x3x4xf32>, tensor<1x4x4xf32> -> tensor<2x3x1x4xf32>
  %v = uls.einsum "bse,kde->bskd" %h, %wv : tensor<2x3x4xf32>, tensor<1x4x4xf32> -> tensor<2x3x1x4xf32>
  %q = uls.rope %q0, %p frequencies [1.0, 0.1] : tensor<2x3x1x2x4xf32>, tensor<2x3xi32>
  %k = uls.rope %k0, %p frequencies [1.0, 0.1] : tensor<2x3x1x4xf32>, tensor<2x3xi32>
  %o, %lse = uls.attention %q, %k, %v positions %p, %p {scale = 0.5 : f64, causal}
      : tensor<2x3x1x2x4xf32>, tensor<2x3x1x4xf32>, tensor<2x3xi32>, tensor<2x3xi32> -> tensor<2x3x1x2xf32>
  %a = uls.einsum "bskgd,ekgd->bse" %o, %wo : tensor<2x3x1x2x4xf32>, tensor<4x1x2x4xf32> -> tensor<2x3x4xf32>
  %y = uls.add %x, %a : tensor<2x3x4xf32>, tensor<2x3x4xf32>
  uls.yield %y : tensor<2x3x4xf32>
}
