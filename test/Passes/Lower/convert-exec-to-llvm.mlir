// RUN: ulsc-opt %s -ulsc-convert-exec-to-llvm | FileCheck %s

module attributes {exec.manifest = "{}"} {

// Descriptors are constants, one for equal ones.
// CHECK-DAG: llvm.mlir.global external constant @ulsc_manifest("{}\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[DESC:ulsc.gemm.[0-9]+]]()
// CHECK-DAG: llvm.func @ulsc_gemm(

// CHECK-LABEL: llvm.func internal @layer(
// CHECK-SAME: %[[CONTEXT:.*]]: !llvm.ptr, %[[FRAME:.*]]: !llvm.ptr, %[[A:.*]]: !llvm.ptr, %[[I:.*]]: i64)
exec.function private @layer(%a: memref<8x8xf32>, %i: index) attributes {frame_bytes = 512 : i64} {
  // CHECK: %[[OFFSET:.*]] = arith.constant 256
  // CHECK: %[[T:.*]] = llvm.getelementptr inbounds %[[FRAME]][%[[OFFSET]]]
  %t = exec.buffer temporaries offset(256) : memref<8x8xf32>
  // CHECK: %[[D:.*]] = llvm.mlir.addressof @[[DESC]]
  // CHECK: llvm.call @ulsc_gemm(%[[CONTEXT]], %[[D]], %[[A]], %[[A]], %[[T]],
  exec.gemm "x" %a, %a outs(%t) sizes [1, 8, 8, 8] strides [0, 8, 1], [0, 8, 1], [0, 8, 1]
      : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  // CHECK: llvm.mlir.addressof @[[DESC]]
  exec.gemm "x" %t, %t outs(%a) sizes [1, 8, 8, 8] strides [0, 8, 1], [0, 8, 1], [0, 8, 1]
      : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  exec.return
}

// The step's frame is the arena.
// CHECK-LABEL: llvm.func @ulsc_step(
// CHECK-SAME: %[[CONTEXT:.*]]: !llvm.ptr)
// CHECK: %[[ARENA:.*]] = llvm.load
exec.function @ulsc_step() attributes {entry, frame_bytes = 4096 : i64} {
  %in = exec.buffer activations offset(0) : memref<4x8x8xf32>
  %f = exec.buffer temporaries offset(1024) : memref<512xi8>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // CHECK: scf.for
  scf.for %m = %c0 to %c4 step %c1 {
    %x = exec.slot %in[%m] : memref<4x8x8xf32> to memref<8x8xf32>
    // CHECK: llvm.call @ulsc_block_begin(%[[CONTEXT]],
    // CHECK: llvm.call @layer(%[[CONTEXT]],
    exec.call @layer(%x, %m) frame(%f : memref<512xi8>) : memref<8x8xf32>, index
  }
  // CHECK: llvm.call @ulsc_block_end(%[[CONTEXT]])
  // CHECK: llvm.call @ulsc_collective_start(
  exec.collective_start all_reduce reduction(sum) group(0) identifier(0) slot(2) ins(%in) outs(%in) : memref<4x8x8xf32> to memref<4x8x8xf32>
  // CHECK: llvm.call @ulsc_collective_wait(
  exec.collective_wait slot(2)
  exec.return
}

}
