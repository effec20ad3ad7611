// Between forward and backward a rank keeps a part of what the forward gathered, over the two ranks that are neighbours along dp.
// RUN: sed 's/"dp"=2, "tp"=2/"dp"=4, "tp"=1/; s/micro = 4/micro = 2/; s/uls.batch = /uls.storage = {optimizer = ["dp"], gradients = ["dp"], parameters = ["dp"], origin = "strategy zero3"}, uls.batch = /' %S/../Partition/Inputs/llama.ir | ulsc-opt --ulsc-train-pipeline --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.mlir
// RUN: ulsc-opt %t.mlir --ulsc-schedule-pipeline="reshard-after-forward=2" | FileCheck %s
// One rank keeps all, and all ranks what they store.
// RUN: ulsc-opt %t.mlir --ulsc-schedule-pipeline="reshard-after-forward=1" -o %t.1.mlir
// RUN: ulsc-opt %t.mlir --ulsc-schedule-pipeline="reshard-after-forward=false" | diff %t.1.mlir -
// RUN: ulsc-opt %t.mlir --ulsc-schedule-pipeline="reshard-after-forward=4" -o %t.4.mlir
// RUN: ulsc-opt %t.mlir --ulsc-schedule-pipeline="reshard-after-forward=true" | diff %t.4.mlir -
// RUN: not ulsc-opt %t.mlir --ulsc-schedule-pipeline="reshard-after-forward=3" 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not ulsc-opt %t.mlir --ulsc-schedule-pipeline="reshard-after-forward=maybe" 2>&1 | FileCheck %s --check-prefix=TEXT

// CHECK: uls.kept_ranks = 2
// CHECK: uls.microbatches
// CHECK: dist.all_gather %{{[0-9]+}} dims [0] over @mesh ["dp"]
// CHECK: dist.all_gather {{.*}} dims [0, 0, 0, 0, 0, 0, 0, 0, 0] over @mesh ["dp"]
// CHECK: uls.call @embed.fwd
// CHECK: dist.all_gather {{.*}} over @mesh ["dp"] cause "parameters stored over dp (strategy zero3), gathered for their uses"
// The first layer's parts are taken as soon as it is whole, nine parameters.
// CHECK: %[[LAYER:.*]]:9 = dist.wait
// CHECK: %[[PART:.*]] = dist.local_slice %[[LAYER]]#0 dim 0 over @mesh ["dp:(2)2"]
// CHECK: uls.call @layer.fwd
// CHECK-SAME: layer = 0
// CHECK: dist.all_gather {{.*}} over @mesh ["dp"]
// CHECK: uls.call @layer.fwd
// CHECK-SAME: layer = 1
// CHECK: uls.call @head.fwd
// The second layer's, then the first one's, of their parts.
// CHECK: dist.all_gather {{.*}} dims [0, 0, 0, 0, 0, 0, 0, 0, 0] over @mesh ["dp:(2)2"] cause "parameters stored over dp (strategy zero3), gathered for their uses again, of what is kept of them"
// CHECK: uls.call @head.bwd
// CHECK: dist.all_gather %[[PART]], {{.*}} dims [0, 0, 0, 0, 0, 0, 0, 0, 0] over @mesh ["dp:(2)2"]
// CHECK: uls.call @layer.bwd
// CHECK: uls.call @embed.bwd
// Of the embedding's table nothing is needed again: no part is kept.
// CHECK-NOT: dist.all_gather

// RANKS: error: reshard-after-forward is 3, expected a number of neighbours among the ranks that store parameters (dp=4): one of 1, 2, 4; the nearest is 2
// TEXT: error: reshard-after-forward is "maybe", expected true, false or a number of ranks
