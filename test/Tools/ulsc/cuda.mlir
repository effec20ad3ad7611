// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --target cuda --emit=ptx -o - 2> %t.log | FileCheck %s --check-prefix=PTX90
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --target cuda --arch sm_80 --emit=ptx -o - 2> %t.log | FileCheck %s --check-prefix=PTX80
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --target cuda --emit=llvm -o - 2> %t.log | FileCheck %s --check-prefix=HOST
// RUN: not ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --emit=ptx 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --arch sm_80 --emit=llvm 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --target cuda --arch sm_75 --emit=llvm 2>&1 | FileCheck %s --check-prefix=OLD

// PTX90: .target sm_90
// PTX90: // source: {{.+}}
// PTX90-NEXT: .visible .entry
// PTX90: ld.global.v4
// PTX80: .target sm_80

// HOST-DAG: llvm.mlir.global {{.*}}@ulsc_kernels
// HOST-DAG: llvm.func @ulsc_copy
// HOST-DAG: llvm.func @ulsc_launch

// CPU: --emit=ptx prints the kernels of the target cuda; add --target cuda, or give --emit=llvm
// ARCH: --arch is of the target cuda; add --target cuda, or leave it out
// OLD: --arch is "sm_75"
