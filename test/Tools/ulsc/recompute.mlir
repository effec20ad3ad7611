// What is wrong with a policy is told before anything is compiled.
// RUN: not ulsc compile m.json --recompute selectve --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: --recompute is "selectve", expected none, selective, selective:attn,norm,act,gather, full, full:group=K or full:layers=N; did you mean selective
// RUN: not ulsc compile m.json --recompute none:attn --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: --recompute is "none:attn", expected nothing after none
// RUN: not ulsc compile m.json --recompute selective:norms --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: --recompute is "selective:norms", where "norms" is no kind of op, expected a list of attn, norm, act, gather; did you mean norm
// RUN: not ulsc compile m.json --recompute selective: --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: --recompute is "selective:", where "" is no kind of op, expected a list of attn, norm, act
// RUN: not ulsc compile m.json --recompute full:groups=2 --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: error: --recompute is "full:groups=2", where "groups" is no key, expected a list of group=K (layers that share a stored input), layers=N (how many from the first), price=P (of a MiB, in ns), keep=BLOCK+I+J (exactly these values); did you mean group
// RUN: not ulsc compile m.json --recompute selective:group=2 --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=ALIEN
// ALIEN: error: --recompute is "selective:group=2", where "group" is no key, expected a list of price=P (of a MiB, in ns), keep=BLOCK+I+J (exactly these values)
// RUN: not ulsc compile m.json --recompute selective:price=-1 --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=PRICE
// PRICE: error: --recompute is "selective:price=-1", where price is "-1", expected a whole number from 0 to 8388608
// RUN: not ulsc compile m.json --recompute selective:keep=layer+x --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=KEEP
// KEEP: error: --recompute is "selective:keep=layer+x", where a value of keep is "x", expected a whole number from 0 to 1048576
// RUN: not ulsc compile m.json --recompute selective:keep=+1 --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=NOBLOCK
// NOBLOCK: error: --recompute is "selective:keep=+1", where keep names no block, expected keep=BLOCK+I+J
// RUN: not ulsc compile m.json --recompute full:group=0 --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: --recompute is "full:group=0", where group is "0", expected a whole number from 1 to 1048576
// RUN: not ulsc compile m.json --recompute full:layers=2,layers=3 --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --recompute is "full:layers=2,layers=3", where layers is given twice, expected it once
// RUN: not ulsc compile %S/../../golden/llama --recompute full:layers=9 --seq 8 --batch 1 --emit=scheduled 2>&1 | FileCheck %s --check-prefix=LAYERS
// LAYERS: error: recompute is "full:layers=9", but the model has 2 layers; the nearest: full:layers=2
// RUN: not ulsc compile %S/../../golden/llama --recompute selective:keep=layers+1 --seq 8 --batch 1 --emit=scheduled 2>&1 | FileCheck %s --check-prefix=BLOCK
// BLOCK: error: recompute is "selective:keep=layers+1", but no block is called layers; there are embed, layer, head; did you mean layer
// RUN: not ulsc compile %S/../../golden/llama --recompute selective:keep=layer+99 --seq 8 --batch 1 --emit=scheduled 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: recompute is "selective:keep=layer+99", but the forward part of layer has 19 values, numbered from 0
// RUN: not ulsc compile %S/../../golden/llama --recompute selective:keep=layer+1 --seq 8 --batch 1 --emit=scheduled 2>&1 | FileCheck %s --check-prefix=NEEDED
// NEEDED: error: recompute is "selective:keep=layer+1", which keeps too little of block layer: its backward part needs a value that is neither kept nor may be computed again; add values to keep, or give a price, which lets more be computed again

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
// DEFAULT-NEXT: "policy": "selective:norm,act,gather",
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

// Of pipeline stages all together, however many microbatches there are and whether a backward is in halves: of one microbatch what is
// kept, but for what stages send each other; of the whole step what is computed again.
// RUN: ulsc explain %S/../../golden/llama --seq 32 --batch 8 --microbatches 4 --recompute full --report %t/flat.json
// RUN: ulsc explain %S/../../golden/llama --seq 32 --batch 8 --microbatches 4 --recompute full --mesh pp=2 --report %t/staged.json
// RUN: ulsc explain %S/../../golden/llama --seq 32 --batch 8 --microbatches 4 --recompute full --mesh pp=2 --pp-schedule zbv --report %t/halves.json
// RUN: %python %S/Inputs/check_recompute.py %t/flat.json %t/staged.json %t/halves.json | FileCheck %s --check-prefix=STAGED
// STAGED: 1 of embed 1 of head 2 of layer again [[FLOPS:[0-9]+]] less 0
// STAGED-NEXT: 1 of embed 1 of head 2 of layer again [[FLOPS]] less 16384
// STAGED-NEXT: 1 of embed 1 of head 2 of layer again [[FLOPS]] less 32768

// A repeated call stays right before its backward call to the end, with no collective that holds it there.
// RUN: ulsc compile %S/../../golden/llama --seq 32 --batch 8 --recompute full --emit=exec | FileCheck %s --check-prefix=ORDER
// ORDER: exec.function @ulsc_step
// ORDER: exec.call @layer.fwd.bare
// ORDER: exec.call @layer.fwd.bare
// ORDER: exec.call @head.fwd
// ORDER-NOT: exec.call @layer
// ORDER: exec.call @head.bwd
// ORDER: exec.call @layer.again
// ORDER-NOT: exec.call @layer.again
// ORDER: exec.call @layer.bwd
// ORDER: exec.call @layer.again
// ORDER: exec.call @layer.bwd
