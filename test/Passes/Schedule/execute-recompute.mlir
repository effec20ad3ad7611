// Every policy computes what the model of one rank does: losses, norms, gradients and parameters of two steps, dropout on.
// RUN: ulsc-opt %S/../Partition/Inputs/llama.ir --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=none -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=selective -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=selective:attn -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=selective:norm,act -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=full -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=full:group=2 -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=full:layers=1 -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %S/../Partition/Inputs/gpt2.ir --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=none -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=selective -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=selective:attn -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=selective:norm,act -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=full -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=full:group=2 -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline=recompute=full:layers=1 -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
