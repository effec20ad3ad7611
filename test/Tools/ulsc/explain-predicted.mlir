// Every collective has the time predicted for one call: 2 · (1 µs + 3 µs + (n−1)/n · bytes / 300 GB/s) for an all-reduce of two ranks of a node.
// RUN: ulsc explain %S/../../golden/llama --seq 4096 --batch 2 --mesh tp=2 --report %t.json 2>/dev/null | FileCheck %s --check-prefix TABLE
// RUN: FileCheck %s --check-prefix JSON --input-file %t.json
// TABLE: kind axes phase per step bytes wire bytes predicted dtype
// TABLE: all_reduce tp forward 2 2.0 MiB 2.0 MiB 15.0 us f32 model.layers.*.self_attn.o_proj
// TABLE: bytes and predicted time are those of one call; in all per rank and step: {{.*}} on the wire, {{[0-9.]+}} us predicted
// JSON: "predicted_us": 14.990506{{[0-9]*}}

// A part of an axis is as many ranks as it has, here neighbours in a node, where the whole axis goes over the network.
// RUN: ulsc explain %S/../../golden/llama --seq 16 --batch 16 --mesh dp=16 --strategy zero3 --reshard-after-forward 2 2>/dev/null | FileCheck %s --check-prefix PART
// PART-DAG: all_gather dp {{.*}} us f32 model.layers.*
// PART-DAG: all_gather dp:(8)2 backward {{.*}} 4.3 us f32 model.layers.*

// Both sides of a message take its time; what ranks do in all is that of a stage.
// RUN: ulsc explain %S/../../golden/llama --seq 4096 --batch 2 --mesh pp=2 --microbatches 2 2>/dev/null | FileCheck %s --check-prefix STAGES
// STAGES: stage kind axes
// STAGES-DAG: 0 send pp forward 2 1.0 MiB 1.0 MiB 7.5 us
// STAGES-DAG: 1 receive pp forward 2 1.0 MiB 1.0 MiB 7.5 us
// STAGES: in all per rank and step at most: 4.{{.*}} MiB on the wire
