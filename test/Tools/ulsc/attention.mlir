// Who computes attention on GPUs is chosen, told and refused.
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --dtype bf16 --target cuda --emit=exec -o %t.auto.mlir --report %t.auto.json 2> %t.auto.log
// RUN: FileCheck %s --check-prefix=GIVEN < %t.auto.mlir
// RUN: FileCheck %s --check-prefix=GIVEN-REPORT < %t.auto.json
// RUN: FileCheck %s --check-prefix=GIVEN-LOG < %t.auto.log
// GIVEN: exec.attention {{.*}}scratch(%{{.*}}){{.*}}library = #exec.attention_library<cudnn>
// GIVEN: exec.attention_grad {{.*}}scratch(%{{.*}}){{.*}}library = #exec.attention_library<cudnn>
// GIVEN-REPORT: "attention": [
// GIVEN-REPORT-NEXT: {
// GIVEN-REPORT-NEXT: "library": "cudnn",
// GIVEN-REPORT-NEXT: "source": "model.layers.*.self_attn"
// GIVEN-REPORT-NEXT: }
// GIVEN-REPORT-NEXT: ]
// GIVEN-LOG-NOT: remark

// With stages, tensor and sequence parallelism, split parameters, recomputation and microbatches, positions are proved, too.
// RUN: ulsc compile %S/../../golden/gpt2/config.json --seq 32 --batch 8 --microbatches 2 --mesh pp=2,tp=2 --strategy tp+sp --recompute full --dtype f16 --target cuda --attention cudnn --emit=exec -o %t.many.mlir --report %t.many.json 2> %t.log
// RUN: FileCheck %s --check-prefix=MANY < %t.many.json
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 8 --microbatches 2 --mesh dp=2 --strategy zero3 --recompute none --dtype bf16 --target cuda --attention cudnn --emit=exec -o %t.many.mlir --report %t.many.json 2> %t.log
// RUN: FileCheck %s --check-prefix=MANY < %t.many.json
// MANY: "library": "cudnn"
// MANY-NOT: "library": "own"

// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --target cuda --emit=exec -o %t.f32.mlir --report %t.f32.json --remarks 2> %t.f32.log
// RUN: FileCheck %s --check-prefix=WIDE < %t.f32.mlir
// RUN: FileCheck %s --check-prefix=WIDE-REPORT < %t.f32.json
// RUN: FileCheck %s --check-prefix=WIDE-LOG < %t.f32.log
// WIDE-NOT: attention_library
// WIDE-REPORT: "library": "own",
// WIDE-REPORT-NEXT: "reason": "its elements are f32; cudnn takes bf16 and f16",
// WIDE-LOG-NOT: remark

// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --dtype bf16 --target cuda --attention own --emit=exec -o %t.own.mlir --report %t.own.json 2> %t.own.log
// RUN: FileCheck %s --check-prefix=OWN < %t.own.mlir
// RUN: FileCheck %s --check-prefix=OWN-REPORT < %t.own.json
// RUN: FileCheck %s --check-prefix=GIVEN-LOG < %t.own.log
// OWN-NOT: attention_library
// OWN-REPORT: "library": "own",
// OWN-REPORT-NEXT: "source": "model.layers.*.self_attn"

// RUN: ulsc compile %S/../../golden/gpt2/config.json --seq 32 --batch 4 --dtype bf16 --dropout on --target cuda --emit=exec -o %t.drop.mlir --report %t.drop.json --remarks 2> %t.drop.log
// RUN: FileCheck %s --check-prefix=DROP < %t.drop.json
// RUN: FileCheck %s --check-prefix=DROP-LOG < %t.drop.log
// DROP: "library": "own",
// DROP-NEXT: "reason": "it drops probabilities; cudnn takes attention without dropout, for it draws other random numbers",
// DROP-LOG: remark: attention is computed by kernels of its own: it drops probabilities

// The choice is no one's where there is none.
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --dtype bf16 --emit=exec -o %t.cpu.mlir --report %t.cpu.json 2> %t.log
// RUN: FileCheck %s --check-prefix=CPU < %t.cpu.json
// CPU-NOT: "attention"

// RUN: not ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --dtype bf16 --attention cudnn --emit=exec 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: --attention is of the target cuda; add --target cuda, or leave it out
// RUN: not ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --target cuda --attention cudn --emit=exec 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: --attention is "cudn"
// RUN: not ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --target cuda --attention cudnn --emit=exec 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: model.layers.*.self_attn: error: cudnn can't compute this attention: its elements are f32; cudnn takes bf16 and f16; use --dtype bf16, or --attention auto
// RUN: not ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --dtype bf16 --dropout on --target cuda --attention cudnn --emit=exec 2>&1 | FileCheck %s --check-prefix=DROPOUT
// DROPOUT: model.layers.*.self_attn: error: cudnn can't compute this attention: it drops probabilities; cudnn takes attention without dropout, for it draws other random numbers; use --dropout off, or --attention auto
