// RUN: not ulsc compile 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: compile needs -o FILE for the program, or --emit=STAGE to print a module
// RUN: not ulsc compile --emit=graph 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL: error: needs a MODEL: a config.json or a directory that holds one
// RUN: not ulsc compile m.json --emit=graph 2>&1 | FileCheck %s --check-prefix=SEQ
// SEQ: error: --seq is required
// RUN: not ulsc compile m.json --seq 8 --emit=graph 2>&1 | FileCheck %s --check-prefix=BATCH
// BATCH: error: --batch is required
// RUN: not ulsc compile m.json --seq -8 --emit=graph 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: --seq is "-8", expected a whole number from 1
// RUN: not ulsc compile m.json --micro-bach 2 --emit=graph 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: error: unknown option --micro-bach; did you mean --micro-batch
// RUN: not ulsc compile m.json --emit=grph 2>&1 | FileCheck %s --check-prefix=GRPH
// GRPH: error: --emit is "grph", expected one of graph, train, sharded, staged, local, scheduled, exec, llvm, ptx, exe; did you mean graph
// RUN: not ulsc compile m.json --seq 8 --seq 9 --emit=graph 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --seq is given twice
// RUN: not ulsc compile m.json --emit=graph --seq 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: error: --seq needs a value: N

// An option by its last word, of another command, and an axis of the mesh.
// RUN: not ulsc compile m.json --pp 2 --schedule gpipe --timeline t.html --emit=graph 2>&1 | FileCheck %s --check-prefix=MEANT
// MEANT: error: unknown option --pp; mesh axes are given together, as --mesh pp=2
// MEANT: error: unknown option --schedule; did you mean --pp-schedule
// MEANT: error: unknown option --timeline; ulsc explain has it
// RUN: not ulsc explain m.json --schedule gpipe --frobnicate 3 2>&1 | FileCheck %s --check-prefix=LAST
// LAST: error: unknown option --schedule; did you mean --pp-schedule
// LAST: error: unknown option --frobnicate; ulsc explain --help lists all

// An empty value is no absent option.
// RUN: not ulsc compile m.json --seq 8 --batch 1 --mesh "" --strategy= --recipe "" --emit=graph 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: --mesh is empty, expected AXIS=SIZE,...; give one or leave the option out
// EMPTY: error: --strategy is empty, expected NAME+...
// EMPTY: error: --recipe is empty, expected FILE

// Options and commands of later work are refused by name.
// RUN: not ulsc compile m.json --allow all_reduce:tp --emit=graph 2>&1 | FileCheck %s --check-prefix=LATER
// LATER: error: --allow is not supported yet; see the collectives with ulsc explain
// RUN: not ulsc compile m.json --seq 8 --batch 1 --dtype fp16 --master-dtype none --emit=graph 2>&1 | FileCheck %s --check-prefix=F16
// F16: error: --master-dtype none is not legal with --dtype f16, whose smallest steps are too large for updates; use f32, or --dtype bf16
// RUN: not ulsc compile m.json --seq 8 --batch 1 --dtype bf6 --emit=graph 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: error: --dtype is "bf6", expected one of f32, fp32, float32, bf16, bfloat16, f16, fp16, float16; did you mean bf16
// RUN: not ulsc compile m.json --seq 8 --batch 1 --grad-dtype f16 --emit=graph 2>&1 | FileCheck %s --check-prefix=GRAD
// GRAD: error: --grad-dtype is "f16", expected one of f32, fp32, float32, bf16, bfloat16; did you mean bf16
// RUN: not ulsc compile m.json --seq 8 --batch 1 --reduce-dtype half --emit=graph 2>&1 | FileCheck %s --check-prefix=REDUCE
// REDUCE: error: --reduce-dtype is "half", expected one of f32, fp32, float32, bf16, bfloat16
// RUN: not ulsc compile m.json --seq 8 --batch 1 --master-dtype bf16 --emit=graph 2>&1 | FileCheck %s --check-prefix=MASTER
// MASTER: error: --master-dtype is "bf16", expected one of f32, fp32, float32, none
// RUN: not ulsc compile m.json --seq 8 --batch 1 --moment-dtype f8 --emit=graph 2>&1 | FileCheck %s --check-prefix=MOMENT
// MOMENT: error: --moment-dtype is "f8", expected one of f32, fp32, float32, bf16, bfloat16
// RUN: not ulsc compile m.json --seq 8 --batch 1 --dtype bf16 --stochastic-rounding on --emit=graph 2>&1 | FileCheck %s --check-prefix=ROUND
// ROUND: error: --stochastic-rounding on is of state in bf16, and there is none: add --moment-dtype bf16, or --dtype bf16 --master-dtype none
// RUN: not ulsc plan m.json 2>&1 | FileCheck %s --check-prefix=PLAN
// PLAN: error: ulsc plan is not supported yet
// RUN: not ulsc compil 2>&1 | FileCheck %s --check-prefix=COMMAND
// COMMAND: error: unknown command "compil"; did you mean compile

// batch = micro-batch × microbatches × data ranks.
// RUN: not ulsc compile m.json --seq 8 --batch 10 --micro-batch 4 --mesh dp=2 --emit=graph 2>&1 | FileCheck %s --check-prefix=MICRO
// MICRO: error: --batch 10 is not a multiple of micro-batch 4 × 2 data ranks; the nearest that is: 8 or 16
// RUN: not ulsc compile m.json --seq 8 --batch 16 --micro-batch 2 --microbatches 2 --mesh dp=2 --emit=graph 2>&1 | FileCheck %s --check-prefix=EXACT
// EXACT: error: --batch 16 is not 2 microbatches × micro-batch 2 × 2 data ranks; the nearest that is: 8

// A stage that a build lacks, a plugin that is none, a pipeline that can't be read.
// RUN: not ulsc compile m.json --seq 8 --batch 1 --load-pass-plugin=absent.so --emit=graph 2>&1 | FileCheck %s --check-prefix=PLUGIN
// PLUGIN: error: pass plugin absent.so:
// RUN: not ulsc compile m.json --seq 8 --batch 1 --pass-pipeline-at=grph:canonicalize --emit=graph 2>&1 | FileCheck %s --check-prefix=AT
// AT: error: --pass-pipeline-at is "grph:canonicalize", expected STAGE:PIPELINE {{.*}}; did you mean graph
// RUN: not ulsc compile %S/../../../examples/llama-small --seq 8 --batch 1 --pass-pipeline-at=graph:no-such-pass --emit=graph 2>&1 | FileCheck %s --check-prefix=PASS
// PASS: error: the pipeline after stage graph can't be read: {{.*}}no-such-pass
// RUN: not ulsc compile %S/../../../examples/llama-small --seq 8 --batch 1 --emit=graph -o %t/no/such/place 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: error: {{.*}}no/such/place can't be written: there is no folder {{.*}}no/such; make it first
// RUN: not ulsc compile %S/../../../examples/llama-small --seq 32 --batch 4 -o %t.none/x 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: {{.*}}/x can't be written: there is no folder {{.*}}.none; make it first
// RUN: not ulsc compile %S/../../../examples/llama-small --seq 32 --batch 4 --threads 5000 --emit=graph 2>&1 | FileCheck %s --check-prefix=THREADS
// THREADS: error: --threads is 5000, expected at most 4096
