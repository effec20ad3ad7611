// RUN: ulsc-opt %s | ulsc-opt | FileCheck %s
// RUN: ulsc-opt %s -mlir-print-op-generic | ulsc-opt | FileCheck %s

// CHECK-LABEL: exec.kernel private @row_max
// CHECK-SAME: row_dims = 1
exec.kernel private @row_max(%x: tensor<8x64xf32>) -> tensor<8xf32> attributes {row_dims = 1 : i64} {
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8xf32>
  %i = linalg.fill ins(%lowest : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %m = linalg.generic {
      indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x64xf32>) outs(%i : tensor<8xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %0 = arith.maximumf %a, %acc : f32
      linalg.yield %0 : f32
  } -> tensor<8xf32>
  // CHECK: exec.yield %{{.*}} : tensor<8xf32>
  exec.yield %m : tensor<8xf32>
}

// CHECK-LABEL: exec.kernel private @scaled
exec.kernel private @scaled(%x: tensor<8x64xf32>, %layer: i64, %parameter: i64) -> tensor<8x64xf32> attributes {row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8x64xf32>
  %m = linalg.generic {
      indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
    ^bb0(%a: f32, %unused: f32):
      // CHECK: exec.control "learning_rate" : f32
      %lr = exec.control "learning_rate" : f32
      %step = exec.control "step" : i64
      // CHECK: exec.random %{{.*}}, %{{.*}} {key = 42 : i64} : i32
      %w = exec.random %step, %layer {key = 42 : i64} : i32
      // CHECK: exec.parameter_scale %{{.*}} : f32
      %scale = exec.parameter_scale %parameter : f32
      %0 = arith.mulf %a, %lr : f32
      %1 = arith.mulf %0, %scale : f32
      linalg.yield %1 : f32
  } -> tensor<8x64xf32>
  exec.yield %m : tensor<8x64xf32>
}

// CHECK-LABEL: exec.kernel private @embedding_grad
// CHECK-SAME: kind = #exec.kernel_kind<scatter>
exec.kernel private @embedding_grad(%dx: tensor<8x64xf32>, %ids: tensor<8xi32>, %table: tensor<100x64xf32>)
    -> tensor<100x64xf32> attributes {kind = #exec.kernel_kind<scatter>, row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8x64xf32>
  %m = linalg.generic {
      indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%dx : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
    ^bb0(%a: f32, %unused: f32):
      %0 = arith.negf %a : f32
      linalg.yield %0 : f32
  } -> tensor<8x64xf32>
  // CHECK: exec.scatter_add %{{.*}} at %{{.*}} into %{{.*}} : tensor<8x64xf32>, tensor<8xi32>, tensor<100x64xf32>
  %g = exec.scatter_add %m at %ids into %table : tensor<8x64xf32>, tensor<8xi32>, tensor<100x64xf32>
  exec.yield %g : tensor<100x64xf32>
}

// CHECK-LABEL: exec.function private @layer.fwd
// CHECK-SAME: attributes {frame_bytes = 4096 : i64}
exec.function private @layer.fwd(%x: memref<8x64xf32>, %y: memref<8xf32>, %layer: index)
    attributes {frame_bytes = 4096 : i64} {
  // CHECK: exec.buffer temporaries offset(0) : memref<8x64xf32>
  %t = exec.buffer temporaries offset(0) : memref<8x64xf32>
  // CHECK: exec.copy %{{.*}} to %{{.*}} : memref<8x64xf32> to memref<8x64xf32>
  exec.copy %x to %t : memref<8x64xf32> to memref<8x64xf32>
  // CHECK: exec.launch @row_max ins(%{{.*}} : memref<8x64xf32>) outs(%{{.*}} : memref<8xf32>)
  exec.launch @row_max ins(%t : memref<8x64xf32>) outs(%y : memref<8xf32>)
  exec.return
}

// CHECK-LABEL: exec.function @ulsc_step
exec.function @ulsc_step() attributes {entry} {
  // CHECK: exec.buffer parameters "wte.weight" : memref<100x64xf32>
  %wte = exec.buffer parameters "wte.weight" : memref<100x64xf32>
  %in = exec.buffer activations : memref<4x8x64xf32>
  %ids = exec.buffer activations : memref<8xi32>
  %out = exec.buffer activations : memref<8xf32>
  %a = exec.buffer activations : memref<8x64xf32>
  %frame = exec.buffer temporaries : memref<4096xi8>
  %s = exec.buffer temporaries : memref<f32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %layer = arith.constant 7 : i64
  // CHECK: exec.fill %{{.*}} with 0.000000e+00 : f32 : memref<8x64xf32>
  exec.fill %a with 0.0 : f32 : memref<8x64xf32>
  // CHECK: scf.for
  scf.for %m = %c0 to %c4 step %c1 {
    // CHECK: exec.slot %{{.*}}[%{{.*}}] : memref<4x8x64xf32> to memref<8x64xf32>
    %x = exec.slot %in[%m] : memref<4x8x64xf32> to memref<8x64xf32>
    // CHECK: exec.call @layer.fwd(%{{.*}}) frame(%{{.*}} : memref<4096xi8>) : memref<8x64xf32>, memref<8xf32>, index
    exec.call @layer.fwd(%x, %out, %m) frame(%frame : memref<4096xi8>) : memref<8x64xf32>, memref<8xf32>, index
  }
  // CHECK: exec.view %{{.*}} offset(64) : memref<8x64xf32> to memref<2x32xf32>
  %v = exec.view %a offset(64) : memref<8x64xf32> to memref<2x32xf32>
  // CHECK: exec.launch @scaled ins(%{{.*}}) outs(%{{.*}}) scalars(%{{.*}}, %{{.*}} : i64, i64)
  exec.launch @scaled ins(%a : memref<8x64xf32>) outs(%a : memref<8x64xf32>) scalars(%layer, %layer : i64, i64)
  exec.launch @embedding_grad ins(%a, %ids, %wte : memref<8x64xf32>, memref<8xi32>, memref<100x64xf32>)
      outs(%wte : memref<100x64xf32>)
  // CHECK: exec.gemm "layers.*.up" %{{.*}}, %{{.*}} outs(%{{.*}}) workspace(%{{.*}}) sizes [1, 2, 64, 32] strides
  // CHECK-SAME: [0, 32, 1], [0, 64, 1], [0, 64, 1] accumulate : memref<2x32xf32>, memref<100x64xf32>, memref<8x64xf32>, memref<4096xi8>
  exec.gemm "layers.*.up" %v, %wte outs(%a) workspace(%frame) sizes [1, 2, 64, 32]
      strides [0, 32, 1], [0, 64, 1], [0, 64, 1] accumulate
      : memref<2x32xf32>, memref<100x64xf32>, memref<8x64xf32>, memref<4096xi8>
  // CHECK: exec.collective_start all_reduce reduction({{ ?}}sum) group(0) identifier(3) slot(1) ins(%{{.*}}) outs(%{{.*}}) : memref<8x64xf32>, memref<8xf32> to memref<8x64xf32>, memref<8xf32>
  exec.collective_start all_reduce reduction(sum) group(0) identifier(3) slot(1) ins(%a, %out) outs(%a, %out)
      : memref<8x64xf32>, memref<8xf32> to memref<8x64xf32>, memref<8xf32>
  // CHECK: exec.collective_wait slot(1)
  exec.collective_wait slot(1)
  // CHECK: exec.collective_start send peer(1) group(0) identifier(5) slot(0) ins(%{{.*}}, %{{.*}}) outs() : memref<8x64xf32>, memref<8xf32>
  exec.collective_start send peer(1) group(0) identifier(5) slot(0) ins(%a, %out) outs() : memref<8x64xf32>, memref<8xf32>
  // CHECK: exec.collective_start receive peer(1) group(0) identifier(6) slot(1) ins() outs(%{{.*}}) {dist.chunk = 1 : i64} to memref<8x64xf32>
  exec.collective_start receive peer(1) group(0) identifier(6) slot(1) ins() outs(%a) {dist.chunk = 1 : i64} to memref<8x64xf32>
  // CHECK: exec.read_control "stop_requested" to %{{.*}} : memref<f32>
  exec.read_control "stop_requested" to %s : memref<f32>
  // CHECK: exec.write_control "loss" from %{{.*}} : memref<f32>
  exec.write_control "loss" from %s : memref<f32>
  // CHECK: exec.coordinate axis(0) : index
  %d = exec.coordinate axis(0) : index
  exec.return
}

// CHECK-LABEL: exec.function private @attention
exec.function private @attention(%q: memref<2x8x2x2x16xf32>, %k: memref<2x8x2x16xf32>, %v: memref<2x8x2x16xf32>,
    %qp: memref<2x8xi32>, %kp: memref<2x8xi32>, %o: memref<2x8x2x2x16xf32>, %lse: memref<2x8x2x2xf32>,
    %do: memref<2x8x2x2x16xf32>, %dq: memref<2x8x2x2x16xf32>, %dk: memref<2x8x2x16xf32>, %dv: memref<2x8x2x16xf32>,
    %w: memref<8192xi8>, %i: i64) {
  // CHECK: exec.attention %{{.*}}, %{{.*}}, %{{.*}} positions(%{{.*}}, %{{.*}}) segments(%{{.*}}, %{{.*}}) outs(%{{.*}}, %{{.*}}) scratch(%{{.*}}) {causal, scale
  exec.attention %q, %k, %v positions(%qp, %kp) segments(%qp, %kp) outs(%o, %lse) scratch(%w) {
      scale = 0.125 : f32, causal} : memref<2x8x2x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8x2x16xf32>,
      memref<2x8xi32>, memref<2x8xi32>, memref<2x8xi32>, memref<2x8xi32>
      outs memref<2x8x2x2x16xf32>, memref<2x8x2x2xf32> scratch memref<8192xi8>
  // CHECK: exec.attention_grad %{{.*}} forward(%{{.*}}, %{{.*}}) grad(%{{.*}}) outs(%{{.*}}) scratch(%{{.*}}) scalars(
  exec.attention_grad %q, %k, %v positions(%qp, %kp) forward(%o, %lse) grad(%do) outs(%dq, %dk, %dv)
      scratch(%w) scalars(%i, %i, %i, %i, %i : i64, i64, i64, i64, i64)
      {scale = 0.125 : f32, causal, dropout_rate = 0.1 : f32, dropout_key = 5 : i64, dropout_sizes = array<i64: 4, 8, 8>}
      : memref<2x8x2x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8xi32>, memref<2x8xi32>
      forward memref<2x8x2x2x16xf32>, memref<2x8x2x2xf32> grad memref<2x8x2x2x16xf32>
      outs memref<2x8x2x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8x2x16xf32> scratch memref<8192xi8>
  exec.return
}
