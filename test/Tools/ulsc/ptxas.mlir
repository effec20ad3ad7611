// All kernels of a training step assemble for each architecture, and none spills registers.

// REQUIRES: ptxas
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --dropout on --target cuda --arch sm_80 --emit=ptx -o %t.80.ptx
// RUN: %ptxas -arch=sm_80 -v %t.80.ptx -o %t.cubin 2>&1 | FileCheck %s
// RUN: ulsc compile %S/../../golden/gpt2/config.json --seq 32 --batch 4 --dropout on --target cuda --arch sm_90 --emit=ptx -o %t.90.ptx
// RUN: %ptxas -arch=sm_90 -v %t.90.ptx -o %t.cubin 2>&1 | FileCheck %s
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --dtype bf16 --target cuda --attention own --arch sm_100 --emit=ptx -o %t.100.ptx
// RUN: %ptxas -arch=sm_100 -v %t.100.ptx -o %t.cubin 2>&1 | FileCheck %s
// Those that need most.
// RUN: ulsc compile %S/../../golden/gpt2/config.json --seq 32 --batch 4 --dropout on --target cuda --arch sm_100 --emit=ptx -o %t.100.ptx
// RUN: %ptxas -arch=sm_100 -v %t.100.ptx -o %t.cubin 2>&1 | FileCheck %s
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 64 --batch 4 --dropout on --target cuda --arch sm_90 --emit=ptx -o %t.90.ptx
// RUN: %ptxas -arch=sm_90 -v %t.90.ptx -o %t.cubin 2>&1 | FileCheck %s

// CHECK-NOT: {{[1-9][0-9]*}} bytes spill
// CHECK: 0 bytes spill stores
// CHECK-NOT: {{[1-9][0-9]*}} bytes spill
