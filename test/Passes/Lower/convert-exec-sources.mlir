// Work carries the name of the source model's op to the runtime, and calls that of the layer.
// RUN: ulsc-opt %s --ulsc-convert-exec-to-llvm=device=true | FileCheck %s

// CHECK-DAG: llvm.mlir.global internal constant @[[NORM:ulsc.string.[0-9]+]]("layers.*.norm\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[BOTH:ulsc.string.[0-9]+]]("layers.*.mlp, layers.*.norm\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[LAYER:ulsc.string.[0-9]+]]("layer.3\00")

// CHECK-LABEL: llvm.func internal @layer
exec.function private @layer(%a: memref<16xf32>) attributes {frame_bytes = 64 : i64} {
  %t = exec.buffer temporaries offset(0) : memref<16xf32>
  // CHECK: %[[FIRST:.*]] = llvm.mlir.addressof @[[NORM]]
  // CHECK: llvm.call @ulsc_fill(%{{.*}}, %[[FIRST]],
  exec.fill %t with 0.0 : f32 : memref<16xf32> loc("layers.*.norm")
  // A fused kernel's ops are named once each.
  // CHECK: %[[SECOND:.*]] = llvm.mlir.addressof @[[BOTH]]
  // CHECK: llvm.call @ulsc_copy(%{{.*}}, %[[SECOND]],
  exec.copy %t to %a : memref<16xf32> to memref<16xf32> loc(fused["layers.*.mlp", "layers.*.norm", "layers.*.mlp"])
  // CHECK: %[[NONE:.*]] = llvm.mlir.zero
  // CHECK: llvm.call @ulsc_copy(%{{.*}}, %[[NONE]],
  exec.copy %t to %a : memref<16xf32> to memref<16xf32>
  exec.return
}

// CHECK-LABEL: llvm.func @ulsc_step
exec.function @ulsc_step() attributes {entry, frame_bytes = 4096 : i64} {
  %w = exec.buffer activations offset(0) : memref<16xf32>
  %f = exec.buffer temporaries offset(64) : memref<64xi8>
  // CHECK: %[[THIRD:.*]] = llvm.mlir.addressof @[[LAYER]]
  // CHECK: llvm.call @ulsc_block_begin(%{{.*}}, %{{.*}}, %[[THIRD]])
  exec.call @layer(%w) frame(%f : memref<64xi8>) : memref<16xf32> loc("layer.3")
  exec.return
}
