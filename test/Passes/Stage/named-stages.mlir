// A recipe names the blocks that begin chunks, by their modules.
// RUN: split-file %s %t
// RUN: ulsc compile %S/../../golden/llama --recipe %t/layers.json --mesh pp=3 --seq 16 --batch 4 --emit=sharded -o %t/sharded.mlir
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="recipe=%t/layers.json" | FileCheck %s --check-prefix=LAYERS
// LAYERS: uls.call @embed({{.*}} {dist.chunk = 0 : i64
// LAYERS: uls.call @layer({{.*}} {dist.chunk = 0 : i64{{.*}}layer = 0 : i64
// LAYERS: uls.call @layer({{.*}} {dist.chunk = 1 : i64{{.*}}layer = 1 : i64
// LAYERS: uls.call @head({{.*}} {dist.chunk = 2 : i64
// The head has two modules and goes by its block's name or by either of them; the command makes the same.
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="recipe=%t/block.json" | FileCheck %s --check-prefix=LAYERS
// RUN: ulsc compile %S/../../golden/llama --recipe %t/layers.json --mesh pp=3 --seq 16 --batch 4 --emit=staged -o - | FileCheck %s --check-prefix=STAGED
// STAGED: uls.step @step.1
// STAGED-NOT: uls.call @head
// STAGED: uls.call @layer({{.*}}layer = 1 : i64
// STAGED: uls.step @step.2
// STAGED-NOT: uls.call @layer
// STAGED: uls.call @head
// A tied table is where it is first used.
// RUN: not ulsc compile %S/../../golden/gpt2 --recipe %t/tied.json --mesh pp=3 --seq 16 --batch 4 --emit=staged 2>&1 | FileCheck %s --check-prefix=TIED
// TIED: tied.json:1:27: error: "transformer.wte" begins the first chunk, expected the blocks that begin the chunks after it; the next is transformer.h.0

// RUN: not ulsc compile %S/../../golden/llama --recipe %t/layers.json --mesh pp=2 --seq 16 --batch 4 --emit=staged 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: layers.json:1:15: error: "stages" names 2 blocks, expected 1: the one that begins each of the 2 chunks after the first{{$}}
// As many names as several chunks a rank need: with interleaved they say how many, else the error does.
// RUN: ulsc explain %S/../../golden/llama --recipe %t/interleaved.json --mesh pp=2 --seq 16 --batch 4 --microbatches 2 --schedule-out %t/table.json 2>&1 | FileCheck %s --check-prefix=INTERLEAVED
// INTERLEAVED: stage 0 chunk 0: embed; chunk 2: layer.1
// INTERLEAVED-NEXT: stage 1 chunk 1: layer.0; chunk 3: head
// RUN: not ulsc compile %S/../../golden/llama --recipe %t/interleaved.json --mesh pp=2 --seq 16 --batch 4 --microbatches 2 --pp-schedule 1f1b --emit=staged 2>&1 | FileCheck %s --check-prefix=CHUNKS
// CHUNKS: interleaved.json:1:42: error: "stages" names 3 blocks, expected 1: the one that begins each of the 2 chunks after the first; for 4 chunks give "chunks" (or --pp-chunks) 2 and a schedule of as many, as interleaved
// RUN: not ulsc compile %S/../../golden/llama --recipe %t/unknown.json --mesh pp=3 --seq 16 --batch 4 --emit=staged 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: unknown.json:1:26: error: "model.layer.1" is no block; the blocks are model.embed_tokens, model.layers.0, model.layers.1, head; did you mean model.layers.1
// UNKNOWN: unknown.json:1:43: error: "model.layers" is no block; {{.*}}; did you mean model.layers.0
// Modules that the model lacks, and the other names that a block has.
// RUN: not ulsc compile %S/../../golden/gpt2 --recipe %t/layers.json --mesh pp=3 --seq 16 --batch 4 --emit=staged 2>&1 | FileCheck %s --check-prefix=LACKED
// LACKED: layers.json:1:44: error: "lm_head" is no block; the blocks are embed, transformer.h.0, transformer.h.1, head; did you mean head
// RUN: not ulsc compile %S/../../golden/llama --recipe %t/near.json --mesh pp=3 --seq 16 --batch 4 --emit=staged 2>&1 | FileCheck %s --check-prefix=NEAR
// NEAR: near.json:1:26: error: "layers.1" is no block; {{.*}}; did you mean layer.1
// NEAR: near.json:1:38: error: "model.nrm" is no block; {{.*}}; did you mean model.norm
// RUN: not ulsc compile %S/../../golden/llama --recipe %t/order.json --mesh pp=4 --seq 16 --batch 4 --emit=staged 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: order.json:1:44: error: "model.layers.0" does not come after model.layers.1, which begins the chunk before; name blocks in the model's order, each once
// RUN: not ulsc compile %S/../../golden/llama --recipe %t/text.json --mesh pp=2 --seq 16 --batch 4 --emit=staged 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: text.json:1:15: error: "stages" is "model.layers.1", expected a list of the blocks that begin the chunks after the first, as ["model.layers.4"]
// RUN: not ulsc compile %S/../../golden/llama --recipe %t/list.json --mesh pp=2 --seq 16 --batch 4 --emit=staged 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: list.json:1:2: error: "pipeline" is [], expected an object as in {"schedule": "1f1b"}

//--- layers.json
{"pipeline": {"stages": ["model.layers.1", "lm_head"]}}
//--- block.json
{"pipeline": {"stages": ["layer.1", "head"]}}
//--- tied.json
{"pipeline": {"stages": [ "transformer.wte", "head"]}}
//--- unknown.json
{"pipeline": {"stages": ["model.layer.1", "model.layers"]}}
//--- order.json
{"pipeline": {"stages": ["model.layers.1", "model.layers.0", "head"]}}
//--- text.json
{"pipeline": {"stages": "model.layers.1"}}
//--- interleaved.json
{"pipeline": {"schedule": "interleaved", "stages": ["model.layers.0", "model.layers.1", "head"]}}
//--- near.json
{"pipeline": {"stages": ["layers.1", "model.nrm"]}}
//--- list.json
{"pipeline": []}
