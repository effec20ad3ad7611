// Numbers: no overflow, no half of a parameter.
// RUN: not ulsc memory --params 1e30 2>&1 | FileCheck %s --check-prefix=HUGE
// HUGE: error: --params is "1e30", which is too large; expected a whole number from 1 to 1,000,000,000,000,000, as 70e9
// RUN: not ulsc memory --params=-5 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: --params is "-5", expected a whole number from 1
// RUN: not ulsc memory --params 1.5 2>&1 | FileCheck %s --check-prefix=HALF
// HALF: error: --params is "1.5", which is not whole; expected
// RUN: not ulsc memory --params 7e9 --device-memory 80XB 2>&1 | FileCheck %s --check-prefix=UNIT
// UNIT: error: --device-memory is "80XB", expected a whole number from 1 to {{.*}}, as 80e9 or 80GB (1 GB is 1e9 bytes) or 80GiB
// RUN: not ulsc memory --params 7e9 --device-memory 1e30 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY: error: --device-memory is "1e30", which is too large
// RUN: not ulsc memory --params 7e9 --devices 99999999 2>&1 | FileCheck %s --check-prefix=DEVICES
// DEVICES: error: --devices is 99999999, expected at most 16777216
// RUN: not ulsc memory %S/../../Frontend/models/llama-3.1-70b.json --inference --seq 1024 --concurrency 1099511627776 2>&1 | FileCheck %s --check-prefix=CACHE
// CACHE: error: --concurrency is 1099511627776, whose key/value cache has more than 2^63 bytes; give a smaller one
// RUN: not ulsc memory %S/../../../examples/llama-small --batch x --strategy zero1 2>&1 | FileCheck %s --check-prefix=BATCH
// BATCH: error: --batch is "x", expected a whole number from 1

// What is missing.
// RUN: not ulsc memory 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: error: ulsc memory needs a MODEL (a config.json or a directory that holds one), or --params N without one, as --params 70e9
// RUN: not ulsc memory --params 70e9 --min-devices 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: error: --min-devices needs --device-memory BYTES, the memory of one device, as --device-memory 80e9
// RUN: not ulsc memory m.json --inference 2>&1 | FileCheck %s --check-prefix=SEQ
// SEQ: error: --inference needs --seq N, the tokens that a sequence may have, as --seq 32768
// RUN: not ulsc memory m.json --concurrency 4 2>&1 | FileCheck %s --check-prefix=CONCURRENCY
// CONCURRENCY: error: --concurrency is 4 without --inference, whose sequences it counts; add --inference or take it out (training has --batch)
// RUN: not ulsc memory %S/../../../examples/llama-small --seq 32 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: error: --batch is required
// RUN: not ulsc memory absent.json 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: absent.json: error: can't be read: No such file or directory
// RUN: not ulsc memory --params 7e9 --json %t.none/x 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: {{.*}}.none/x can't be written: there is no folder

// What contradicts itself.
// RUN: not ulsc memory --params 70e9 m.json 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: --params 70e9 and the MODEL "m.json" contradict each other: a model has its own number of parameters; take one out
// RUN: not ulsc memory --params 70e9 --seq 5 --recipe r.json --inference 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL-DAG: error: --seq has no meaning with --params: it asks about a model's tensors; give a MODEL, or take it out
// MODEL-DAG: error: --recipe has no meaning with --params
// MODEL-DAG: error: --inference has no meaning with --params
// RUN: not ulsc memory m.json --inference --seq 8 --grad-dtype bf16 --strategy zero1 2>&1 | FileCheck %s --check-prefix=TRAINING
// TRAINING-DAG: error: --grad-dtype has no meaning with --inference: it is of training; take one of them out
// TRAINING-DAG: error: --strategy has no meaning with --inference
// RUN: not ulsc memory --params 70e9 --min-devices --device-memory 80e9 --devices 3 2>&1 | FileCheck %s --check-prefix=SOUGHT
// SOUGHT: error: --devices 3 contradicts --min-devices, which looks for that number; take one out
// RUN: not ulsc memory --params 70e9 --min-devices --device-memory 80e9 --mesh dp=3 2>&1 | FileCheck %s --check-prefix=FIXED
// FIXED: error: --mesh is "dp=3": --min-devices looks for the size of dp; write dp=* or leave it out
// RUN: not ulsc memory --params 70e9 --min-devices --device-memory 80e9 --mesh dp_replicate=2 2>&1 | FileCheck %s --check-prefix=REPLICATE
// REPLICATE: error: --mesh is "dp_replicate=2", whose axes are of hsdp, but --min-devices looks for the size of dp; add --strategy hsdp, or take them out
// RUN: not ulsc memory m.json --min-devices --device-memory 80e9 --recipe r.json 2>&1 | FileCheck %s --check-prefix=RECIPE
// RECIPE: error: --min-devices with --recipe needs --mesh, as tp=8 or dp=*: a recipe's own mesh says how many devices there are
// RUN: not ulsc memory --params 70e9 --min-devices --device-memory 80e9 --compare-dtype 2>&1 | FileCheck %s --check-prefix=QUESTIONS
// QUESTIONS: error: --min-devices and --compare-dtype ask different things; take one out

// Dtypes, strategies, meshes.
// RUN: not ulsc memory --params 70e9 --dtype f8 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: error: --dtype is "f8", expected one of f32, {{.*}}; did you mean f32
// RUN: not ulsc memory --params 70e9 --master-dtype bf16 2>&1 | FileCheck %s --check-prefix=MASTER
// MASTER: error: --master-dtype is bf16 beside parameters stored in f32, whose digits it lacks; expected f32, none or --dtype's
// RUN: not ulsc memory --params 70e9 --strategy zero4 2>&1 | FileCheck %s --check-prefix=STRATEGY
// STRATEGY: error: --strategy is "zero4" with "zero4", expected of none, ddp, zero1, zero2, zero3, fsdp, hsdp, tp, sp, joined by +; did you mean zero1
// RUN: not ulsc memory --params 70e9 --strategy zero1+fsdp 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: error: --strategy is "zero1+fsdp", which names both zero1 and fsdp; keep one of them
// RUN: not ulsc memory --params 70e9 --strategy zero1+tp --devices 4 2>&1 | FileCheck %s --check-prefix=NOTP
// NOTP: error: --mesh is "dp=4" without the axis tp, which strategy tp needs; add tp=1 or more, or take tp out
// RUN: not ulsc memory --params 70e9 --strategy zero1 --mesh tp=2,dp=2 2>&1 | FileCheck %s --check-prefix=TP
// TP: error: --mesh is "dp=2,tp=2" with an axis tp that --strategy does not use; add +tp to the strategy
// RUN: not ulsc memory --params 70e9 --strategy tp --mesh tp=2,dp=2 2>&1 | FileCheck %s --check-prefix=DP
// DP: error: --mesh is "dp=2,tp=2" with data ranks that --strategy does not use; add +ddp
// RUN: not ulsc memory --params 70e9 --strategy hsdp --devices 8 2>&1 | FileCheck %s --check-prefix=HSDP
// HSDP: error: --mesh is "dp=8" without the axes dp_replicate and dp_shard, which strategy hsdp needs; as --mesh dp_replicate=2,dp_shard=32
// RUN: not ulsc memory --params 70e9 --mesh ddp=8 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: error: --mesh is "ddp=8": axis "ddp" is unknown here; expected AXIS=SIZE,... of dp_replicate, dp_shard, dp, tp; did you mean dp
// RUN: not ulsc memory --params 70e9 --mesh dp=2,dp=2 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --mesh is "dp=2,dp=2": axis dp is given twice; keep it once
// RUN: not ulsc memory --params 70e9 --mesh dp=x 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: error: --mesh is "dp=x": axis dp has size "x", expected a whole number from 1 to 16777216, or * for the remaining devices
// RUN: not ulsc memory --params 70e9 --mesh dp=3,tp=* --devices 4 2>&1 | FileCheck %s --check-prefix=REST
// REST: error: --mesh is "dp=3,tp=*": --devices 4 is no multiple of the other axes' 3; the nearest that is one is 3
// RUN: not ulsc memory --params 70e9 --mesh dp=3 --devices 4 2>&1 | FileCheck %s --check-prefix=PRODUCT
// PRODUCT: error: --mesh is "dp=3": has 3 devices, but --devices says 4; give one axis the size * or make them agree
// RUN: not ulsc memory --params 70e9 --mesh dp=16777216,tp=16777216 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: --mesh is "dp=16777216,tp=16777216": has more than 16777216 devices; make an axis smaller

// A batch whose bytes no one could count.
// RUN: not ulsc memory %S/../../../examples/llama-small --seq 1 --batch 1099511627776 2>&1 | FileCheck %s --check-prefix=TOKENS
// TOKENS: error: a microbatch has 1099511627776 sequences of 1 tokens; more than 4294967296 tokens are not supported; take more --microbatches

// The formula does not know what stages hold.
// RUN: not ulsc memory %S/../../golden/llama --mesh pp=2,dp=2 2>&1 | FileCheck %s --check-prefix=STAGES
// STAGES: error: the mesh has pp=2: stages hold different parameters, which the plan tells, not the formula; they need --seq N and --batch N
// RUN: not ulsc memory --params 7e9 --mesh pp=2,dp=2 2>&1 | FileCheck %s --check-prefix=NO-STAGES
// RUN: not ulsc memory %S/../../../examples/llama-small --mesh pp=4 --inference --seq 128 --concurrency 8 2>&1 | FileCheck %s --check-prefix=SERVED
// SERVED: error: the mesh has pp=4: --inference tells no pipeline stages, only ranks that are alike; take pp out (a larger tp divides weights and cache), or ask about training, without --inference
// NO-STAGES: error: --mesh is "pp=2,dp=2": stages of a pipeline hold different parameters, which the plan tells: give a MODEL with --seq N and --batch N
