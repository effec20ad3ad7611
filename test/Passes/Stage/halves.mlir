// Zero-bubble schedules call backward blocks in halves: the gradient that the stage before waits for, later those of weights. A gradient that
// another backward takes is of the first kind, even where only weights are behind it.
// RUN: sed 's/"dp"=2, "tp"=2/"pp"=2, "dp"=2, "tp"=2/' %S/../Partition/Inputs/llama.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline="schedule=zb-h1" --ulsc-partition-pipeline --ulsc-schedule-pipeline -o %t.scheduled.mlir
// RUN: FileCheck %s --input-file=%t.scheduled.mlir --implicit-check-not="call @layer.bwd("
// CHECK: uls.step @step.0
// CHECK: uls.call @layer.bwd.input(
// CHECK: uls.call @layer.bwd.weight(
// CHECK: uls.step @step.1
// CHECK: uls.call @layer.bwd.input(
// CHECK: dist.send
// CHECK: uls.call @layer.bwd.weight(
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline="schedule=zbv chunks=2" --ulsc-partition-pipeline --ulsc-schedule-pipeline -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
