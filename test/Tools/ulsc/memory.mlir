// Of a number of parameters: a table of strategies, each with its exact bytes.
// RUN: ulsc memory --params 70e9 --devices 64 --dtype bf16 --grad-dtype bf16 --device-memory 80e9 | FileCheck %s --check-prefix=TABLE
// TABLE: 70,000,000,000 parameters on 64 devices (dp=64)
// TABLE: bytes per parameter: 16 = 2 parameter + 2 gradient + 4 master + 8 moments{{$}}
// TABLE: ddp {{.*}} 1,120 GB  1,120,000,000,000 B  1,040 GB too much
// TABLE: zero1 {{.*}} 293.125 GB    293,125,000,000 B  213.125 GB too much
// TABLE: zero2 {{.*}} 155.3125 GB    155,312,500,000 B  75.3125 GB too much
// TABLE: zero3 {{.*}} 17.5 GB     17,500,000,000 B  fits, 62.5 GB left
// TABLE: not included: they need a MODEL

// RUN: ulsc memory --params 7e9 --dtype bf16 | FileCheck %s --check-prefix=BYTES
// BYTES: bytes per parameter: 18 = 2 parameter + 4 gradient + 4 master + 8 moments; the ZeRO paper's 16 is with --grad-dtype bf16
// RUN: ulsc memory --params 7e9 --dtype bf16 --optimizer sgd --reduce-dtype bf16 | FileCheck %s --check-prefix=SGD
// SGD: stored bf16, gradients f32, reduced in bf16, master f32, moments f32 (sgd)
// SGD: bytes per parameter: 14 = 2 parameter + 4 gradient + 4 master + 4 moments{{$}}

// RUN: ulsc memory --params 7e9 --compare-dtype --dtype f16 --device-memory 100e9 | FileCheck %s --check-prefix=DTYPES
// DTYPES: f32     f32        stored  f32                       16  112 GB (too much)
// DTYPES: bf16    f32        f32     f32                       18  126 GB (too much)
// DTYPES: bf16    bf16       f32     f32                       16  112 GB (too much)
// DTYPES: bf16    bf16       none    f32                       12       84 GB (fits)
// DTYPES: bf16    bf16       none    bf16                       8       56 GB (fits)
// DTYPES: f16     f32        f32     f32                       18  126 GB (too much)

// One strategy: rows by axes, uneven shards' padding, whether it fits and what to blame.
// RUN: ulsc memory --params 70e9 --mesh dp_shard=32,dp_replicate=2 --strategy hsdp --dtype bf16 --grad-dtype bf16 --device-memory 32GiB | FileCheck %s --check-prefix=HSDP
// HSDP: on 64 devices (dp_replicate=2,dp_shard=32)
// HSDP: strategy hsdp
// HSDP: ranks 0 to 63, alike
// HSDP: moments {{ *}}17,500,000,000 B
// HSDP-NEXT: sharded over dp_shard  17,500,000,000 B
// HSDP: state {{ *}}35,000,000,000 B
// HSDP: device memory 34,359,738,368 B (34.36 GB): 640.26 MB too much
// HSDP: to blame: moments 17.5 GB, sharded over dp_shard, copied along dp_replicate
// HSDP: on the same mesh --strategy zero3 takes 17.5 GB, which fits
// RUN: ulsc memory --params 10 --mesh dp=4,tp=3 --strategy fsdp+tp | FileCheck %s --check-prefix=PADDING
// PADDING: strategy zero3+tp
// PADDING: moments {{ *}}8 B
// PADDING: padding in these {{ *}}16 B
// PADDING: (padding is that of rank 11, where it ends up)

// RUN: ulsc memory --params 70e9 --min-devices --device-memory 80e9 --mesh tp=8 --dtype bf16 --grad-dtype bf16 | FileCheck %s --check-prefix=FEWEST
// FEWEST: fewest devices on which the state fits 80,000,000,000 B (80 GB)
// FEWEST: ddp         none              140 GB  140,000,000,000 B  60 GB too much on 16,777,216 devices, too
// 12 bytes of each of ⌈8.75e9 / 3⌉ parameters, and 4 of 8.75e9.
// FEWEST: zero1         24  dp=3,tp=8  70.00 GB   70,000,000,004 B  fits, 10.00 GB left
// FEWEST: zero2         16  dp=2,tp=8 78.75 GB   78,750,000,000 B  fits, 1.25 GB left
// FEWEST: zero3         16  dp=2,tp=8    70 GB   70,000,000,000 B  fits, 10 GB left

// Of a model, without a batch: its state.
// RUN: ulsc memory %S/../../Frontend/models/llama-3.1-70b.json --devices 64 --dtype bf16 --grad-dtype bf16 | FileCheck %s --check-prefix=LLAMA
// LLAMA: llama-3.1-70b: 70,553,706,496 parameters on 64 devices (dp=64)
// LLAMA: ddp {{.*}} 1,128.86 GB  1,128,859,303,936 B
// LLAMA: zero1 {{.*}} 295.44 GB    295,443,645,952 B
// LLAMA: zero2 {{.*}} 156.54 GB    156,541,036,288 B
// LLAMA: zero3 {{.*}} 17.64 GB     17,638,426,624 B
// LLAMA: not included: they need --seq N and --batch N
// RUN: ulsc memory %S/../../Frontend/models/llama-3.1-70b.json --mesh tp=8 --min-devices --device-memory 80e9 | FileCheck %s --check-prefix=FEWEST-OF-MODEL
// FEWEST-OF-MODEL: zero3         16  dp=2,tp=8   70.56 GB   70,562,938,880 B  fits, 9.44 GB left

// Frozen parameters are only stored; norms are replicated over tp.
// RUN: printf '{"frozen": ["model.embed_tokens.weight"]}' > %t.recipe.json
// RUN: ulsc memory %S/../../../examples/llama-small --recipe %t.recipe.json --mesh dp=2,tp=2 --strategy zero1+tp | FileCheck %s --check-prefix=FROZEN
// 853,120 parameters, of them 32,768 in the table, 1,152 in norms.
// FROZEN: parameters {{ *}}1,708,544 B
// FROZEN-NEXT: sharded over tp {{ *}}1,703,936 B
// FROZEN-NEXT: replicated {{ *}}4,608 B
// FROZEN-NEXT: gradients {{ *}}1,643,008 B
// FROZEN-NEXT: sharded over tp {{ *}}1,638,400 B
// FROZEN-NEXT: replicated {{ *}}4,608 B
// FROZEN-NEXT: moments {{ *}}1,643,008 B
// FROZEN-NEXT: sharded over dp,tp {{ *}}1,638,400 B
// FROZEN-NEXT: sharded over dp {{ *}}4,608 B

// With a batch: the compiler's own plan. 50,257 words are padded to 50,260: 3 rows of 768 on the last rank, in four tensors.
// RUN: ulsc memory %S/../../Frontend/models/gpt2.json --mesh dp=2,tp=4 --seq 64 --batch 8 --device-memory 500e6 --json %t.json 2>/dev/null | FileCheck %s --check-prefix=EXACT
// EXACT: gpt2: 124,439,808 parameters on 8 devices (dp=2,tp=4)
// EXACT: strategy ddp+tp
// EXACT: ranks 0 to 7, alike
// EXACT: parameters {{ *}}126,971,904 B
// EXACT-NEXT: sharded over tp {{ *}}123,598,848 B
// EXACT-NEXT: replicated {{ *}}3,373,056 B
// EXACT: optimizer {{ *}}253,943,808 B
// EXACT: activations
// EXACT-NEXT: temporaries
// EXACT-NEXT: communication
// EXACT-NEXT: workspaces
// EXACT-NEXT: peak
// EXACT-NEXT: padding in these {{ *}}36,864 B
// EXACT: state in the plan 507,887,616 B, by the formula 507,887,616 B
// EXACT: device memory 500,000,000 B (500 MB): {{.*}} too much
// EXACT: to blame: optimizer 253.94 MB, sharded over tp, copied along dp
// EXACT: on the same mesh --strategy zero1+tp takes {{.*}} MB, which fits
// A stronger strategy that is not enough, and what else helps; what is told of plans alone needs one.
// RUN: ulsc memory %S/../../../examples/llama-small --mesh dp=2,tp=2 --seq 128 --batch 16 --device-memory 3MB 2>/dev/null | FileCheck %s --check-prefix=TIGHT
// TIGHT: device memory 3,000,000 B (3 MB): {{.*}} too much
// TIGHT: on the same mesh --strategy zero{{[123]}}+tp takes {{.*}} MB, which is still too much
// TIGHT: --memory-limit 3000000 has the compiler look for what to compute again so that it fits; a smaller micro-batch, shorter sequences, a larger tp, or sp beside tp make activations smaller
// RUN: not ulsc memory %S/../../../examples/llama-small --mesh dp=2 --memory-limit 30MB --recompute full 2>&1 | FileCheck %s --check-prefix=NOPLAN
// NOPLAN: error: --memory-limit is about activations, temporaries and communication, which are not told: they need --seq N and --batch N
// NOPLAN: error: --recompute is about activations
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json
// JSON: "blame": {
// JSON: "fits": false
// JSON: "margin": -
// JSON: "padding": 36864
// JSON: "schema": "ulsc.memory/1"
// JSON: "strategy": "ddp+tp"

// Without lengths only the state is told; the document alone goes to stdout.
// RUN: ulsc memory %S/../../Frontend/models/gpt2.json --devices 2 --moment-dtype bf16 --json - | FileCheck %s --check-prefix=DOCUMENT
// DOCUMENT: {{^}}{
// DOCUMENT: "not_included": "they need --seq N and --batch N"
// DOCUMENT: "strategies": [

// Sharded state lies in the plan as the formula says; gradients under way are a part of their own.
// RUN: ulsc memory %S/../../../examples/llama-small --mesh dp_replicate=2,dp_shard=2 --seq 64 --batch 8 --strategy hsdp 2>/dev/null | FileCheck %s --check-prefix=SHARDED
// 853,120 parameters over dp_shard=2.
// SHARDED: parameters {{ *}}1,706,240 B
// SHARDED-NEXT: sharded over dp_shard {{ *}}1,706,240 B
// SHARDED: gradients
// SHARDED-NEXT: sharded over dp_shard {{ *}}1,706,240 B
// SHARDED-NEXT: under way
// SHARDED: optimizer {{ *}}3,412,480 B
// SHARDED: state in the plan 6,824,960 B and {{.*}} B under way, by the formula 6,824,960 B

// Serving: weights, cache, how many sequences fit; heads that tp does not divide are on every rank.
// RUN: ulsc memory %S/../../Frontend/models/llama-3.1-70b.json --inference --seq 32768 --concurrency 3 --dtype bf16 --device-memory 180e9 | FileCheck %s --check-prefix=SERVE
// SERVE: weights {{ *}}141,107,412,992 B
// SERVE: key/value cache of a token {{ *}}327,680 B
// SERVE: key/value cache of a sequence of 32,768 {{ *}}10,737,418,240 B
// SERVE: key/value cache of 3 sequences {{ *}}32,212,254,720 B
// SERVE: total {{ *}}173,319,667,712 B
// SERVE: fits, 6.68 GB left
// SERVE: largest concurrency 3 sequences of 32,768 tokens
// RUN: ulsc memory %S/../../Frontend/models/llama-3.1-70b.json --inference --seq 32768 --concurrency 5 --dtype bf16 --mesh dp=2,tp=4 --device-memory 80e9 | FileCheck %s --check-prefix=REPLICAS
// REPLICAS: 2 replicas share out the sequences
// REPLICAS: key/value cache of a token {{ *}}81,920 B
// REPLICAS: key/value cache of 3 sequences {{ *}}8,053,063,680 B
// REPLICAS: largest concurrency 32 sequences of 32,768 tokens, 16 a replica
// RUN: ulsc memory %S/../../Frontend/models/llama-3.1-70b.json --inference --seq 1024 --dtype bf16 --mesh tp=16 | FileCheck %s --check-prefix=HEADS
// HEADS: key/value cache of a token {{ *}}327,680 B
// HEADS: the key/value heads are replicated: 16 ranks do not divide them, so that each holds all

// What a recipe says of storage holds, whatever the strategy does; 119,104 parameters of 4 bytes.
// RUN: printf '{"storage": {"optimizer": "dp", "gradients": "dp", "parameters": "dp"}}' > %t.storage.json
// RUN: ulsc memory %S/../../golden/llama --devices 4 --strategy ddp --recipe %t.storage.json | FileCheck %s --check-prefix=STORAGE
// STORAGE: parameters {{ *}}119,104 B
// RUN: printf '{"strategy": "zero3", "storage": {"parameters": null}}' > %t.whole.json
// RUN: ulsc memory %S/../../golden/llama --devices 4 --recipe %t.whole.json | FileCheck %s --check-prefix=WHOLE
// WHOLE: parameters {{ *}}476,416 B
// WHOLE: gradients {{ *}}119,104 B
// Storage is over dp alone, whatever else distributes the batch.
// RUN: printf '{"rules": {"batch": ["dp", "x"]}}' > %t.batch.json
// RUN: ulsc memory %S/../../golden/llama --mesh dp=2,x=2 --strategy zero3 --recipe %t.batch.json | FileCheck %s --check-prefix=BATCH
// BATCH: parameters {{ *}}238,208 B
// What a pin cuts over dp already is not cut again.
// RUN: ulsc memory %S/../../golden/llama --mesh dp=2 --strategy zero3 --shard '*embed*=-,dp' --seq 16 --batch 8 2>/dev/null | FileCheck %s --check-prefix=PINNED
// PINNED: state in the plan 952,832 B{{.*}}by the formula 952,832 B
// Sequence parallelism changes no state.
// RUN: ulsc memory %S/../../golden/llama --mesh dp=2,tp=2 --strategy zero3+tp+sp | FileCheck %s --check-prefix=SEQUENCE
// SEQUENCE: strategy zero3+tp+sp
// SEQUENCE: parameters {{ *}}119,424 B
// RUN: ulsc memory --params 1e9 --mesh dp=4,tp=2 --strategy zero3+tp+sp | FileCheck %s --check-prefix=SEQUENCE-OF-COUNT
// SEQUENCE-OF-COUNT: parameters {{ *}}500,000,000 B
// Stages of a pipeline have rows of their own.
// RUN: ulsc memory %S/../../golden/llama --mesh pp=2,dp=2 --seq 16 --batch 16 2>/dev/null | FileCheck %s --check-prefix=STAGES
// STAGES: ranks 0 to 1, alike, stage 0
// STAGES: ranks 2 to 3, alike, stage 1
// STAGES: state in the plan 953,344 B, by the formula 953,344 B
// Of several stages, the one that takes most is held against a device.
// RUN: ulsc memory %S/../../golden/llama --mesh pp=2,dp=2 --seq 16 --batch 16 --device-memory 1e6 --json %t.stages.json 2>/dev/null | FileCheck %s --check-prefix=BLAMED
// BLAMED: device memory 1,000,000 B (1 MB): {{.*}} too much on stage [[STAGE:[01]]]
// BLAMED-NEXT: to blame:
// RUN: FileCheck %s --check-prefix=BLAMED-JSON --input-file %t.stages.json
// BLAMED-JSON: "blame": {
// BLAMED-JSON: "stage": {{[01]}}
// BLAMED-JSON: },
