// RUN: ulsc compile %S/models/gpt2.json --mesh tp=2 --seq 64 --batch 4 --emit=graph -o %t 2>/dev/null
// RUN: FileCheck %s --input-file=%t

// The projections into the residual stream start at 0.02 / sqrt(2 × 12 layers).
// CHECK: uls.param @transformer.wpe.weight : tensor<1024x768xf32> axes ["positions", "embed"]
// CHECK: uls.param @transformer.h.0.attn.c_attn.weight : tensor<768x3x12x64xf32> axes ["embed", "qkv", "heads", "head_dim"]
// CHECK-SAME: external {{\[\[}}0], [1, 2, 3]]
// CHECK-SAME: sharding <@mesh, [{}, {}, {"tp"}, {}]>
// CHECK: uls.param @transformer.h.0.attn.c_attn.bias : tensor<3x12x64xf32>
// CHECK-SAME: init <zeros> external {{\[\[}}0, 1, 2]]
// CHECK: uls.param @transformer.h.0.attn.c_proj.weight : tensor<12x64x768xf32>
// CHECK-SAME: init <normal, 0.0040824{{[0-9]*}}> external {{\[\[}}0, 1], [2]]
// CHECK: uls.param @transformer.h.0.mlp.c_fc.weight : tensor<768x3072xf32> axes ["embed", "mlp"]
// CHECK-NOT: uls.param @lm_head

// CHECK-LABEL: uls.block @embed
// CHECK: uls.dropout {{.*}} key "embd" rate 1.000000e-01
// CHECK-LABEL: uls.block @layer
// CHECK-SAME: !uls.context
// CHECK: uls.layer_norm
// CHECK: uls.einsum "bse,ethd->bsthd"
// CHECK: uls.slice {{.*}} dim 2 offset 0
// CHECK: uls.attention {{.*}} dropoutKey = "attn", dropoutRate = 1.000000e-01
// CHECK: uls.einsum "bshd,hde->bse"
// A row-parallel bias is added on its own, so that it can follow the reduction.
// CHECK: uls.broadcast
// CHECK: uls.add
// CHECK: uls.dropout {{.*}} key "resid_attn"
// CHECK: uls.gelu tanh
// CHECK: uls.dropout {{.*}} key "resid_mlp"
// CHECK-LABEL: uls.block @head
// CHECK: vocabulary 50257
// The tied table is materialised once, used twice.
// CHECK-LABEL: uls.forward
// CHECK: %[[TABLE:.*]] = uls.materialize @transformer.wte.weight
// CHECK: uls.call @embed({{.*}}%[[TABLE]]
// CHECK-NOT: uls.materialize @transformer.wte.weight
// CHECK: uls.call @head({{.*}}%[[TABLE]]

// RUN: ulsc compile %S/models/gpt2.json --seq 64 --batch 4 --dropout off --emit=graph -o - 2>/dev/null | FileCheck %s --check-prefix=OFF
// OFF-NOT: uls.dropout
// OFF-NOT: dropoutKey
