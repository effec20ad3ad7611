// Runs of calls, embedding and head included, whose longest is as short as can be.
// RUN: mkdir -p %t
// RUN: ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --microbatches 4 --emit=sharded -o %t/sharded.mlir
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks | FileCheck %s
// CHECK: uls.call @embed({{.*}} {dist.chunk = 0 : i64
// CHECK: uls.call @layer({{.*}} {dist.chunk = 0 : i64{{.*}}layer = 0 : i64
// CHECK: uls.call @layer({{.*}} {dist.chunk = 1 : i64{{.*}}layer = 1 : i64
// CHECK: uls.call @head({{.*}} {dist.chunk = 1 : i64
// RUN: ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="schedule=interleaved chunks=2" | FileCheck %s --check-prefix=FOUR
// FOUR: uls.call @layer({{.*}} {dist.chunk = 1 : i64{{.*}}layer = 0 : i64
// FOUR: uls.call @layer({{.*}} {dist.chunk = 2 : i64{{.*}}layer = 1 : i64
// FOUR: uls.call @head({{.*}} {dist.chunk = 3 : i64

// RUN: not ulsc-opt %t/sharded.mlir --ulsc-assign-chunks="schedule=interleaved chunks=3" 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: error: the model is 4 blocks, embedding and head included, too few for 6 chunks (pp=2 × 3 a rank); the most that it can be cut into is 4: lower --pp-chunks to 2, or take a smaller pp
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=8 --seq 16 --batch 8 --emit=staged 2>&1 | FileCheck %s --check-prefix=COMMAND
// COMMAND: error: the model is 4 blocks, embedding and head included, too few for 8 chunks (pp=8 × 1 a rank); the most that it can be cut into is 4: take a smaller pp
// What the schedule has where nobody says how many, too.
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=4 --seq 16 --batch 8 --microbatches 4 --pp-schedule interleaved --emit=staged 2>&1 | FileCheck %s --check-prefix=USUAL
// USUAL: too few for 8 chunks (pp=4 × 2 a rank); the most that it can be cut into is 4: lower --pp-chunks to 1, or take a smaller pp
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=4 --seq 16 --batch 8 --microbatches 4 --pp-schedule zbv --emit=staged 2>&1 | FileCheck %s --check-prefix=FIXED
// FIXED: too few for 8 chunks (pp=4 × 2 a rank); the most that it can be cut into is 4: take a schedule of one chunk a rank, as --pp-schedule 1f1b, or a smaller pp
// RUN: not ulsc-opt %t/sharded.mlir --ulsc-stage-pipeline="schedule=zb-3" 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: schedule zb-3 is no schedule; expected one of gpipe, 1f1b, interleaved, zb-h1, zb-h2, zbv; did you mean zb-h1
// Without an axis pp nothing changes.
// RUN: ulsc compile %S/../../golden/llama --mesh dp=2 --seq 16 --batch 8 --emit=sharded -o - | ulsc-opt --ulsc-assign-chunks | FileCheck %s --check-prefix=NONE
// NONE-NOT: dist.chunk
