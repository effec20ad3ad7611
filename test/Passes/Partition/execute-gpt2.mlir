// The local program of every mesh computes what the global one does: losses, norms, gradients and parameters of two steps, dropout on.
// RUN: sed 's/"dp"=2, "tp"=2/"dp"=1, "tp"=1/; s/micro = 4/micro = 8/' %S/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
// RUN: sed 's/"dp"=2, "tp"=2/"dp"=2, "tp"=1/; s/micro = 4/micro = 4/' %S/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
// RUN: sed 's/"dp"=2, "tp"=2/"dp"=4, "tp"=1/; s/micro = 4/micro = 2/' %S/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
// RUN: sed 's/"dp"=2, "tp"=2/"dp"=1, "tp"=2/; s/micro = 4/micro = 8/' %S/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
// RUN: sed 's/"dp"=2, "tp"=2/"dp"=2, "tp"=2/; s/micro = 4/micro = 4/' %S/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
// RUN: sed 's/"dp"=2, "tp"=2/"dp"=1, "tp"=4/; s/micro = 4/micro = 8/' %S/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
// RUN: sed 's/"dp"=2, "tp"=2/"dp"=2, "tp"=4/; s/micro = 4/micro = 4/' %S/Inputs/gpt2.ir | ulsc-opt --ulsc-train-pipeline -o %t.train.mlir
// RUN: ulsc-opt %t.train.mlir --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline -o %t.local.mlir
// RUN: ulsc-interpret %t.train.mlir --compare %t.local.mlir --steps 2
