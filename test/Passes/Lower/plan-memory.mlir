// RUN: ulsc-opt %s --ulsc-plan-memory | FileCheck %s
// RUN: ulsc-opt %s --ulsc-plan-memory=poison=true | FileCheck %s --check-prefix=POISON

// Two buffers that are never live together share bytes; the caller places the callee's frame.
// CHECK-LABEL: exec.function private @inner
// CHECK-SAME: frame_bytes = 128 : i64
// POISON-LABEL: exec.function private @inner
exec.function private @inner(%x: memref<16xf32>, %y: memref<16xf32>) {
  %a = exec.buffer temporaries : memref<16xf32>
  %b = exec.buffer temporaries : memref<16xf32>
  %c = exec.buffer temporaries : memref<16xf32>
  exec.copy %x to %a : memref<16xf32> to memref<16xf32>
  exec.copy %a to %b : memref<16xf32> to memref<16xf32>
  // A dead buffer is filled with NaN.
  // POISON: exec.copy %{{.*}} to %[[A:.*]] : memref
  // POISON-NEXT: exec.copy %[[A]] to %{{.*}}
  // POISON-NEXT: exec.fill %{{.*}} with 0x7FC00000 : f32
  exec.copy %b to %c : memref<16xf32> to memref<16xf32>
  exec.copy %c to %y : memref<16xf32> to memref<16xf32>
  exec.return
}

// What persists comes first; an arena is whole pages.
// CHECK-LABEL: exec.function @ulsc_step
// CHECK-SAME: frame_bytes = 4096 : i64
// CHECK: exec.buffer {{ ?}}temporaries offset(64) : memref<128xi8>
// CHECK: exec.buffer {{ ?}}parameters "w" offset(0) {exec.persistent} : memref<16xf32>
// CHECK: exec.call @inner(%{{.*}}, %{{.*}}) frame(%{{.*}} : memref<128xi8>)
exec.function @ulsc_step() attributes {entry} {
  %w = exec.buffer parameters "w" {exec.persistent} : memref<16xf32>
  exec.call @inner(%w, %w) : memref<16xf32>, memref<16xf32>
  exec.return
}
