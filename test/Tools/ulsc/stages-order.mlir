// Stages run in order, each once; passes of the lowering refuse what earlier ones should have taken away.
// RUN: ulsc compile %S/../../../examples/llama-small --mesh dp=2,tp=2 --seq 16 --batch 4 --emit=exec --dump-dir %t -o /dev/null 2>/dev/null
// RUN: not ulsc-opt %t/02-train.mlir --ulsc-partition-pipeline 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: is at stage train, but stage local takes one at stage staged; run the stages in order, each once
// RUN: not ulsc-opt %t/02-train.mlir --ulsc-schedule-pipeline 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE: error: is at stage train, but stage scheduled takes one at stage local
// RUN: not ulsc-opt %t/07-exec.mlir --ulsc-lower-pipeline 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: is at stage exec, but stage exec takes one at stage scheduled
// RUN: not ulsc-opt %t/03-sharded.mlir --ulsc-graph-pipeline 2>&1 | FileCheck %s --check-prefix=FIRST
// FIRST: error: is at stage sharded, but stage graph takes a module as imported
// RUN: not ulsc-opt %t/05-local.mlir --ulsc-assign-buffers 2>&1 | FileCheck %s --check-prefix=BUFFERS
// BUFFERS: error: {{.*}} is left where values become buffers; run ulsc-lower-pipeline on a module of stage scheduled
// RUN: not ulsc-opt %t/06-scheduled.mlir --ulsc-decompose-model-ops 2>&1 | FileCheck %s --check-prefix=DECOMPOSE
// DECOMPOSE: error: 'uls.update_rule' op is left where ops become kernels; run ulsc-lower-state first
