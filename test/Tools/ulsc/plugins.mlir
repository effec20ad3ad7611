// Pipelines after a stage see what the stage left, in the order given; with and without builtin.module around them.
// RUN: ulsc compile %S/../../../examples/llama-small --seq 32 --batch 8 --mesh tp=2 --pass-pipeline-at=local:ulsc-cut-joint-blocks --emit=local -o - 2>/dev/null | FileCheck %s --check-prefix=CUT
// RUN: ulsc compile %S/../../../examples/llama-small --seq 32 --batch 8 --mesh tp=2 --pass-pipeline-at='local:builtin.module(ulsc-cut-joint-blocks)' --pass-pipeline-at='local: builtin.module(ulsc-bucket-gradients,cse) ' --emit=local -o - 2>/dev/null | FileCheck %s --check-prefix=CUT
// CUT: uls.block @layer.fwd
// CUT: uls.block @layer.bwd
// A pipeline after a stage that is not run is not run either.
// RUN: ulsc compile %S/../../../examples/llama-small --seq 32 --batch 8 --pass-pipeline-at=exec:ulsc-cut-joint-blocks --emit=local -o - 2>/dev/null | FileCheck %s --check-prefix=UNCUT
// UNCUT-NOT: uls.block @layer.fwd

// Errors name what is wrong and leave no output.
// RUN: rm -f %t.out
// RUN: not ulsc compile %S/../../../examples/llama-small --seq 32 --batch 8 --pass-pipeline-at='graph:builtin.module(cse' --emit=graph -o %t.out 2>&1 | FileCheck %s --check-prefix=PAREN
// PAREN: error: the pipeline after stage graph can't be read:
// RUN: not ulsc compile %S/../../../examples/llama-small --seq 32 --batch 8 --pass-pipeline-at=graph:cse,cze --emit=graph -o %t.out 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: the pipeline after stage graph can't be read: {{.*}}cze
// RUN: not ulsc compile %S/../../../examples/llama-small --seq 32 --batch 8 --pass-pipeline-at='train:cse{optimizer=adam}' --emit=train -o %t.out 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: error: the pipeline after stage train can't be read: {{.*}}no such option optimizer
// RUN: not ulsc compile %S/../../../examples/llama-small --seq 32 --batch 8 --pass-pipeline-at='graph:ulsc-write-update-rule{optimizer=adam}' --emit=graph -o %t.out 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: error: unknown optimizer "adam"; known:
// RUN: not ulsc compile %S/../../../examples/llama-small --seq 32 --batch 8 --pass-pipeline-at=train:ulsc-write-step --emit=train -o %t.out 2>&1 | FileCheck %s --check-prefix=FAILS
// FAILS: error: {{.*}}is there already
// RUN: not ulsc compile m.json --seq 8 --batch 1 --pass-pipeline-at=graph --emit=graph -o %t.out 2>&1 | FileCheck %s --check-prefix=NOPIPELINE
// RUN: not ulsc compile m.json --seq 8 --batch 1 --pass-pipeline-at=graph: --emit=graph -o %t.out 2>&1 | FileCheck %s --check-prefix=NOPIPELINE
// NOPIPELINE: error: --pass-pipeline-at is "graph{{:?}}", expected STAGE:PIPELINE with a stage of graph, train, sharded, staged, local, scheduled, exec, llvm
// A file that is no library, a library that is no plugin; all of them are told.
// RUN: not ulsc compile m.json --seq 8 --batch 1 --load-pass-plugin=%s --load-pass-plugin=$(dirname $(command -v ulsc))/../lib/libULSC.so --load-dialect-plugin=absent.so --emit=graph -o %t.out 2>&1 | FileCheck %s --check-prefix=PLUGIN
// PLUGIN: error: pass plugin {{.*}}plugins.mlir: {{.*}}
// PLUGIN: error: pass plugin {{.*}}libULSC.so: {{.*}}
// PLUGIN: error: dialect plugin absent.so:
// RUN: not ls %t.out
