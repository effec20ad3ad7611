// The updates of all parameters are one launch; with ZeRO one for each stretch between collectives.

// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --target cuda --emit=llvm -o - 2> %t.log | FileCheck %s --check-prefix=ONE
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --mesh dp=2 --strategy zero1 --target cuda --emit=llvm -o - 2> %t.log | FileCheck %s --check-prefix=ZERO
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 4 --optimizer sgd --dtype bf16 --target cuda --emit=ptx -o - 2> %t.log | FileCheck %s --check-prefix=PTX

// ONE: llvm.func @ulsc_step
// ONE: llvm.mlir.addressof @adamw_group_1
// ONE-NOT: llvm.mlir.addressof @adamw

// The embedding's update stands alone before its gather, those of the first layer before the next.
// ZERO: llvm.func @ulsc_step
// ZERO: llvm.mlir.addressof @adamw_8192
// ZERO: llvm.call @ulsc_collective_start
// ZERO-NOT: llvm.mlir.addressof @adamw_{{[0-9]}}
// ZERO: llvm.mlir.addressof @adamw_group_1
// ZERO-NOT: llvm.mlir.addressof @adamw
// ZERO: llvm.call @ulsc_collective_start
// ZERO: llvm.mlir.addressof @adamw_group_2
// ZERO-NOT: llvm.mlir.addressof @adamw
// ZERO: llvm.call @ulsc_collective_start
// ZERO: llvm.mlir.addressof @adamw_group_3
// ZERO-NOT: llvm.mlir.addressof @adamw

// Text that ptxas takes has no other letters than those of ASCII.
// PTX: // source: optimizer of model.embed_tokens.weight, {{.*}}, ...{{$}}
// PTX-NEXT: .visible .entry sgd_group_1(
// PTX-NOT: .visible .entry sgd_{{[0-9]}}
