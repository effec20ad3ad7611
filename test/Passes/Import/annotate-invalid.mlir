// RUN: not ulsc-opt %s --ulsc-annotate="mesh=tp=4" 2>&1 | FileCheck %s --check-prefix=SIZES
// All sizes that don't divide are one error, with those that would.
// SIZES: error: {{.*}}3 sizes are not divisible by the mesh: heads = 6 in 3 groups, one a key/value head, by tp=4 (q.weight, rule heads→tp (strategy tp)); kv_heads = 3 by tp=4 (k.weight and 1 more, rule kv_heads→tp (strategy tp)); mlp = 9 by tp=4 (up.weight, rule mlp→tp (strategy tp)); legal for tp: 1, 3
// SIZES-NOT: error:

// RUN: not ulsc-opt %s --ulsc-annotate="mesh=tp=3 shard=q.weight=tp" 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: error: {{.*}}the pin has 1 dimensions, but q.weight has 2: [24, 9]
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=tp=3 shard=qq.weight=tp,-" 2>&1 | FileCheck %s --check-prefix=MATCH
// MATCH: error: {{.*}}"qq.weight" matches no parameter; did you mean q.weight
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=tp=3 shard=k.weight=heads:tp" 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: error: {{.*}}k.weight has no logical axis heads; it has kv_heads, head_dim, embed
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=tp=2 shard=k.weight=tp,-" 2>&1 | FileCheck %s --check-prefix=FUSED
// FUSED: error: {{.*}}dimension 0 of k.weight is fused of kv_heads=3 × head_dim=4, and its blocks over tp would cut the first; name the logical axis instead, as in {"kv_heads": "tp"}
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=tp=3 shard=k.weight=tp,tp" 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: {{.*}}the pin shards two dimensions of k.weight over tp
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=tp=3 shard=k.weight=-,dp" 2>&1 | FileCheck %s --check-prefix=LACKS
// LACKS: error: {{.*}}the pin of k.weight names the mesh axis dp, which the mesh lacks; it has tp; add dp=1 to the mesh or change it
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=tp=3 shard=k.weight" 2>&1 | FileCheck %s --check-prefix=SHARD
// SHARD: error: {{.*}}--shard "k.weight" is not PATTERN=DIMS
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=tp=3" --ulsc-annotate="mesh=tp=3" 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: {{.*}}has a mesh already; annotation comes once

uls.param @q.weight : tensor<3x2x4x9xf32> axes ["heads", "head_group", "head_dim", "embed"] init <normal, 0.02> external [[0, 1, 2], [3]]
uls.param @k.weight : tensor<3x4x9xf32> axes ["kv_heads", "head_dim", "embed"] init <normal, 0.02> external [[0, 1], [2]]
uls.param @v.weight : tensor<3x4x9xf32> axes ["kv_heads", "head_dim", "embed"] init <normal, 0.02> external [[0, 1], [2]]
uls.param @up.weight : tensor<9x9xf32> axes ["mlp", "embed"] init <normal, 0.02>
