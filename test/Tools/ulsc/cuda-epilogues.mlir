// What cuBLASLt does beside gpt2's products: in f32, in bf16 with gradients in f32, and on two ranks of tp.
// RUN: ulsc compile %S/../../golden/gpt2/config.json --seq 16 --batch 2 --target cuda --emit=exec -o - 2> %t.log | FileCheck %s --check-prefixes=ALL,F32
// RUN: ulsc compile %S/../../golden/gpt2/config.json --seq 16 --batch 2 --target cuda --dtype bf16 --emit=exec -o - 2> %t.log | FileCheck %s --check-prefixes=ALL,BF16
// RUN: ulsc compile %S/../../golden/gpt2/config.json --seq 16 --batch 2 --target cuda --mesh tp=2 --emit=exec -o - 2> %t.log | FileCheck %s --check-prefixes=ALL,F32
// RUN: ulsc compile %S/../../golden/gpt2/config.json --seq 16 --batch 2 --target cuda --epilogues off --emit=exec -o - 2> %t.log | FileCheck %s --check-prefix=NONE
// RUN: ulsc compile %S/../../golden/gpt2/config.json --seq 16 --batch 2 --emit=exec -o - 2> %t.log | FileCheck %s --check-prefix=NONE

// ALL-LABEL: exec.function private @layer.fwd
// ALL: exec.gemm "transformer.h.*.attn.c_attn" {{.*}} epilogue bias(
// ALL: exec.gemm "transformer.h.*.mlp.c_fc" {{.*}} epilogue gelu(
// ALL-NOT: epilogue
// ALL-LABEL: exec.function private @layer.bwd
// F32: exec.gemm "transformer.h.*.mlp.c_proj" {{.*}} epilogue gelu_bias_grad(
// BF16: exec.gemm "transformer.h.*.mlp.c_proj" {{.*}} epilogue gelu_grad(
// ALL: exec.gemm "transformer.h.*.mlp.c_proj" {{.*}} epilogue bias_grad(
// BF16: exec.gemm "transformer.h.*.mlp.c_fc" {{.*}} epilogue bias_grad(
// ALL: exec.gemm "transformer.h.*.attn.c_proj" {{.*}} epilogue bias_grad(
// ALL: exec.gemm "transformer.h.*.attn.c_attn" {{.*}} epilogue bias_grad(
// ALL-LABEL: exec.function private @head.fwd
// ALL-NOT: epilogue

// NONE: exec.gemm
// NONE-NOT: epilogue

// Products into bf16 are f32's with and without epilogues.
// RUN: ulsc compile %S/../../golden/gpt2/config.json --seq 16 --batch 2 --target cuda --dtype f16 --grad-dtype bf16 --epilogues off --emit=exec -o %t.mixed.mlir 2> %t.log
// RUN: FileCheck %s --check-prefix=MIXED --input-file=%t.mixed.mlir
// MIXED-NOT: exec.gemm {{.*}} : memref<{{[0-9x]+}}xf16>, memref<{{[0-9x]+}}xf16>, memref<{{[0-9x]+}}xbf16>
// MIXED: exec.gemm {{.*}} : memref<{{[0-9x]+}}xf16>, memref<{{[0-9x]+}}xf16>, memref<{{[0-9x]+}}xf32>
