// Poison for a device: fills of dead buffers, of any type, become declarations.
// RUN: ulsc-opt %s --ulsc-plan-memory=poison=true --ulsc-check-plan | FileCheck %s
// RUN: ulsc-opt %s --ulsc-plan-memory=poison=true --ulsc-convert-exec-to-llvm=device=true | FileCheck %s --check-prefix=CALLS

module attributes {exec.target = "cuda"} {

// CHECK-LABEL: exec.function private @inner
exec.function private @inner(%x: memref<16xi32>, %y: memref<16xi32>) {
  %a = exec.buffer temporaries : memref<16xi32>
  // CHECK: exec.copy %{{.*}} to %[[A:.*]] : memref
  exec.copy %x to %a : memref<16xi32> to memref<16xi32>
  // CHECK-NEXT: exec.copy %[[A]] to %{{.*}}
  exec.copy %a to %y : memref<16xi32> to memref<16xi32>
  // CHECK-NEXT: exec.fill %[[A]] with 0 : i32 {exec.poison}
  // CHECK-NEXT: exec.return
  exec.return
}
// CALLS-LABEL: llvm.func internal @inner
// CALLS: llvm.call @ulsc_copy
// CALLS: llvm.call @ulsc_copy
// CALLS: llvm.call @ulsc_forget

// A callee's frame ends with the call; what persists does not end.
// CHECK-LABEL: exec.function @ulsc_step
exec.function @ulsc_step() attributes {entry} {
  %w = exec.buffer parameters "w" {exec.persistent} : memref<16xi32>
  // CHECK: exec.call @inner({{.*}}) frame(%[[FRAME:.*]] : memref<64xi8>)
  // CHECK-NEXT: exec.fill %[[FRAME]] with 0 : i8 {exec.poison}
  // CHECK-NEXT: exec.return
  exec.call @inner(%w, %w) : memref<16xi32>, memref<16xi32>
  exec.return
}

}
