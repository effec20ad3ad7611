// RUN: ulsc-opt %s --split-input-file --ulsc-convert-exec-to-llvm=device=true --verify-diagnostics

exec.function private @attention(%q: memref<2x8x3x4x16xbf16>, %k: memref<2x8x3x16xbf16>, %p: memref<2x8xi32>, %lse: memref<2x8x3x4xf32>) {
  // expected-error @below {{is computed by no library; its kernels are emitted before the lowering}}
  exec.attention %q, %k, %k positions(%p, %p) outs(%q, %lse) {scale = 0.25 : f32}
      : memref<2x8x3x4x16xbf16>, memref<2x8x3x16xbf16>, memref<2x8x3x16xbf16>, memref<2x8xi32>, memref<2x8xi32>
      outs memref<2x8x3x4x16xbf16>, memref<2x8x3x4xf32>
  exec.return
}

// -----

exec.function private @attention_grad(%q: memref<2x8x3x4x16xbf16>, %k: memref<2x8x3x16xbf16>, %p: memref<2x8xi32>, %lse: memref<2x8x3x4xf32>) {
  // expected-error @below {{is computed by no library; its kernels are emitted before the lowering}}
  exec.attention_grad %q, %k, %k positions(%p, %p) forward(%q, %lse) grad(%q) outs(%q, %k, %k) {scale = 0.25 : f32}
      : memref<2x8x3x4x16xbf16>, memref<2x8x3x16xbf16>, memref<2x8x3x16xbf16>, memref<2x8xi32>, memref<2x8xi32>
      forward memref<2x8x3x4x16xbf16>, memref<2x8x3x4xf32> grad memref<2x8x3x4x16xbf16>
      outs memref<2x8x3x4x16xbf16>, memref<2x8x3x16xbf16>, memref<2x8x3x16xbf16>
  exec.return
}
