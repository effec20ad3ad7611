// Measured costs take the place of predicted ones: a head that takes ten times as long is a chunk of its own.
// RUN: split-file %s %t
// RUN: ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --emit=sharded -o %t/sharded.mlir
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="costs=%t/even.json" | FileCheck %s --check-prefix=EVEN
// EVEN: uls.call @embed({{.*}} {dist.chunk = 0 : i64
// EVEN: uls.call @layer({{.*}} {dist.chunk = 0 : i64
// EVEN: uls.call @layer({{.*}} {dist.chunk = 1 : i64
// EVEN: uls.call @head({{.*}} {dist.chunk = 1 : i64
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="costs=%t/head.json" | FileCheck %s --check-prefix=HEAD
// HEAD: uls.call @layer({{.*}} {dist.chunk = 0 : i64
// HEAD: uls.call @layer({{.*}} {dist.chunk = 0 : i64
// HEAD: uls.call @head({{.*}} {dist.chunk = 1 : i64
// A trace says the same: functions of a block are added up, each call's mean.
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="costs=%t/trace.json" | FileCheck %s --check-prefix=HEAD
// What is frozen has no backward and is called by its block's plain name.
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="costs=%t/frozen.json" | FileCheck %s --check-prefix=HEAD
// What is said of one layer goes before what is said of its block.
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="costs=%t/layer.json" | FileCheck %s --check-prefix=LAYER
// LAYER: uls.call @embed({{.*}} {dist.chunk = 0 : i64
// LAYER: uls.call @layer({{.*}} {dist.chunk = 1 : i64
// LAYER: uls.call @layer({{.*}} {dist.chunk = 1 : i64

// A trace counts without what calls waited for other ranks.
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="costs=%t/waits.json" | FileCheck %s --check-prefix=EVEN

// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --costs %t/unknown.json --emit=staged 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: unknown.json:2:2: error: there is a cost of "heat", which is no block; the blocks are model.embed_tokens, model.layers.0, model.layers.1, head; did you mean head
// UNKNOWN: unknown.json: error: there is no cost of head; measured and predicted times are not mixed: give a cost of each block, or leave out --costs
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --costs %t/keys.json --emit=staged 2>&1 | FileCheck %s --check-prefix=KEYS
// KEYS-DAG: keys.json:1:22: error: "forward" is no key of a cost; expected one of forward_us, backward_us; did you mean forward_us
// KEYS-DAG: keys.json:1:12: error: the cost of "embed" has no "forward_us", expected microseconds from 0 to 1e12
// KEYS-DAG: keys.json:1:36: error: "backward_us" is -2, expected microseconds from 0 to 1e12
// KEYS-DAG: keys.json:2:2: error: the cost of "layer" is 3, expected an object as in {"forward_us": 120, "backward_us": 250}
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --costs %t/other.json --emit=staged 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: other.json:1:1: error: the file is {"layers":2}, expected a program's trace, with "traceEvents", or an object "costs" from blocks to their costs
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --costs %t/empty.json --emit=staged 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: empty.json:2:2: error: the trace has no span of a block ("cat": "block"), expected one that a compiled program wrote with --trace
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --costs %t/backward.json --emit=staged 2>&1 | FileCheck %s --check-prefix=BACKWARD
// BACKWARD: backward.json:2:2: error: the trace has calls of block layer only backward, expected whole steps of training
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --costs %t/endless.json --emit=staged 2>&1 | FileCheck %s --check-prefix=ENDLESS
// ENDLESS: endless.json:{{[0-9:]+}}: error: "dur" of event 1, layer.fwd, is 1e+308, expected microseconds from 0 to 1e12
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --costs %t/twice.json --emit=staged 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: twice.json:2:2: error: "model.layers.0" and "layer.0" are one block; keep one of them
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --costs %t/both.json --emit=staged 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: both.json:1:15: error: the file has "costs" and "traceEvents", expected one of them: times by hand, or a trace; take one out
// BOTH: both.json:1:34: error: "unit" stands beside "costs", expected "costs" alone; take it out
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --costs %t/absent.json --emit=staged 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: absent.json: error: can't be read: No such file or directory
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --costs %t/zero.json --emit=staged 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: zero.json: error: the costs of all blocks are 0 microseconds, which balance nothing; expected what each of them takes, or leave out --costs

// Times of another model or dtype say nothing of this one's; of another length they may.
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --costs %t/unsaid.json --emit=staged 2>&1 | FileCheck %s --check-prefix=UNSAID
// UNSAID: unsaid.json:1:2: error: the trace does not say of which model it is ("otherData"), as those of programs of earlier versions; compile the program again and run it with --trace, or give times by hand, as {"costs": {"layer": {"forward_us": 120, "backward_us": 250}, …}}
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --dtype bf16 --costs %t/gpt2.json --emit=staged 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL: gpt2.json:1:16: error: the trace is of model small (gpt2, 119104 parameters), expected one of llama (llama, 119104 parameters)
// MODEL: gpt2.json:1:80: error: the trace is of --dtype f32, expected one of --dtype bf16, as this compilation has
// RUN: ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --microbatches 2 --costs %t/trace.json --emit=staged -o %t/longer.mlir 2>&1 | FileCheck %s --check-prefix=LENGTH
// LENGTH: trace.json:2:2: warning: the trace is of micro-batches of 4 × 16 tokens, this compilation has 2 × 16; the proportions of its blocks' times may be others
// RUN: ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --costs %t/trace.json --emit=staged -o %t/same.mlir 2>&1 | FileCheck %s --check-prefix=SAME
// SAME-NOT: warning

// What is predicted does not become what was measured, and says so.
// RUN: ulsc explain %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --costs %t/head.json 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: stage 0 embed, layer.0-1
// EXPLAIN-NEXT: stage 1 head
// EXPLAIN: predicted step:
// EXPLAIN: these times are predicted for the cluster description; --costs only cut the model into stages
// RUN: ulsc explain %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 2>&1 | FileCheck %s --check-prefix=PREDICTED
// PREDICTED-NOT: these times

//--- even.json
{"costs": {"embed": {"forward_us": 10, "backward_us": 20}, "layer": {"forward_us": 10, "backward_us": 20},
  "head": {"forward_us": 10, "backward_us": 20}}}
//--- head.json
{"costs": {"embed": {"forward_us": 10, "backward_us": 20}, "layer": {"forward_us": 10, "backward_us": 20},
  "head": {"forward_us": 100, "backward_us": 200}}}
//--- layer.json
{"costs": {"embed": {"forward_us": 100, "backward_us": 200}, "layer": {"forward_us": 500, "backward_us": 0},
  "model.layers.0": {"forward_us": 10, "backward_us": 20}, "layer.1": {"forward_us": 10, "backward_us": 20},
  "head": {"forward_us": 10, "backward_us": 20}}}
//--- unknown.json
{"costs": {"embed": {"forward_us": 10, "backward_us": 20}, "layer": {"forward_us": 10, "backward_us": 20},
 "heat": {"forward_us": 10, "backward_us": 20}}}
//--- keys.json
{"costs": {"embed": {"forward": 1, "backward_us": -2},
 "layer": 3}}
//--- other.json
{"layers": 2}
//--- empty.json
{"otherData": {"model": "llama", "family": "llama", "parameters": 119104, "dtype": "f32", "seq": 16, "micro_batch": 4},
 "traceEvents": [{"name": "rms_norm", "cat": "kernel", "dur": 3}, 4]}
//--- backward.json
{"otherData": {"model": "llama", "family": "llama", "parameters": 119104, "dtype": "f32", "seq": 16, "micro_batch": 4},
 "traceEvents": [{"name": "layer.bwd", "cat": "block", "dur": 3}]}
//--- unsaid.json
{"traceEvents": [{"name": "layer.bwd", "cat": "block", "dur": 3}]}
//--- zero.json
{"costs": {"embed": {"forward_us": 0, "backward_us": 0}, "layer": {"forward_us": 0, "backward_us": 0},
  "head": {"forward_us": 0, "backward_us": 0}}}
//--- gpt2.json
{"otherData": {"model": "small", "family": "gpt2", "parameters": 119104,       "dtype": "f32", "seq": 16, "micro_batch": 4},
 "traceEvents": []}
//--- waits.json
{"otherData": {"model": "a copy", "family": "llama", "parameters": 119104, "dtype": "f32", "seq": 16, "micro_batch": 4},
"traceEvents": [
{"name": "embed.fwd", "cat": "block", "dur": 10010, "args": {"waited_us": 10000}},
{"name": "embed.bwd", "cat": "block", "dur": 20, "args": {"waited_us": 0}},
{"name": "layer.fwd", "cat": "block", "dur": 10}, {"name": "layer.bwd", "cat": "block", "dur": 20},
{"name": "head.fwd", "cat": "block", "dur": 10, "args": {}},
{"name": "head.bwd", "cat": "block", "dur": 520, "args": {"waited_us": 500}}
]}
//--- trace.json
{"displayTimeUnit": "ms", "otherData": {"model": "llama", "family": "llama", "parameters": 119104, "dtype": "f32",
 "seq": 16, "micro_batch": 4}, "traceEvents": [
{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "rank 0"}},
{"name": "embed.fwd", "cat": "block", "ph": "X", "ts": 0, "dur": 10}, {"name": "embed.bwd", "cat": "block", "dur": 20},
{"name": "layer.fwd.bare", "cat": "block", "dur": 8}, {"name": "layer.fwd.bare", "cat": "block", "dur": 12},
{"name": "layer.again", "cat": "block", "dur": 10}, {"name": "layer.bwd.acc", "cat": "block", "dur": 10},
{"name": "layer.again", "cat": "block", "dur": 10}, {"name": "layer.bwd", "cat": "block", "dur": 10},
{"name": "head.fwd", "cat": "block", "dur": 100}, {"name": "head.bwd", "cat": "block", "dur": 100},
{"name": "head.bwd.acc", "cat": "block", "dur": 100}
]}
//--- frozen.json
{"otherData": {"model": "llama", "family": "llama", "parameters": 119104, "dtype": "f32", "seq": 16, "micro_batch": 4}, "traceEvents": [{"name": "embed", "cat": "block", "dur": 30},
{"name": "layer.fwd", "cat": "block", "dur": 10}, {"name": "layer.bwd", "cat": "block", "dur": 20},
{"name": "head.fwd", "cat": "block", "dur": 100}, {"name": "head.bwd", "cat": "block", "dur": 200}]}
//--- endless.json
{"otherData": {"model": "llama", "family": "llama", "parameters": 119104, "dtype": "f32", "seq": 16, "micro_batch": 4}, "traceEvents": [
 {"name": "embed.fwd", "cat": "block", "dur": 1},
 {"name": "layer.fwd", "cat": "block",     "dur": 1e308}]}
//--- twice.json
{"costs": {"embed": {"forward_us": 10, "backward_us": 20}, "layer": {"forward_us": 10, "backward_us": 20},
 "model.layers.0": {"forward_us": 10, "backward_us": 20}, "layer.0": {"forward_us": 10, "backward_us": 20},
 "head": {"forward_us": 10, "backward_us": 20}}}
//--- both.json
{"costs": {}, "traceEvents": [], "unit": "us"}
