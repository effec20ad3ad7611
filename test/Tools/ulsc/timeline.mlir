// What a step takes and how ranks spend it, of the compiled schedule with the costs of the cluster description.

// Chunks of a small model on devices that are far quicker: ranks mostly wait for messages. As many microbatches are in flight as
// the schedule is known for.
// RUN: ulsc explain %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --microbatches 4 --report %t.json 2>/dev/null | FileCheck %s
// CHECK: predicted step: {{[0-9.]+}} us with 2 stages, schedule 1f1b, idle {{[0-9.]+}}%
// CHECK-NEXT: stage work of it waits waits transfers waits collectives idle in flight peak memory
// CHECK-NEXT: 0 {{[0-9.]+}} us 0.000 us {{[0-9.]+}} us {{[0-9.]+}} us {{[0-9.]+}}% 2 {{[0-9.]+}} MiB
// CHECK-NEXT: 1 {{[0-9.]+}} us 0.000 us {{[0-9.]+}} us {{[0-9.]+}} us {{[0-9.]+}}% 1 {{[0-9.]+}} MiB
// RUN: ulsc explain %S/../../../examples/llama-small --mesh pp=4 --seq 16 --batch 8 --microbatches 8 --pp-schedule gpipe 2>/dev/null | FileCheck %s --check-prefix=GPIPE
// GPIPE: 4 stages, schedule gpipe
// GPIPE-COUNT-4: % 8 {{[0-9.]+}} {{[KM]}}iB
// Backward calls in halves keep what they need until the second: rank 0 of zb-h1 as much as rank 0 of 1f1b.
// RUN: ulsc explain %S/../../../examples/llama-small --mesh pp=4 --seq 16 --batch 8 --microbatches 8 --pp-schedule zb-h1 2>/dev/null | FileCheck %s --check-prefix=ZB
// ZB: stage work
// ZB-NEXT: 0 {{.*}}% 4 {{[0-9.]+}} {{[KM]}}iB

// The report has the same.
// RUN: %python %S/Inputs/check_timeline.py report %t.json | FileCheck %s --check-prefix=REPORT
// REPORT: stages 2 schedule 1f1b in_flight [2, 1]
// REPORT-NEXT: idle share and makespan are those of the ranks
// REPORT-NEXT: stage 0 embed layer.0
// REPORT-NEXT: stage 1 layer.1 head

// Without stages all ranks are one line, and loops over microbatches are followed.
// RUN: ulsc explain %S/../../golden/llama --mesh dp=2,tp=2 --seq 16 --batch 16 --microbatches 4 --timeline %t.dp.json 2>/dev/null | FileCheck %s --check-prefix=FLAT
// FLAT: predicted step: {{[0-9.]+}} us{{$}}
// FLAT-NEXT: rank work
// FLAT-NEXT: all {{.*}} 1 {{[0-9.]+}} MiB
// RUN: %python %S/Inputs/check_timeline.py trace %t.dp.json | FileCheck %s --check-prefix=FLAT-TRACE
// FLAT-TRACE: 1 processes, 32 forward or backward calls on microbatches [0, 1, 2, 3]

// Chrome trace events: every span of a lane is behind the one before, messages have two ends, memory is counted.
// RUN: ulsc explain %S/../../golden/llama --mesh pp=2,dp=2,tp=2 --seq 16 --batch 8 --microbatches 4 --timeline %t.trace.json 2>/dev/null >/dev/null
// RUN: %python %S/Inputs/check_timeline.py trace %t.trace.json | FileCheck %s --check-prefix=TRACE
// TRACE: 2 processes, 32 forward or backward calls on microbatches [0, 1, 2, 3]
// TRACE-NEXT: 8 messages
// TRACE-NEXT: memory of activations, communication, gradients, optimizer, parameters, temporaries

// Halves and what is computed again have kinds of their own.
// RUN: ulsc explain %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --microbatches 4 --pp-schedule zbv --pp-chunks 2 --recompute full --timeline %t.zbv.json 2>/dev/null >/dev/null
// RUN: %python %S/Inputs/check_timeline.py kinds %t.zbv.json | FileCheck %s --check-prefix=KINDS
// KINDS: backward backward_input backward_weight collective forward memory message receive recompute send step update wait

// The page holds its data and nothing from elsewhere.
// RUN: ulsc explain %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --microbatches 4 --timeline %t.html 2>/dev/null >/dev/null
// RUN: %python %S/Inputs/check_timeline.py page %t.html | FileCheck %s --check-prefix=PAGE
// PAGE: llama on pp=2, batch 4 in 4 microbatches; 1f1b; 2 ranks, {{[0-9]+}} spans
// PAGE-NEXT: nothing from elsewhere

// RUN: not ulsc explain %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --timeline %t.svg 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: --timeline is "{{.*}}.svg", expected a file that ends in .json (Chrome trace events, for Perfetto) or .html (a page)
// RUN: not ulsc explain %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --timeline %t.none/t.html 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: {{.*}}t.html can't be written: there is no folder {{.*}}; make it first
// Whole or not there.
// RUN: rm -rf %t.folder && mkdir %t.folder && ln -s /dev/full %t.folder/full.html
// RUN: not ulsc explain %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --timeline %t.folder/full.html 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: full.html can't be written: No space left on device
