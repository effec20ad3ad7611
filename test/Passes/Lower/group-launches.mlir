// RUN: ulsc-opt %s -ulsc-group-launches -split-input-file | FileCheck %s

#i = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// What is launched in groups alone is gone, with its kernels.
// CHECK-LABEL: llvm.mlir.global internal @scale_group_1()
// CHECK-NOT: exec.kernel
exec.kernel private @scale_8(%x: tensor<8xf32>, %s: tensor<f32>, %n: i64) -> tensor<8xf32> attributes {row_dims = 1 : i64, family = "scale by s"} {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#i, #none, #i], iterator_types = ["parallel"]} ins(%x, %s : tensor<8xf32>, tensor<f32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = exec.parameter_scale %n : f32
      %0 = arith.mulf %a, %b : f32
      %1 = arith.mulf %0, %p : f32
      linalg.yield %1 : f32
  } -> tensor<8xf32>
  exec.yield %y : tensor<8xf32>
}
exec.kernel private @scale_2000(%x: tensor<2000xf32>, %s: tensor<f32>, %n: i64) -> tensor<2000xf32> attributes {row_dims = 1 : i64, family = "scale by s"} {
  %e = tensor.empty() : tensor<2000xf32>
  %y = linalg.generic {indexing_maps = [#i, #none, #i], iterator_types = ["parallel"]} ins(%x, %s : tensor<2000xf32>, tensor<f32>) outs(%e : tensor<2000xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = exec.parameter_scale %n : f32
      %0 = arith.mulf %a, %b : f32
      %1 = arith.mulf %0, %p : f32
      linalg.yield %1 : f32
  } -> tensor<2000xf32>
  exec.yield %y : tensor<2000xf32>
}

// In place, views and fills between: one launch where the last one stood, its reads before its writes. The fill of what a
// launch has read follows it.
// CHECK-LABEL: exec.function @one
// CHECK: %[[A:.*]] = exec.buffer parameters "a"
// CHECK: %[[B:.*]] = exec.buffer parameters "b"
// CHECK: %[[S:.*]] = exec.buffer temporaries offset(0)
// CHECK: %[[G:.*]] = exec.buffer gradients
// CHECK: %[[FLAT:.*]] = exec.view %[[A]]
// CHECK-NEXT: %[[C4:.*]] = arith.constant 4 : i64
// CHECK-NEXT: exec.launch @scale_group_1 ins(%[[FLAT]], %[[S]], %[[B]], %[[S]], %[[G]], %[[S]] : {{.*}}) outs(%[[FLAT]], %[[B]], %[[G]] :
// CHECK-SAME: {extent = 4 : i64, grain = 256 : i64}
// CHECK-NEXT: exec.fill %[[U:.*]] with 0
// CHECK-NEXT: exec.return
exec.function @one() attributes {entry} {
  %a = exec.buffer parameters "a" offset(64) : memref<2x4xf32>
  %b = exec.buffer parameters "b" offset(128) : memref<2000xf32>
  %s = exec.buffer temporaries offset(0) : memref<f32>
  %g = exec.buffer gradients offset(8192) : memref<8xf32>
  %u = exec.buffer temporaries offset(16384) : memref<8xf32>
  %c0 = arith.constant 0 : i64
  %c2 = arith.constant 2 : i64
  %flat = exec.view %a : memref<2x4xf32> to memref<8xf32>
  exec.launch @scale_8 ins(%flat, %s : memref<8xf32>, memref<f32>) outs(%flat : memref<8xf32>) scalars(%c0 : i64)
  exec.launch @scale_2000 ins(%b, %s : memref<2000xf32>, memref<f32>) outs(%b : memref<2000xf32>) scalars(%c2 : i64)
  exec.fill %u with 0.0 : f32 : memref<8xf32>
  %c4 = arith.constant 4 : i64
  exec.launch @scale_8 ins(%g, %s : memref<8xf32>, memref<f32>) outs(%g : memref<8xf32>) scalars(%c4 : i64)
  exec.return
}

// The kernel takes the arena alone; a block looks for its member and takes from the table what members differ in: the
// number of elements, one place for what is read and written, and the scalar. The place of the factor is one.
// CHECK-LABEL: module @kernels
// CHECK: llvm.mlir.global internal constant @scale_group_1.first(dense<[0, 1, 3, 4]> : tensor<4xi64>)
// CHECK: llvm.mlir.global internal constant @scale_group_1.members(dense<[8, 64, 0, 2000, 128, 2, 8, 8192, 4]> : tensor<9xi64>)
// CHECK: llvm.func @scale_group_1(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)

// -----

#i = affine_map<(i) -> (i)>

exec.kernel private @mul_8(%x: tensor<8xf32>, %n: i64) -> tensor<8xf32> attributes {row_dims = 1 : i64, family = "mul"} {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %p = exec.parameter_scale %n : f32
      %0 = arith.mulf %a, %p : f32
      linalg.yield %0 : f32
  } -> tensor<8xf32>
  exec.yield %y : tensor<8xf32>
}
exec.kernel private @mul_16(%x: tensor<16xf32>, %n: i64) -> tensor<16xf32> attributes {row_dims = 1 : i64, family = "mul"} {
  %e = tensor.empty() : tensor<16xf32>
  %y = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) {
    ^bb0(%a: f32, %o: f32):
      %p = exec.parameter_scale %n : f32
      %0 = arith.mulf %a, %p : f32
      linalg.yield %0 : f32
  } -> tensor<16xf32>
  exec.yield %y : tensor<16xf32>
}
exec.kernel private @add_8(%x: tensor<8xf32>, %n: i64) -> tensor<8xf32> attributes {row_dims = 1 : i64, family = "add"} {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %p = exec.parameter_scale %n : f32
      %0 = arith.addf %a, %p : f32
      linalg.yield %0 : f32
  } -> tensor<8xf32>
  exec.yield %y : tensor<8xf32>
}
exec.kernel private @add_16(%x: tensor<16xf32>, %n: i64) -> tensor<16xf32> attributes {row_dims = 1 : i64, family = "add"} {
  %e = tensor.empty() : tensor<16xf32>
  %y = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) {
    ^bb0(%a: f32, %o: f32):
      %p = exec.parameter_scale %n : f32
      %0 = arith.addf %a, %p : f32
      linalg.yield %0 : f32
  } -> tensor<16xf32>
  exec.yield %y : tensor<16xf32>
}
exec.kernel private @mul_alone(%x: tensor<8xf32>, %n: i64) -> tensor<8xf32> attributes {row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %p = exec.parameter_scale %n : f32
      %0 = arith.mulf %a, %p : f32
      linalg.yield %0 : f32
  } -> tensor<8xf32>
  exec.yield %y : tensor<8xf32>
}

// Families may stand between each other.
// CHECK-LABEL: exec.function @two_families
// CHECK: exec.launch @mul_group_1 ins(%[[A:.*]], %[[B:.*]] : {{.*}}) outs(%[[A]], %[[B]] :
// CHECK-NEXT: exec.launch @add_group_2 ins(%[[D:.*]], %[[E:.*]] : {{.*}}) outs(%[[D]], %[[E]] :
// CHECK-NEXT: exec.return
exec.function @two_families() attributes {entry} {
  %a = exec.buffer temporaries offset(0) : memref<8xf32>
  %b = exec.buffer temporaries offset(64) : memref<16xf32>
  %d = exec.buffer temporaries offset(128) : memref<16xf32>
  %e = exec.buffer temporaries offset(192) : memref<8xf32>
  %c = arith.constant 0 : i64
  exec.launch @mul_8 ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) scalars(%c : i64)
  exec.launch @add_16 ins(%d : memref<16xf32>) outs(%d : memref<16xf32>) scalars(%c : i64)
  exec.launch @mul_16 ins(%b : memref<16xf32>) outs(%b : memref<16xf32>) scalars(%c : i64)
  exec.launch @add_8 ins(%e : memref<8xf32>) outs(%e : memref<8xf32>) scalars(%c : i64)
  exec.return
}

// One reads what the one before has written: the next two are a group.
// CHECK-LABEL: exec.function @read_after_write
// CHECK: exec.launch @mul_8
// CHECK-NEXT: exec.launch @mul_group_3
// CHECK-NEXT: exec.return
exec.function @read_after_write() attributes {entry} {
  %a = exec.buffer temporaries offset(0) : memref<8xf32>
  %b = exec.buffer temporaries offset(64) : memref<16xf32>
  %e = exec.buffer temporaries offset(192) : memref<8xf32>
  %c = arith.constant 0 : i64
  exec.launch @mul_8 ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) scalars(%c : i64)
  exec.launch @mul_8 ins(%a : memref<8xf32>) outs(%e : memref<8xf32>) scalars(%c : i64)
  exec.launch @mul_16 ins(%b : memref<16xf32>) outs(%b : memref<16xf32>) scalars(%c : i64)
  exec.return
}

// Another buffer, but bytes that the one before reads: after the memory plan buffers share them.
// CHECK-LABEL: exec.function @write_after_read
// CHECK: exec.launch @mul_8
// CHECK-NEXT: exec.launch @mul_16
// CHECK-NEXT: exec.return
exec.function @write_after_read() attributes {entry} {
  %a = exec.buffer temporaries offset(0) : memref<8xf32>
  %b = exec.buffer temporaries offset(64) : memref<16xf32>
  %d = exec.buffer temporaries offset(192) : memref<32xf32>
  %part = exec.view %b offset(8) : memref<16xf32> to memref<8xf32>
  %other = exec.view %d : memref<32xf32> to memref<16xf32>
  %c = arith.constant 0 : i64
  exec.launch @mul_8 ins(%part : memref<8xf32>) outs(%a : memref<8xf32>) scalars(%c : i64)
  exec.launch @mul_16 ins(%other : memref<16xf32>) outs(%b : memref<16xf32>) scalars(%c : i64)
  exec.return
}

// What touches other bytes than those before it stays where it is: a launch that makes what the next one reads, a copy.
// CHECK-LABEL: exec.function @others_between
// CHECK: exec.launch @mul_alone
// CHECK-NEXT: exec.copy
// CHECK-NEXT: exec.launch @mul_group_4 ins(%[[A:.*]], %[[B:.*]] : {{.*}}) outs(%[[A]], %[[B]] :
// CHECK-NEXT: exec.return
exec.function @others_between() attributes {entry} {
  %a = exec.buffer temporaries offset(0) : memref<8xf32>
  %b = exec.buffer temporaries offset(64) : memref<16xf32>
  %d = exec.buffer temporaries offset(128) : memref<16xf32>
  %head = exec.view %b : memref<16xf32> to memref<8xf32>
  %e = exec.buffer temporaries offset(192) : memref<8xf32>
  %c = arith.constant 0 : i64
  exec.launch @mul_8 ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) scalars(%c : i64)
  exec.launch @mul_alone ins(%e : memref<8xf32>) outs(%head : memref<8xf32>) scalars(%c : i64)
  exec.copy %d to %b : memref<16xf32> to memref<16xf32>
  exec.launch @mul_16 ins(%b : memref<16xf32>) outs(%b : memref<16xf32>) scalars(%c : i64)
  exec.return
}

// It reads what the one before has written.
// CHECK-LABEL: exec.function @reader_between
// CHECK: exec.launch @mul_8
// CHECK-NEXT: exec.launch @mul_alone
// CHECK-NEXT: exec.launch @mul_16
exec.function @reader_between() attributes {entry} {
  %a = exec.buffer temporaries offset(0) : memref<8xf32>
  %b = exec.buffer temporaries offset(64) : memref<16xf32>
  %e = exec.buffer temporaries offset(192) : memref<8xf32>
  %c = arith.constant 0 : i64
  exec.launch @mul_8 ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) scalars(%c : i64)
  exec.launch @mul_alone ins(%a : memref<8xf32>) outs(%e : memref<8xf32>) scalars(%c : i64)
  exec.launch @mul_16 ins(%b : memref<16xf32>) outs(%b : memref<16xf32>) scalars(%c : i64)
  exec.return
}

// Nothing is known of other ops.
// CHECK-LABEL: exec.function @op_between
// CHECK: exec.launch @mul_8
// CHECK-NEXT: exec.write_control
// CHECK-NEXT: exec.launch @mul_16
exec.function @op_between() attributes {entry} {
  %a = exec.buffer temporaries offset(0) : memref<8xf32>
  %b = exec.buffer temporaries offset(64) : memref<16xf32>
  %s = exec.buffer temporaries offset(128) : memref<f32>
  %c = arith.constant 0 : i64
  exec.launch @mul_8 ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) scalars(%c : i64)
  exec.write_control "grad_norm" from %s : memref<f32>
  exec.launch @mul_16 ins(%b : memref<16xf32>) outs(%b : memref<16xf32>) scalars(%c : i64)
  exec.return
}

// A fill of what the next one reads stays before it.
// CHECK-LABEL: exec.function @fill_between
// CHECK: exec.launch @mul_8
// CHECK-NEXT: exec.fill
// CHECK-NEXT: exec.launch @mul_16
exec.function @fill_between() attributes {entry} {
  %a = exec.buffer temporaries offset(0) : memref<8xf32>
  %b = exec.buffer temporaries offset(64) : memref<16xf32>
  %c = arith.constant 0 : i64
  exec.launch @mul_8 ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) scalars(%c : i64)
  exec.fill %b with 0.0 : f32 : memref<16xf32>
  exec.launch @mul_16 ins(%b : memref<16xf32>) outs(%b : memref<16xf32>) scalars(%c : i64)
  exec.return
}

// A scalar that differs between ranks.
// CHECK-LABEL: exec.function @scalar_of_a_rank
// CHECK: exec.launch @mul_8
// CHECK-NEXT: exec.launch @mul_16
exec.function @scalar_of_a_rank() attributes {entry} {
  %a = exec.buffer temporaries offset(0) : memref<8xf32>
  %b = exec.buffer temporaries offset(64) : memref<16xf32>
  %c = arith.constant 0 : i64
  %axis = exec.coordinate axis(0) : index
  %r = arith.index_cast %axis : index to i64
  exec.launch @mul_8 ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) scalars(%c : i64)
  exec.launch @mul_16 ins(%b : memref<16xf32>) outs(%b : memref<16xf32>) scalars(%r : i64)
  exec.return
}

// A slot, whose place is another one in each pass.
// CHECK-LABEL: exec.function @slot
// CHECK: exec.launch @mul_8
// CHECK-NEXT: exec.launch @mul_16
exec.function @slot() attributes {entry} {
  %slots = exec.buffer temporaries offset(0) : memref<4x8xf32>
  %b = exec.buffer temporaries offset(128) : memref<16xf32>
  %c = arith.constant 0 : i64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %m = %c0 to %c4 step %c1 {
    %a = exec.slot %slots[%m] : memref<4x8xf32> to memref<8xf32>
    exec.launch @mul_8 ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) scalars(%c : i64)
    exec.launch @mul_16 ins(%b : memref<16xf32>) outs(%b : memref<16xf32>) scalars(%c : i64)
  }
  exec.return
}

// The frame of a function that is called lies where its caller has room for it.
// CHECK-LABEL: exec.function private @callee
// CHECK: exec.launch @mul_8
// CHECK-NEXT: exec.launch @mul_16
exec.function private @callee() {
  %a = exec.buffer temporaries offset(0) : memref<8xf32>
  %b = exec.buffer temporaries offset(64) : memref<16xf32>
  %c = arith.constant 0 : i64
  exec.launch @mul_8 ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) scalars(%c : i64)
  exec.launch @mul_16 ins(%b : memref<16xf32>) outs(%b : memref<16xf32>) scalars(%c : i64)
  exec.return
}

// No family.
// CHECK-LABEL: exec.function @no_family
// CHECK: exec.launch @mul_alone
// CHECK-NEXT: exec.launch @mul_alone
exec.function @no_family() attributes {entry} {
  %a = exec.buffer temporaries offset(0) : memref<8xf32>
  %e = exec.buffer temporaries offset(192) : memref<8xf32>
  %c = arith.constant 0 : i64
  exec.launch @mul_alone ins(%a : memref<8xf32>) outs(%a : memref<8xf32>) scalars(%c : i64)
  exec.launch @mul_alone ins(%e : memref<8xf32>) outs(%e : memref<8xf32>) scalars(%c : i64)
  exec.return
}

// -----

#i = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// Kernels that aren't elementwise are computed in other ways.
// CHECK-LABEL: exec.function @sums
// CHECK: exec.launch @sum_8
// CHECK-NEXT: exec.launch @sum_16
exec.kernel private @sum_8(%x: tensor<8xf32>) -> tensor<f32> attributes {row_dims = 0 : i64, family = "sum"} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %y = linalg.generic {indexing_maps = [#i, #none], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%f : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %a, %o : f32
      linalg.yield %0 : f32
  } -> tensor<f32>
  exec.yield %y : tensor<f32>
}
exec.kernel private @sum_16(%x: tensor<16xf32>) -> tensor<f32> attributes {row_dims = 0 : i64, family = "sum"} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %y = linalg.generic {indexing_maps = [#i, #none], iterator_types = ["reduction"]} ins(%x : tensor<16xf32>) outs(%f : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %a, %o : f32
      linalg.yield %0 : f32
  } -> tensor<f32>
  exec.yield %y : tensor<f32>
}
exec.function @sums() attributes {entry} {
  %a = exec.buffer temporaries offset(0) : memref<8xf32>
  %b = exec.buffer temporaries offset(64) : memref<16xf32>
  %x = exec.buffer temporaries offset(128) : memref<f32>
  %y = exec.buffer temporaries offset(192) : memref<f32>
  exec.launch @sum_8 ins(%a : memref<8xf32>) outs(%x : memref<f32>)
  exec.launch @sum_16 ins(%b : memref<16xf32>) outs(%y : memref<f32>)
  exec.return
}
