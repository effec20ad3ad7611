// RUN: ulsc-opt %s | ulsc-opt | FileCheck %s
// RUN: ulsc-opt %s -mlir-print-op-generic | ulsc-opt | FileCheck %s

// CHECK-LABEL: exec.function private @epilogues
exec.function private @epilogues(%x: memref<8x16xf32>, %w: memref<16x64xf32>, %c: memref<8x64xf32>, %z: memref<8x64xf32>,
    %bias: memref<64xf32>, %space: memref<1024xi8>) {
  // CHECK: exec.gemm "up" {{.*}} workspace(%{{.*}}) {{.*}} epilogue bias{{ ?}}(%{{.*}} : memref<64xf32>) : memref<8x16xf32>
  exec.gemm "up" %x, %w outs(%c) workspace(%space) sizes [1, 8, 64, 16] strides [0, 16, 1], [0, 64, 1], [0, 64, 1]
      epilogue bias(%bias : memref<64xf32>) : memref<8x16xf32>, memref<16x64xf32>, memref<8x64xf32>, memref<1024xi8>
  // CHECK: epilogue gelu{{ ?}}(%{{.*}} : memref<64xf32> -> %{{.*}} : memref<8x64xf32>)
  exec.gemm "up" %x, %w outs(%c) sizes [1, 8, 64, 16] strides [0, 16, 1], [0, 64, 1], [0, 64, 1]
      epilogue gelu(%bias : memref<64xf32> -> %z : memref<8x64xf32>) : memref<8x16xf32>, memref<16x64xf32>, memref<8x64xf32>
  // CHECK: epilogue gelu_grad{{ ?}}(%{{.*}} : memref<8x64xf32>)
  exec.gemm "up" %x, %w outs(%c) sizes [1, 8, 64, 16] strides [0, 16, 1], [0, 64, 1], [0, 64, 1]
      epilogue gelu_grad(%z : memref<8x64xf32>) : memref<8x16xf32>, memref<16x64xf32>, memref<8x64xf32>
  // CHECK: epilogue gelu_bias_grad{{ ?}}(%{{.*}} : memref<8x64xf32> -> %{{.*}} : memref<64xf32>)
  exec.gemm "up" %x, %w outs(%c) sizes [1, 8, 64, 16] strides [0, 16, 1], [0, 64, 1], [0, 64, 1]
      epilogue gelu_bias_grad(%z : memref<8x64xf32> -> %bias : memref<64xf32>) : memref<8x16xf32>, memref<16x64xf32>, memref<8x64xf32>
  // CHECK: epilogue bias_grad{{ ?}}({{ ?}}-> %{{.*}} : memref<64xf32>)
  exec.gemm "up" %x, %w outs(%c) sizes [1, 8, 64, 16] strides [0, 16, 1], [0, 64, 1], [0, 64, 1]
      epilogue bias_grad(-> %bias : memref<64xf32>) : memref<8x16xf32>, memref<16x64xf32>, memref<8x64xf32>
  exec.return
}

// CHECK-LABEL: uls.block @values
uls.block @values(%x: tensor<8x16xf32>, %w: tensor<16x64xf32>, %bias: tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  // CHECK: exec.contract "up" {{.*}} epilogue gelu{{ ?}}(%{{.*}} : tensor<64xf32>) : tensor<8x16xf32>, tensor<16x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %y, %z = exec.contract "up" %x, %w sizes [1, 8, 64, 16] strides [0, 16, 1], [0, 64, 1], [0, 64, 1]
      epilogue gelu(%bias : tensor<64xf32>) : tensor<8x16xf32>, tensor<16x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  uls.yield %y, %z : tensor<8x64xf32>, tensor<8x64xf32>
}

// CHECK-LABEL: exec.function private @attention
exec.function private @attention(%q: memref<2x8x2x2x16xbf16>, %k: memref<2x8x2x16xbf16>, %p: memref<2x8xi32>,
    %o: memref<2x8x2x2x16xbf16>, %lse: memref<2x8x2x2xf32>, %w: memref<8192xi8>) {
  // CHECK: exec.attention {{.*}} scratch(%{{.*}}) {causal, library = #exec.attention_library<cudnn>, scale
  exec.attention %q, %k, %k positions(%p, %p) outs(%o, %lse) scratch(%w) {
      scale = 0.25 : f32, causal, library = #exec.attention_library<cudnn>} : memref<2x8x2x2x16xbf16>, memref<2x8x2x16xbf16>,
      memref<2x8x2x16xbf16>, memref<2x8xi32>, memref<2x8xi32> outs memref<2x8x2x2x16xbf16>, memref<2x8x2x2xf32> scratch memref<8192xi8>
  // CHECK: exec.attention_grad {{.*}} {library = #exec.attention_library<cudnn>, scale
  exec.attention_grad %q, %k, %k positions(%p, %p) forward(%o, %lse) grad(%q) outs(%o, %k, %k) {
      scale = 0.25 : f32, library = #exec.attention_library<cudnn>} : memref<2x8x2x2x16xbf16>, memref<2x8x2x16xbf16>,
      memref<2x8x2x16xbf16>, memref<2x8xi32>, memref<2x8xi32> forward memref<2x8x2x2x16xbf16>, memref<2x8x2x2xf32>
      grad memref<2x8x2x2x16xbf16> outs memref<2x8x2x2x16xbf16>, memref<2x8x2x16xbf16>, memref<2x8x2x16xbf16>
  exec.return
}
