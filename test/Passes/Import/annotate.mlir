// RUN: ulsc-opt %s --ulsc-annotate="mesh=tp=2,dp=2 shard=pinned.weight=-,tp" | FileCheck %s
// RUN: ulsc-opt %s --ulsc-annotate="mesh=tp=2,dp=2 mesh-order=tp,dp shard=pinned.weight=-,tp" | FileCheck %s --check-prefix=ORDER
// RUN: ulsc-opt %s --ulsc-annotate="mesh=dp=*,tp=2 devices=8 shard=pinned.weight=mlp:dp+tp" | FileCheck %s --check-prefix=REST

// Axes are put in the canonical order, however they are typed.
// CHECK: uls.rules = {batch = ["dp"], heads = ["tp"], kv_heads = ["tp"], mlp = ["tp"], vocab = ["tp"]}
// CHECK: dist.mesh @mesh <["dp"=2, "tp"=2]>
// ORDER: dist.mesh @mesh <["tp"=2, "dp"=2]>
// REST: dist.mesh @mesh <["dp"=4, "tp"=2]>

// CHECK: uls.param @up.weight {{.*}} sharding <@mesh, [{"tp"}, {}]> {dist.origin = {tp = "rule mlp{{.*}}tp (strategy tp)"}}
uls.param @up.weight : tensor<64x16xf32> axes ["mlp", "embed"] init <normal, 0.02>
// CHECK: uls.param @norm.weight {{.*}} sharding <@mesh, [{}]>
uls.param @norm.weight : tensor<16xf32> axes ["embed"] init <ones>
// A pin holds instead of the rules, all of them.
// CHECK: uls.param @pinned.weight {{.*}} sharding <@mesh, [{}, {"tp"}]> {dist.origin = {tp = "pin pinned.weight (--shard)"}}
// REST: uls.param @pinned.weight {{.*}} sharding <@mesh, [{"dp", "tp"}, {}]>
uls.param @pinned.weight : tensor<64x16xf32> axes ["mlp", "embed"] init <normal, 0.02>
// What is fused in a dimension of Hugging Face's is sharded by its logical axis.
// CHECK: uls.param @c_attn.weight {{.*}} sharding <@mesh, [{}, {}, {"tp"}, {}]>
uls.param @c_attn.weight : tensor<16x3x4x4xf32> axes ["embed", "qkv", "heads", "head_dim"] init <normal, 0.02> external [[0], [1, 2, 3]]
