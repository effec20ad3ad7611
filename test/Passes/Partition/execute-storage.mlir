// Split state computes what whole state does, partitioned and scheduled: losses, norms, gradients and parameters of two steps. States
// (ZeRO 1), gradients (2) and parameters (3), beside tensor parallelism, and over a part of the data axes.
// RUN: sed 's/uls.batch = /uls.storage = {optimizer = ["dp"], gradients = [], parameters = [], origin = "zero1"}, uls.batch = /' %S/Inputs/llama.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: sed 's/uls.batch = /uls.storage = {optimizer = ["dp"], gradients = ["dp"], parameters = [], origin = "zero2"}, uls.batch = /' %S/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: sed 's/uls.batch = /uls.storage = {optimizer = ["dp"], gradients = ["dp"], parameters = ["dp"], origin = "zero3"}, uls.batch = /' %S/Inputs/llama.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: ulsc-opt %t.local.mlir --ulsc-schedule-pipeline="reshard-after-forward=false" -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// In parts: over the minor two of four ranks, and over a whole minor axis, with the forward run again.
// RUN: sed 's/"dp"=2, "tp"=2/"dp"=4, "tp"=1/; s/micro = 4/micro = 2/; s/uls.batch = /uls.storage = {optimizer = ["dp"], gradients = ["dp"], parameters = ["dp"], origin = "zero3"}, uls.batch = /' %S/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline --ulsc-schedule-pipeline="reshard-after-forward=2" -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: sed 's/"dp"=2, "tp"=2/"a"=2, "b"=2, "tp"=1/; s/micro = 4/micro = 2/; s/"dp"/"a", "b"/g; s/uls.batch = /uls.storage = {optimizer = ["a", "b"], gradients = ["a", "b"], parameters = ["a", "b"], origin = "own"}, uls.batch = /' %S/Inputs/llama.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline --ulsc-schedule-pipeline="reshard-after-forward=2 recompute=full" -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// Units by patterns.
// RUN: sed 's/uls.batch = /uls.units = ["*.mlp.*", "*.self_attn.*"], uls.storage = {optimizer = ["dp"], gradients = ["dp"], parameters = ["dp"], origin = "zero3"}, uls.batch = /' %S/Inputs/llama.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline --ulsc-schedule-pipeline -o %t.scheduled.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.scheduled.mlir --steps 2
// RUN: sed 's/"dp"=2, "tp"=2/"dp_replicate"=2, "dp_shard"=2, "tp"=1/; s/micro = 4/micro = 2/; s/"dp"/"dp_replicate", "dp_shard"/g; s/uls.batch = /uls.storage = {optimizer = ["dp_shard"], gradients = ["dp_shard"], parameters = ["dp_shard"], origin = "hsdp"}, uls.batch = /' %S/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: FileCheck %s --check-prefix=HSDP < %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
// HSDP: uls.param {{.*}}flat={"dp_shard"}
// HSDP: dist.reduce_scatter{{.*}}["dp_shard"]
// HSDP: dist.all_reduce{{.*}}["dp_replicate"]
