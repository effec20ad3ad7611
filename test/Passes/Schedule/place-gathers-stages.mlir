// A stage of a pipeline keeps what it gathered, so that a parameter is gathered once for all microbatches; who asks for less memory gets it.
// RUN: sed 's/"dp"=2, "tp"=2/"pp"=2, "dp"=2, "tp"=1/; s/uls.batch = /uls.storage = {optimizer = ["dp"], gradients = ["dp"], parameters = ["dp"], origin = "strategy zero3"}, uls.batch = /' %S/../Partition/Inputs/llama.ir | ulsc-opt --ulsc-train-pipeline --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.mlir
// RUN: ulsc-opt %t.mlir --ulsc-schedule-pipeline -o %t.default.mlir
// RUN: ulsc-opt %t.mlir --ulsc-schedule-pipeline="reshard-after-forward=false" | diff %t.default.mlir -
// RUN: FileCheck %s --input-file=%t.default.mlir
// CHECK: uls.kept_ranks = 1
// CHECK: uls.step @step.0
// CHECK-COUNT-2: dist.all_gather {{.*}} over @mesh ["dp"] cause "parameters stored over dp (strategy zero3), gathered for their uses"
// CHECK-NOT: gathered for their uses
// CHECK: uls.step @step.1
// RUN: ulsc-opt %t.mlir --ulsc-schedule-pipeline="reshard-after-forward=true" | FileCheck %s --check-prefix=AGAIN
// AGAIN-NOT: uls.kept_ranks
// AGAIN: uls.step @step.0
// AGAIN-COUNT-8: gathered for their uses
// Without stages nothing but what is stored is kept.
// RUN: ulsc explain %S/../../golden/llama --mesh dp=2 --strategy zero3 --seq 16 --batch 4 --report %t.json
// RUN: FileCheck %s --check-prefix=REPORT --input-file=%t.json
// REPORT: "reshard_after_forward": true
// RUN: ulsc explain %S/../../golden/llama --mesh pp=2,dp=2 --strategy zero3 --seq 16 --batch 4 --report %t.stages.json
// RUN: FileCheck %s --check-prefix=STAGES --input-file=%t.stages.json
// STAGES: "reshard_after_forward": false
