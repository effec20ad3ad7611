// A limit that nothing exceeds recomputes nothing; a tighter one what is cheapest; the report's peak is within it.
// RUN: rm -rf %t && mkdir %t
// RUN: ulsc compile %S/../../golden/llama --seq 32 --batch 16 --microbatches 2 --mesh dp=2,tp=2 --memory-limit 4MB --emit=exec -o %t/x --report %t/wide.json 2>&1 | FileCheck %s --check-prefix=WIDE
// WIDE: recompute none: a peak of [[PEAK:[0-9]+]] bytes is within --memory-limit 4000000
// RUN: FileCheck %s --check-prefix=NONE < %t/wide.json
// NONE: "policy": "none"
// RUN: ulsc compile %S/../../golden/llama --seq 32 --batch 16 --microbatches 2 --mesh dp=2,tp=2 --memory-limit 2000kB --emit=exec -o %t/x --report %t/some.json 2>&1 | FileCheck %s --check-prefix=SOME
// SOME: recompute selective:price={{[0-9]+}}: a peak of 1{{[0-9]+}} bytes is within --memory-limit 2000000
// RUN: FileCheck %s --check-prefix=CUT < %t/some.json
// CUT: "peak": 1{{[0-9][0-9][0-9][0-9][0-9][0-9]}},
// CUT: "policy": "selective:price=
// RUN: ulsc compile %S/../../golden/llama --seq 32 --batch 16 --microbatches 2 --mesh dp=2,tp=2 --memory-limit 1.8MB --emit=exec -o %t/x 2>&1 | FileCheck %s --check-prefix=TIGHT
// TIGHT: recompute full:{{.*}}: a peak of 17{{[0-9]+}} bytes is within --memory-limit 1800000

// What was chosen can be asked for by name.
// RUN: ulsc compile %S/../../golden/llama --seq 32 --batch 16 --recompute selective:price=1387 --memory-limit 1GiB --emit=scheduled | FileCheck %s --check-prefix=NAMED
// NAMED: uls.recompute = "selective:price=1387"

// What can't be met names the row and a way out.
// RUN: not ulsc compile %S/../../golden/llama --seq 32 --batch 16 --microbatches 2 --mesh dp=2,tp=2 --memory-limit 400kB --emit=exec 2>&1 | FileCheck %s --check-prefix=GRADIENTS
// GRADIENTS: error: --memory-limit 400000 can't be met: what lasts between steps takes {{[0-9]+}} bytes alone, and with activations the peak is {{[0-9]+}} bytes (--recompute full:{{.*}}), and its row gradients makes it impossible: parameters 238.85 kB, gradients 238.85 kB, {{.*}}; divide them over data ranks (--strategy zero2 or zero3) or the model over more devices (a larger tp)
// RUN: not ulsc compile %S/../../golden/llama --seq 32 --batch 16 --microbatches 2 --mesh dp=2,tp=2 --memory-limit 1.4MB --emit=exec 2>&1 | FileCheck %s --check-prefix=ACTIVATIONS
// ACTIVATIONS: error: --memory-limit 1400000 can't be met: {{.*}} its row activations makes it impossible: {{.*}}; use a smaller --micro-batch, a shorter --seq, a larger tp, or sp beside tp
// RUN: not ulsc compile %S/../../golden/llama --seq 32 --batch 16 --microbatches 2 --mesh dp=2,tp=2 --recompute none --memory-limit 2.1MB --emit=exec 2>&1 | FileCheck %s --check-prefix=GIVEN
// GIVEN: error: --memory-limit 2100000 can't be met: the peak is {{[0-9]+}} bytes (--recompute none), and its row {{[a-z]+}} makes it impossible: {{.*}}; leave out --recompute to have it chosen, or use

// RUN: not ulsc compile m.json --seq 8 --batch 1 --memory-limit 70XB --emit=graph 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: error: --memory-limit is "70XB", expected a size of at least one byte, as 70GB, 512MiB or 80e9
// RUN: not ulsc compile m.json --seq 8 --batch 1 --memory-limit 0 --emit=graph 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: --memory-limit is "0", expected a size of at least one byte, as 70GB, 512MiB or 80e9
// RUN: not ulsc compile m.json --seq 8 --batch 1 --memory-limit=-5GB --emit=graph 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: --memory-limit is "-5GB", expected a size of at least one byte, as 70GB, 512MiB or 80e9
// RUN: not ulsc compile m.json --seq 8 --batch 1 --memory-limit nan --emit=graph 2>&1 | FileCheck %s --check-prefix=NAN
// NAN: error: --memory-limit is "nan", expected a size of at least one byte, as 70GB, 512MiB or 80e9
