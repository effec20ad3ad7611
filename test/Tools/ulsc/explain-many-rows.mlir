// Where activations are much larger than weights, too, norms' weights are summed from what is complete: exactly these collectives.
// RUN: ulsc explain %S/../../../examples/llama-small --mesh tp=2 --seq 4096 --batch 4 | FileCheck %s
// CHECK: kind
// CHECK: all_reduce tp forward 1 8.0 MiB {{.*}} model.embed_tokens
// CHECK-NEXT: all_reduce tp forward 4 8.0 MiB {{.*}} model.layers.*.self_attn.o_proj
// CHECK-NEXT: all_reduce tp forward 4 8.0 MiB {{.*}} model.layers.*.mlp.down_proj
// CHECK-NEXT: all_reduce tp forward 1 {{.*}} loss
// CHECK-NEXT: all_reduce tp forward 1 {{.*}} loss
// CHECK-NEXT: all_reduce tp backward 1 8.0 MiB {{.*}} lm_head
// CHECK-NEXT: all_reduce tp backward 4 8.0 MiB {{.*}} model.layers.*.mlp.gate_proj
// CHECK-NEXT: all_reduce tp backward 4 8.0 MiB {{.*}} model.layers.*.self_attn.q_proj
// CHECK-NOT: all_reduce tp {{.*}} {{[0-9.]+}} KiB
// CHECK-NOT: all_reduce tp {{.*}} MiB
