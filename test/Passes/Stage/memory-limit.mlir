// Chunks of about equal time are taken only if ranks have the memory for them. The head takes ten times as long, so that all else would
// be one chunk; a large embedding leaves no room for the layers beside it.
// RUN: split-file %s %t
// RUN: ulsc compile %t/config.json --mesh pp=2 --seq 16 --batch 8 --microbatches 4 --emit=sharded -o %t/sharded.mlir
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="costs=%t/costs.json" | FileCheck %s --check-prefix=TIME
// TIME: uls.call @layer({{.*}} {dist.chunk = 0 : i64{{.*}}layer = 3 : i64
// TIME: uls.call @head({{.*}} {dist.chunk = 1 : i64
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="costs=%t/costs.json memory-limit=20000000" | FileCheck %s --check-prefix=TIME
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="costs=%t/costs.json memory-limit=11600000" | FileCheck %s --check-prefix=LIMIT
// LIMIT: uls.call @layer({{.*}} {dist.chunk = 0 : i64{{.*}}layer = 2 : i64
// LIMIT: uls.call @layer({{.*}} {dist.chunk = 1 : i64{{.*}}layer = 3 : i64
// What is computed again is not kept, and of one microbatch only one is in flight.
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="recompute=full costs=%t/costs.json memory-limit=11600000" | FileCheck %s --check-prefix=TIME
// RUN: ulsc compile %t/config.json --mesh pp=2 --seq 16 --batch 2 --microbatches 1 --emit=sharded -o %t/one.mlir
// RUN: ulsc-opt %t/one.mlir --ulsc-assign-chunks="costs=%t/costs.json memory-limit=11600000" | FileCheck %s --check-prefix=TIME
// The limit of the command is the one of the pass; state that is split takes less.
// RUN: ulsc compile %t/config.json --mesh pp=2 --seq 16 --batch 8 --microbatches 4 --costs %t/costs.json --memory-limit 11MB --recompute none --emit=staged -o - | FileCheck %s --check-prefix=COMMAND
// COMMAND: uls.step @step.1
// COMMAND: uls.call @layer({{.*}}layer = 3 : i64
// RUN: ulsc compile %t/config.json --mesh pp=2,dp=2 --strategy zero1 --seq 16 --batch 16 --microbatches 4 --emit=sharded -o %t/zero1.mlir
// RUN: ulsc-opt %t/zero1.mlir --ulsc-assign-chunks="costs=%t/costs.json memory-limit=9300000" | FileCheck %s --check-prefix=SPLIT
// SPLIT: uls.call @layer({{.*}}dist.chunk = 0 : i64{{.*}}layer = 3 : i64
// Where nothing fits, the ranks take as little as can be; the plan tells what is too much.
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="costs=%t/costs.json memory-limit=1000" | FileCheck %s --check-prefix=LIMIT
// RUN: not ulsc compile %t/config.json --mesh pp=2 --seq 16 --batch 8 --microbatches 4 --memory-limit 1MB --emit=scheduled 2>&1 | FileCheck %s --check-prefix=PLAN
// PLAN: error: --memory-limit 1000000 can't be met: {{.*}} the peak of stage {{[01]}} is {{[0-9]+}} bytes

//--- costs.json
{"costs": {"embed": {"forward_us": 10, "backward_us": 20}, "layer": {"forward_us": 10, "backward_us": 20},
  "head": {"forward_us": 100, "backward_us": 200}}}
//--- config.json
{"model_type": "llama", "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 4, "num_attention_heads": 4,
 "num_key_value_heads": 2, "vocab_size": 8192, "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "hidden_act": "silu",
 "tie_word_embeddings": false}
