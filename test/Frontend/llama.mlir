// RUN: ulsc compile %S/../../examples/llama-small/config.json --mesh dp=2,tp=2 --seq 64 --batch 16 --micro-batch 2 --emit=graph -o %t 2>%t.log
// RUN: FileCheck %s --input-file=%t
// RUN: FileCheck %s --check-prefix=LOG --input-file=%t.log
// RUN: ulsc-opt %t -o %t.again && cmp %t %t.again

// LOG: mesh dp=2 × tp=2 (4 ranks), strategy ddp+tp (implied by the mesh)
// LOG: rule batch→dp (strategy ddp)
// LOG: rule heads→tp (strategy tp)
// LOG: batch 16 = micro-batch 2 × 4 microbatches × 2 data ranks

// CHECK: uls.batch = {data_axes = ["dp"], global = 16 : i64, micro = 2 : i64, microbatches = 4 : i64,
// CHECK-SAME: origin = "rule batch{{.*}}dp (strategy ddp)", seq = 64 : i64}
// CHECK-SAME: uls.gradient_dtype = f32
// CHECK: dist.mesh @mesh <["dp"=2, "tp"=2]>
// CHECK: uls.param @model.embed_tokens.weight : tensor<256x128xf32> axes ["vocab", "embed"] init <normal, 2.000000e-02>
// CHECK-SAME: sharding <@mesh, [{"tp"}, {}]> {dist.origin = {tp = "rule vocab{{.*}}tp (strategy tp)"}}
// CHECK: uls.param @model.layers.0.input_layernorm.weight : tensor<128xf32> axes ["embed"] init <ones> sharding <@mesh, [{}]>
// CHECK: uls.param @model.layers.0.self_attn.q_proj.weight : tensor<2x2x32x128xf32>
// CHECK-SAME: axes ["heads", "head_group", "head_dim", "embed"]
// CHECK-SAME: external {{\[\[}}0, 1, 2], [3]]
// CHECK-SAME: sharding <@mesh, [{"tp"}, {}, {}, {}]>
// CHECK: uls.param @model.layers.0.self_attn.k_proj.weight : tensor<2x32x128xf32> axes ["kv_heads", "head_dim", "embed"]
// CHECK: uls.param @model.layers.0.self_attn.o_proj.weight : tensor<128x2x2x32xf32> axes ["embed", "heads", "head_group", "head_dim"]
// CHECK-SAME: external {{\[\[}}0], [1, 2, 3]]
// CHECK: uls.param @model.layers.0.mlp.down_proj.weight : tensor<128x384xf32> axes ["embed", "mlp"]
// CHECK-SAME: sharding <@mesh, [{}, {"tp"}]>
// CHECK: uls.param @model.layers.3.
// CHECK: uls.param @lm_head.weight : tensor<256x128xf32>

// CHECK-LABEL: uls.block @embed
// CHECK: uls.embedding
// CHECK-LABEL: uls.block @layer
// CHECK-SAME: tensor<4x64x128xf32> {uls.axes = ["batch", "seq", "embed"]}
// CHECK: uls.rms_norm
// CHECK: uls.einsum "bse,hgde->bshgd"
// CHECK: uls.einsum "bse,hde->bshd"
// CHECK: uls.rope {{.*}} frequencies [1.000000e+00,
// CHECK: uls.attention {{.*}} {causal, scale = 0.17677669529663687 : f64}
// CHECK: uls.einsum "bshgd,ehgd->bse"
// CHECK: uls.add
// CHECK: uls.silu
// CHECK: uls.mul
// CHECK: uls.einsum "bsm,em->bse"
// CHECK-LABEL: uls.block @head
// CHECK: uls.einsum "bse,ve->bsv"
// CHECK: uls.cross_entropy {{.*}} vocabulary 256
// CHECK: uls.reduce sum
// CHECK-LABEL: uls.forward @forward
// CHECK: uls.call @embed
// CHECK: uls.iota dim 1
// CHECK: uls.call @layer{{.*}} {layer = 3 : i64}
// CHECK: uls.call @head
