// RUN: rm -rf %t && ulsc compile %S/../../../examples/llama-small --recipe %S/../../../examples/llama-small/recipe.json --seq 32 --batch 8 --microbatches 2 --emit=graph --dump-dir %t/dump --report %t.json -o %t.mlir 2>&1 | FileCheck %s
// CHECK: rule mlp→tp (recipe line 8)
// CHECK: batch 8 = micro-batch 2 × 2 microbatches × 2 data ranks
// CHECK: graph {{.*}} s
// RUN: cmp %t/dump/01-graph.mlir %t.mlir
// RUN: FileCheck %s --check-prefix=REPORT --input-file=%t.json
// REPORT: "batch":
// REPORT: "global": 8
// REPORT: "compile_seconds":
// REPORT: "graph":
// REPORT: "mesh":
// REPORT: "devices": 4
// 853,120 parameters: 6 × 853120 × 256 tokens + 4 layers × 6 × 8 rows × 32 × 32 × 128.
// REPORT: "flops_per_step": 1335558144
// REPORT: "name": "llama-small"
// REPORT: "parameters": 853120
// REPORT: "schema": "ulsc.report/1"
// REPORT-NOT: "memory"

// RUN: ulsc compile %S/../../../examples/llama-small --seq 32 --batch 8 --emit=graph --locations -o - 2>/dev/null | FileCheck %s --check-prefix=LOCATIONS
// LOCATIONS: loc("model.layers.*.self_attn.q_proj")
// RUN: ulsc compile %S/../../../examples/llama-small --seq 32 --batch 8 --emit=graph --pass-pipeline-at='graph:builtin.module(canonicalize)' -o - 2>/dev/null | ulsc-opt -o /dev/null
