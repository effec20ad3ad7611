// The table of a tied embedding is held by the first and the last stage, which exchange and add its gradients.
// RUN: sed 's/"dp"=2, "tp"=2/"pp"=2, "dp"=2, "tp"=2/' %S/../Partition/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline="schedule=gpipe" --ulsc-partition-pipeline --ulsc-schedule-pipeline="recompute=full" -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline="schedule=interleaved chunks=2" --ulsc-partition-pipeline --ulsc-schedule-pipeline -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: sed 's/"dp"=2, "tp"=2/"pp"=4, "dp"=2, "tp"=1/; s/uls.batch = /uls.storage = {optimizer = ["dp"], gradients = [], parameters = [], origin = "strategy zero1"}, uls.batch = /' %S/../Partition/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline --ulsc-schedule-pipeline -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: sed 's/"dp"=2, "tp"=2/"pp"=2, "dp"=2, "tp"=1/; s/uls.batch = /uls.storage = {optimizer = ["dp"], gradients = ["dp"], parameters = ["dp"], origin = "strategy zero3"}, uls.batch = /' %S/../Partition/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline --ulsc-schedule-pipeline -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
