// What blocks hand on cut along the sequence over tp (Megatron's sequence parallelism) computes what whole activations do.
// RUN: sed 's/%x: tensor<8x8x16xf32>/%x: tensor<8x8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"tp", ?}p1, {?}]>}/; s/{uls.axes = \["batch", "seq", "embed"\]}//; s/uls.batch = /uls.rules = {seq = ["tp"]}, uls.batch = /' %S/Inputs/llama.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: FileCheck %s < %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: sed 's/%x: tensor<8x8x16xf32>/%x: tensor<8x8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"tp", ?}p1, {?}]>}/; s/{uls.axes = \["batch", "seq", "embed"\]}//; s/uls.batch = /uls.rules = {seq = ["tp"]}, uls.batch = /' %S/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: FileCheck %s < %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline="recompute=none" -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2

// A gather in front of attention and one in front of the MLP, a scatter of the sum behind each; and the same for cotangents, whose
// summands (of q, k and v, of gate and up) are summed before they are scattered.
// CHECK-LABEL: uls.block @layer
// CHECK: dist.all_gather
// CHECK: dist.reduce_scatter sum
// CHECK: dist.all_gather
// CHECK: dist.reduce_scatter sum
// CHECK: uls.result
// CHECK: dist.all_gather
// CHECK: dist.reduce_scatter sum
// CHECK: dist.all_gather
// CHECK: dist.reduce_scatter sum
// CHECK-NOT: dist.
// CHECK: uls.block @head
