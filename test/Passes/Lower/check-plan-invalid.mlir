// RUN: not ulsc-opt %s --ulsc-check-plan 2>&1 | FileCheck %s

// CHECK: error: {{.*}}two live buffers share bytes: one of 64 bytes at offset 0 and one at 0
exec.function @ulsc_step() attributes {entry, frame_bytes = 64 : i64} {
  %a = exec.buffer temporaries offset(0) : memref<16xf32>
  %b = exec.buffer temporaries offset(0) : memref<16xf32>
  exec.fill %a with 1.0 : f32 : memref<16xf32>
  exec.fill %b with 2.0 : f32 : memref<16xf32>
  exec.copy %a to %b : memref<16xf32> to memref<16xf32>
  exec.return
}
