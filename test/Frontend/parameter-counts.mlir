// Published models have their published numbers of parameters.
// RUN: ulsc compile %S/models/gpt2.json --seq 128 --batch 2 --emit=graph -o %t 2>&1 | FileCheck %s --check-prefix=GPT2
// GPT2: 124439808 parameters
// RUN: ulsc compile %S/models/llama-3.1-8b.json --seq 128 --batch 2 --emit=graph -o %t 2>&1 | FileCheck %s --check-prefix=L8B
// L8B: 8030261248 parameters
// RUN: ulsc compile %S/models/llama-3.1-70b.json --seq 128 --batch 2 --emit=graph -o %t 2>&1 | FileCheck %s --check-prefix=L70B
// L70B: 70553706496 parameters
// RUN: ulsc compile %S/models/llama-3.1-405b.json --seq 128 --batch 2 --emit=graph -o %t 2>&1 | FileCheck %s --check-prefix=L405B
// L405B: 405853388800 parameters
// RUN: ulsc compile %S/models/llama-2-7b.json --seq 128 --batch 2 --emit=graph -o %t 2>&1 | FileCheck %s --check-prefix=L2
// L2: 6738415616 parameters
// RUN: ulsc compile %S/models/tinyllama-1.1b.json --seq 128 --batch 2 --emit=graph -o %t 2>&1 | FileCheck %s --check-prefix=TINY
// TINY: 1100048384 parameters
// RUN: ulsc compile %S/models/smollm2-135m.json --seq 128 --batch 2 --emit=graph -o %t 2>&1 | FileCheck %s --check-prefix=SMOL
// SMOL: 134515008 parameters

// Padding of the vocabulary is not counted.
// RUN: ulsc compile %S/models/gpt2.json --mesh tp=4 --seq 128 --batch 2 --emit=graph -o %t 2>&1 | FileCheck %s --check-prefix=GPT2
// RUN: FileCheck %s --check-prefix=PADDED --input-file=%t
// PADDED: uls.param @transformer.wte.weight : tensor<50260x768xf32>
// PADDED-SAME: logical_shape [50257, 768]
// PADDED: vocabulary 50257
