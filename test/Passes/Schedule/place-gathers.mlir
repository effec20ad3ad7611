// Stored parameters travel one unit ahead of their use, a unit in one collective, and no longer live across other units.
// RUN: sed 's/uls.batch = /uls.storage = {optimizer = ["dp"], gradients = ["dp"], parameters = ["dp"], origin = "strategy zero3"}, uls.batch = /' %S/../Partition/Inputs/llama.ir | ulsc-opt --ulsc-train-pipeline --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.mlir
// RUN: ulsc-opt %t.mlir --ulsc-schedule-pipeline | FileCheck %s
// RUN: ulsc-opt %t.mlir --ulsc-schedule-pipeline="reshard-after-forward=false" | FileCheck %s --check-prefix=KEPT

// CHECK: uls.step
// CHECK-NOT: dist.all_gather
// CHECK: uls.microbatches
// Embedding and first layer travel first; nothing computes yet.
// CHECK: %[[EMBED:.*]] = dist.start
// CHECK: dist.all_gather %{{[0-9]+}} dims [0] over @mesh ["dp"] cause "parameters stored over dp (strategy zero3), gathered for their uses"
// CHECK: %[[LAYER0:.*]] = dist.start
// CHECK-NEXT: dist.all_gather {{.*}} dims [0, 0, 0, 0, 0, 0, 0, 0, 0]
// CHECK: dist.wait %[[EMBED]]
// CHECK: uls.call @embed.fwd
// The second layer's before the first computes.
// CHECK: %[[LAYER1:.*]] = dist.start
// CHECK-NEXT: dist.all_gather
// CHECK: dist.wait %[[LAYER0]]
// CHECK: uls.call @layer.fwd
// CHECK-SAME: layer = 0
// CHECK: %[[HEAD:.*]] = dist.start
// CHECK-NEXT: dist.all_gather
// CHECK: dist.wait %[[LAYER1]]
// CHECK: uls.call @layer.fwd
// CHECK-SAME: layer = 1
// CHECK: dist.wait %[[HEAD]]
// CHECK: uls.call @head.fwd
// The head's backward follows at once and shares its gather; the second layer's is gathered again meanwhile.
// CHECK: %[[AGAIN1:.*]] = dist.start
// CHECK-NEXT: dist.all_gather {{.*}} dims [0, 0, 0, 0, 0, 0, 0, 0, 0]
// CHECK-NOT: dist.all_gather
// CHECK: uls.call @head.bwd
// A unit's gradients are scattered as one, and awaited at the second call behind.
// CHECK: %[[SCATTER:.*]] = dist.start
// CHECK-NEXT: dist.reduce_scatter sum {{.*}} dims [0, 0]
// CHECK: dist.start
// CHECK-NEXT: dist.all_gather
// CHECK: dist.wait %[[AGAIN1]]
// CHECK: uls.call @layer.bwd
// CHECK-SAME: layer = 1
// CHECK: dist.reduce_scatter
// CHECK: dist.wait %[[SCATTER]]
// CHECK: uls.call @layer.bwd
// CHECK-SAME: layer = 0
// The embedding's backward needs no table.
// CHECK-NOT: dist.all_gather
// CHECK: uls.call @embed.bwd
// CHECK-NOT: dist.all_gather

// Kept, a microbatch gathers each unit once: embedding, two layers, head.
// KEPT: uls.microbatches
// KEPT-COUNT-4: dist.all_gather
// KEPT-NOT: dist.all_gather
