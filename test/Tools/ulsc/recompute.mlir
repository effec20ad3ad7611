// What is wrong with a policy is told before anything is compiled.
// RUN: not ulsc compile m.json --recompute selectve --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: --recompute is "selectve", expected none, selective, selective:attn,norm,act, full, full:group=K or full:layers=N; did you mean selective
// RUN: not ulsc compile m.json --recompute none:attn --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: --recompute is "none:attn", expected nothing after none
// RUN: not ulsc compile m.json --recompute selective:norms --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: --recompute is "selective:norms", where "norms" is no kind of op, expected a list of attn, norm, act; did you mean norm
// RUN: not ulsc compile m.json --recompute selective: --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: --recompute is "selective:", where "" is no kind of op, expected a list of attn, norm, act
// RUN: not ulsc compile m.json --recompute full:groups=2 --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: error: --recompute is "full:groups=2", where "groups" is no key, expected group=K (layers that share a stored input), layers=N (how many from the first); did you mean group
// RUN: not ulsc compile m.json --recompute full:group=0 --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: --recompute is "full:group=0", where group is "0", expected a whole number from 1
// RUN: not ulsc compile m.json --recompute full:layers=2,layers=3 --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --recompute is "full:layers=2,layers=3", where layers is given twice, expected it once
// RUN: not ulsc compile %S/../../golden/llama --recompute full:layers=9 --seq 8 --batch 1 --emit=scheduled 2>&1 | FileCheck %s --check-prefix=LAYERS
// LAYERS: error: recompute is "full:layers=9", but there are 2 layers; the nearest: full:layers=2

// The report says what was chosen; FLOPs of the model do not count what is computed again.
// RUN: rm -rf %t && mkdir %t
// RUN: ulsc compile %S/../../golden/llama --seq 32 --batch 8 --mesh dp=2,tp=2 --emit=scheduled -o %t/default.mlir --report %t/default.json
// RUN: FileCheck %s --check-prefix=DEFAULT < %t/default.json
// DEFAULT: "flops_per_step": 189235200
// DEFAULT: "recompute": {
// DEFAULT: "block": "head"
// DEFAULT: "block": "layer",
// DEFAULT-NEXT: "calls": 2,
// DEFAULT-NEXT: "saved_bytes": 395264
// DEFAULT: "flops_per_step": 0,
// DEFAULT-NEXT: "policy": "selective:norm,act",
// RUN: ulsc explain %S/../../golden/llama --seq 32 --batch 8 --mesh dp=2,tp=2 --recompute full:layers=2,group=1 --report %t/full.json | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: all_reduce tp recompute 2 {{.*}} model.layers.*.self_attn.o_proj
// EXPLAIN-NOT: recompute
// RUN: FileCheck %s --check-prefix=FULL < %t/full.json
// FULL: "flops_per_step": 189235200
// FULL: "recompute": {
// FULL: "block": "layer",
// FULL-NEXT: "calls": 2,
// FULL-NEXT: "saved_bytes": 65536
// FULL: "flops_per_step": 35651584,
// FULL-NEXT: "policy": "full:layers=2",
