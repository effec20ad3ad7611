// Parameters of a block call that a pattern matches travel as a unit of their own; what none matches stays with the call's. The first pattern
// that matches holds.
// RUN: sed 's/uls.batch = /uls.units = ["*.mlp.up_proj.*", "*.mlp.*", "*.self_attn.*"], uls.storage = {optimizer = ["dp"], gradients = ["dp"], parameters = ["dp"], origin = "strategy zero3"}, uls.batch = /' %S/../Partition/Inputs/llama.ir > %t.ir
// RUN: ulsc-opt %t.ir --ulsc-train-pipeline --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline --ulsc-schedule-pipeline | FileCheck %s
// RUN: sed 's/gradients = \["dp"\], parameters = \["dp"\]/gradients = [], parameters = []/; s/zero3/zero1/' %t.ir | ulsc-opt --ulsc-train-pipeline --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline --ulsc-schedule-pipeline | FileCheck %s --check-prefix=ZERO1
// RUN: sed 's/uls.storage = {[^}]*}, //' %t.ir | ulsc-opt --ulsc-train-pipeline --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline --ulsc-schedule-pipeline | FileCheck %s --check-prefix=DDP

// In the order of their last: q, k, v and the attention's output; both norms; up; gate and down.
// CHECK: uls.units = ["*.mlp.up_proj.*", "*.mlp.*", "*.self_attn.*"]
// CHECK: uls.microbatches
// CHECK: dist.all_gather %{{[0-9]+}} dims [0] over
// CHECK: dist.all_gather {{.*}} dims [0, 0, 0, 0] over
// CHECK: dist.all_gather {{.*}} dims [0, 0] over
// CHECK: dist.all_gather {{.*}} dims [0] over
// CHECK: dist.all_gather {{.*}} dims [0, 0] over
// CHECK: uls.call @embed.fwd
// CHECK: uls.call @layer.fwd
// CHECK: uls.call @layer.bwd
// CHECK: dist.reduce_scatter sum {{.*}} dims [0] over
// CHECK: dist.reduce_scatter sum {{.*}} dims [0, 0] over
// CHECK: dist.reduce_scatter sum {{.*}} dims [0, 0, 0, 0] over
// CHECK: dist.reduce_scatter sum {{.*}} dims [0, 0] over
// CHECK: uls.call @layer.bwd

// New parameters, too, a unit at a time.
// ZERO1: uls.update @adamw
// ZERO1: dist.all_gather {{.*}} dims [0] over
// ZERO1: dist.all_gather {{.*}} dims [0, 0, 0, 0] over
// ZERO1: dist.all_gather {{.*}} dims [0, 0] over
// ZERO1: dist.all_gather {{.*}} dims [0] over
// ZERO1: dist.all_gather {{.*}} dims [0, 0] over

// And gradients that are not split.
// DDP: uls.call @layer.bwd
// DDP: dist.all_reduce sum %{{[^,]*}}, %{{[^,]*}} over
