// RUN: ulsc-opt %s -ulsc-emit-cpu-attention -verify-diagnostics

exec.function private @scratch_too_small(%q: memref<2x8x2x2x16xf32>, %k: memref<2x8x2x16xf32>, %qp: memref<2x8xi32>,
    %o: memref<2x8x2x2x16xf32>, %lse: memref<2x8x2x2xf32>, %w: memref<64xi8>) {
  // expected-error @below {{has 64 bytes of scratch; one thread takes 384}}
  exec.attention %q, %k, %k positions(%qp, %qp) outs(%o, %lse) scratch(%w) {scale = 0.125 : f32, causal}
      : memref<2x8x2x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8xi32>, memref<2x8xi32>
      outs memref<2x8x2x2x16xf32>, memref<2x8x2x2xf32> scratch memref<64xi8>
  exec.return
}
