// New parameters are gathered a unit at a time, each behind the updates of its own, the assignments behind the next gather's start.
// RUN: sed 's/uls.batch = /uls.storage = {optimizer = ["dp"], gradients = [], parameters = [], origin = "strategy zero1"}, uls.batch = /' %S/../Partition/Inputs/llama.ir | ulsc-opt --ulsc-train-pipeline --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline --ulsc-schedule-pipeline | FileCheck %s

// CHECK: uls.step
// The last microbatch stands behind the loop, so that a block's gradients are scattered as soon as they are final.
// CHECK: uls.call @layer.bwd
// CHECK: dist.reduce_scatter sum {{.*}} dims [0, 0, 0, 0, 0, 0, 0, 0, 0] over @mesh ["dp"]
// CHECK: uls.call @layer.bwd
// CHECK: dist.local_slice
// CHECK: %[[EMBED:.*]] = uls.update @adamw({{.*}}) values({{.*}}) {{.*}} parameters ["model.embed_tokens.weight"]
// CHECK: %[[FIRST:.*]] = dist.start
// CHECK-NEXT: dist.all_gather %[[EMBED]] dims [0] over @mesh ["dp"] cause "optimizer stored over dp (strategy zero1), new parameters gathered after their update"
// CHECK-COUNT-9: uls.update @adamw
// CHECK: %[[SECOND:.*]] = dist.start
// CHECK-NEXT: dist.all_gather {{.*}} dims [0, 0, 0, 0, 0, 0, 0, 0, 0]
// CHECK: dist.wait %[[FIRST]]
// CHECK: uls.assign @model.embed_tokens.weight
// CHECK: uls.update @adamw
// CHECK: dist.wait %[[SECOND]]
// CHECK: uls.assign @model.layers.0
