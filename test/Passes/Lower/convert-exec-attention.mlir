// Attention that a library computes is a call of the runtime with a constant descriptor.
// RUN: ulsc-opt %s --ulsc-convert-exec-to-llvm=device=true | FileCheck %s

// Batch, queries, keys, heads of keys, group, head size; dtype, causal, scale, workspace, name.
// CHECK: llvm.mlir.global internal constant @[[GRADIENT:ulsc.attention.[0-9]+]]() {{.*}} : !llvm.struct<(i64, i64, i64, i64, i64, i64, i32, i32, f64, i64, ptr)>
// CHECK: llvm.mlir.constant(1 : i32)
// CHECK: llvm.mlir.constant(0 : i32)
// CHECK: llvm.mlir.constant(2.500000e-01 : f64)
// CHECK: llvm.mlir.constant(0 : i64)
// CHECK: llvm.mlir.global internal constant @[[FORWARD:ulsc.attention.[0-9]+]]() {{.*}} : !llvm.struct<(i64, i64, i64, i64, i64, i64, i32, i32, f64, i64, ptr)>
// CHECK: llvm.mlir.constant(2 : i64)
// CHECK: llvm.mlir.constant(8 : i64)
// CHECK: llvm.mlir.constant(9 : i64)
// CHECK: llvm.mlir.constant(3 : i64)
// CHECK: llvm.mlir.constant(4 : i64)
// CHECK: llvm.mlir.constant(16 : i64)
// CHECK: llvm.mlir.constant(1 : i32)
// CHECK: llvm.mlir.constant(1 : i32)
// CHECK: llvm.mlir.constant(2.500000e-01 : f64)
// CHECK: llvm.mlir.constant(8000 : i64)
// CHECK: llvm.mlir.addressof @[[NAME:ulsc.string.[0-9]+]]
// CHECK: llvm.mlir.global internal constant @[[NAME]]("layers.*.attn\00")

// CHECK-LABEL: llvm.func internal @layer(
// CHECK-SAME: %[[C:[^:]*]]: !llvm.ptr, %[[FRAME:[^:]*]]: !llvm.ptr, %[[Q:[^:]*]]: !llvm.ptr, %[[K:[^:]*]]: !llvm.ptr, %[[V:[^:]*]]: !llvm.ptr, %[[P:[^:]*]]: !llvm.ptr, %[[O:[^:]*]]: !llvm.ptr, %[[LSE:[^:]*]]: !llvm.ptr, %[[DO:[^:]*]]: !llvm.ptr, %[[DQ:[^:]*]]: !llvm.ptr, %[[DK:[^:]*]]: !llvm.ptr, %[[DV:[^:]*]]: !llvm.ptr)
exec.function private @layer(%q: memref<2x8x3x4x16xbf16>, %k: memref<2x9x3x16xbf16>, %v: memref<2x9x3x16xbf16>, %qp: memref<2x8xi32>,
    %o: memref<2x8x3x4x16xbf16>, %lse: memref<2x8x3x4xf32>, %do: memref<2x8x3x4x16xbf16>,
    %dq: memref<2x8x3x4x16xbf16>, %dk: memref<2x9x3x16xbf16>, %dv: memref<2x9x3x16xbf16>) attributes {frame_bytes = 8256 : i64} {
  %kp = exec.buffer temporaries offset(0) : memref<2x9xi32>
  %w = exec.buffer workspaces offset(128) : memref<8000xi8>
  // CHECK: %[[OFFSET:.*]] = arith.constant 128
  // CHECK: %[[W:.*]] = llvm.getelementptr inbounds %[[FRAME]][%[[OFFSET]]]
  // CHECK: %[[D:[0-9]+]] = llvm.mlir.addressof @[[FORWARD]]
  // CHECK: llvm.call @ulsc_attention(%[[C]], %[[D]], %[[Q]], %[[K]], %[[V]], %[[O]], %[[LSE]], %[[W]])
  exec.attention %q, %k, %v positions(%qp, %kp) outs(%o, %lse) scratch(%w) {scale = 0.25 : f32, causal, library = #exec.attention_library<cudnn>}
      : memref<2x8x3x4x16xbf16>, memref<2x9x3x16xbf16>, memref<2x9x3x16xbf16>, memref<2x8xi32>, memref<2x9xi32>
      outs memref<2x8x3x4x16xbf16>, memref<2x8x3x4xf32> scratch memref<8000xi8> loc("layers.*.attn")
  // CHECK: %[[D1:[0-9]+]] = llvm.mlir.addressof @[[GRADIENT]]
  // CHECK: %[[NONE:[0-9]+]] = llvm.mlir.zero
  // CHECK: llvm.call @ulsc_attention_grad(%[[C]], %[[D1]], %[[Q]], %[[K]], %[[V]], %[[O]], %[[LSE]], %[[DO]], %[[DQ]], %[[DK]], %[[DV]], %[[NONE]])
  exec.attention_grad %q, %k, %v positions(%qp, %kp) forward(%o, %lse) grad(%do) outs(%dq, %dk, %dv) {scale = 0.25 : f32, library = #exec.attention_library<cudnn>}
      : memref<2x8x3x4x16xbf16>, memref<2x9x3x16xbf16>, memref<2x9x3x16xbf16>, memref<2x8xi32>, memref<2x9xi32>
      forward memref<2x8x3x4x16xbf16>, memref<2x8x3x4xf32> grad memref<2x8x3x4x16xbf16>
      outs memref<2x8x3x4x16xbf16>, memref<2x9x3x16xbf16>, memref<2x9x3x16xbf16> loc("layers.*.attn")
  exec.return
}
