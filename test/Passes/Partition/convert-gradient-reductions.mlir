// Gradients travel in bf16 and are accumulated and applied in f32; the norm's sum of squares stays f32.
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --microbatches 2 --mesh dp=2 --reduce-dtype bf16 --emit=local -o - 2>/dev/null | FileCheck %s
// CHECK-LABEL: uls.step @step
// CHECK: uls.microbatches 2
// CHECK: uls.accumulate {{.*}} : tensor<256x64xf32>
// CHECK: %[[NARROW:.*]] = uls.convert %{{.*}}#1 : tensor<{{.*}}xf32> -> tensor<{{.*}}xbf16>
// CHECK: %[[SUM:.*]] = dist.all_reduce sum %[[NARROW]] over @mesh ["dp"]{{.*}}bf16
// CHECK: %[[WIDE:.*]] = uls.convert %[[SUM]] : tensor<{{.*}}xbf16> -> tensor<{{.*}}xf32>
// CHECK-NOT: dist.all_reduce sum {{.*}}tensor<{{[0-9]+}}{{.*}}xf32>
// CHECK: uls.update @adamw(%[[WIDE]]

// The other way around: accumulated in bf16, reduced in f32.
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --mesh dp=2 --grad-dtype bf16 --reduce-dtype f32 --emit=local -o - 2>/dev/null | FileCheck %s --check-prefix=UP
// UP-LABEL: uls.step @step
// UP: uls.accumulate {{.*}}xbf16>
// UP: %[[WIDE:.*]] = uls.convert %{{.*}}#1 : tensor<{{.*}}xbf16> -> tensor<{{.*}}xf32>
// UP: dist.all_reduce sum %[[WIDE]] over @mesh ["dp"]
// UP-NOT: dist.all_reduce {{.*}}bf16

// By default they travel as they are accumulated.
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --mesh dp=2 --grad-dtype bf16 --emit=local -o - 2>/dev/null | FileCheck %s --check-prefix=DEFAULT
// DEFAULT-LABEL: uls.step @step
// DEFAULT: dist.all_reduce sum %{{.*}}#1 over @mesh ["dp"]{{.*}}bf16

// RUN: not ulsc-opt %s --ulsc-convert-gradient-reductions=dtype=f16 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: reduce-dtype is "f16", expected f32 or bf16
