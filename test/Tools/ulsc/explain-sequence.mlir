// What gathers activations under sequence parallelism says whose rule shards them, not which op reads them.
// RUN: ulsc explain %S/../../golden/llama --seq 16 --batch 8 --mesh dp=2,tp=2 --strategy ddp+tp+sp 2>/dev/null | FileCheck %s
// CHECK: all_gather
// CHECK-SAME: model.layers.*.self_attn.q_proj: needs whole what rule seq→tp (strategy sp) shards
// CHECK-NOT: uls.einsum
