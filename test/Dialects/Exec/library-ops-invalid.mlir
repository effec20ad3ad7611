// RUN: ulsc-opt %s -split-input-file -verify-diagnostics

exec.function private @epilogue_of_batches(%a: memref<2x4x4xf32>, %bias: memref<4xf32>) {
  // expected-error @below {{has an epilogue and so needs one batch, c by rows without gaps, and no accumulation}}
  exec.gemm "x" %a, %a outs(%a) sizes [2, 4, 4, 4] strides [16, 4, 1], [16, 4, 1], [16, 4, 1] epilogue bias(%bias : memref<4xf32>)
      : memref<2x4x4xf32>, memref<2x4x4xf32>, memref<2x4x4xf32>
  exec.return
}

// -----

exec.function private @epilogue_by_columns(%a: memref<4x4xf32>, %bias: memref<4xf32>) {
  // expected-error @below {{has an epilogue and so needs one batch, c by rows without gaps, and no accumulation}}
  exec.gemm "x" %a, %a outs(%a) sizes [1, 4, 4, 4] strides [0, 4, 1], [0, 4, 1], [0, 1, 4] epilogue bias(%bias : memref<4xf32>)
      : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  exec.return
}

// -----

exec.function private @epilogue_with_gaps(%a: memref<4x4xf32>, %c: memref<4x8xf32>, %bias: memref<4xf32>) {
  // expected-error @below {{has an epilogue and so needs one batch, c by rows without gaps, and no accumulation}}
  exec.gemm "x" %a, %a outs(%c) sizes [1, 4, 4, 4] strides [0, 4, 1], [0, 4, 1], [0, 8, 1] epilogue bias(%bias : memref<4xf32>)
      : memref<4x4xf32>, memref<4x4xf32>, memref<4x8xf32>
  exec.return
}

// -----

exec.function private @epilogue_of_sum(%a: memref<4x4xf32>, %bias: memref<4xf32>) {
  // expected-error @below {{has an epilogue and so needs one batch, c by rows without gaps, and no accumulation}}
  exec.gemm "x" %a, %a outs(%a) sizes [1, 4, 4, 4] strides [0, 4, 1], [0, 4, 1], [0, 4, 1] accumulate epilogue bias(%bias : memref<4xf32>)
      : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  exec.return
}

// -----

exec.function private @bias_without_bias(%a: memref<4x4xf32>) {
  // expected-error @below {{epilogue bias needs an input}}
  exec.gemm "x" %a, %a outs(%a) sizes [1, 4, 4, 4] strides [0, 4, 1], [0, 4, 1], [0, 4, 1] epilogue bias()
      : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  exec.return
}

// -----

exec.function private @bias_with_output(%a: memref<4x4xf32>, %bias: memref<4xf32>) {
  // expected-error @below {{epilogue bias takes no output}}
  exec.gemm "x" %a, %a outs(%a) sizes [1, 4, 4, 4] strides [0, 4, 1], [0, 4, 1], [0, 4, 1]
      epilogue bias(%bias : memref<4xf32> -> %a : memref<4x4xf32>) : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  exec.return
}

// -----

exec.function private @gelu_without_output(%a: memref<4x4xf32>, %bias: memref<4xf32>) {
  // expected-error @below {{epilogue gelu needs an output}}
  exec.gemm "x" %a, %a outs(%a) sizes [1, 4, 4, 4] strides [0, 4, 1], [0, 4, 1], [0, 4, 1]
      epilogue gelu(%bias : memref<4xf32>) : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  exec.return
}

// -----

exec.function private @gelu_grad_of_vector(%a: memref<4x4xf32>, %bias: memref<4xf32>) {
  // expected-error @below {{epilogue's input is 'memref<4xf32>', not 16 elements of 'f32'}}
  exec.gemm "x" %a, %a outs(%a) sizes [1, 4, 4, 4] strides [0, 4, 1], [0, 4, 1], [0, 4, 1]
      epilogue gelu_grad(%bias : memref<4xf32>) : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  exec.return
}

// -----

exec.function private @gelu_on_itself(%a: memref<4x4xf32>, %bias: memref<4xf32>, %c: memref<4x4xf32>) {
  // expected-error @below {{epilogue's output is c itself, which it has to lie beside}}
  exec.gemm "x" %a, %a outs(%c) sizes [1, 4, 4, 4] strides [0, 4, 1], [0, 4, 1], [0, 4, 1]
      epilogue gelu(%bias : memref<4xf32> -> %c : memref<4x4xf32>) : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  exec.return
}

// -----

exec.function private @gelu_bias_grad_without_output(%a: memref<4x4xf32>, %c: memref<4x4xf32>) {
  // expected-error @below {{epilogue gelu_bias_grad needs an output}}
  exec.gemm "x" %a, %a outs(%c) sizes [1, 4, 4, 4] strides [0, 4, 1], [0, 4, 1], [0, 4, 1]
      epilogue gelu_bias_grad(%a : memref<4x4xf32>) : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  exec.return
}

// -----

exec.function private @bias_grad_with_input(%a: memref<4x4xf32>, %bias: memref<4xf32>) {
  // expected-error @below {{epilogue bias_grad takes no input}}
  exec.gemm "x" %a, %a outs(%a) sizes [1, 4, 4, 4] strides [0, 4, 1], [0, 4, 1], [0, 4, 1]
      epilogue bias_grad(%a : memref<4x4xf32> -> %bias : memref<4xf32>) : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  exec.return
}

// -----

exec.function private @bias_of_other_type(%a: memref<4x4xf32>, %bias: memref<4xbf16>) {
  // expected-error @below {{epilogue's output is 'memref<4xbf16>', not 4 elements of 'f32'}}
  exec.gemm "x" %a, %a outs(%a) sizes [1, 4, 4, 4] strides [0, 4, 1], [0, 4, 1], [0, 4, 1]
      epilogue bias_grad(-> %bias : memref<4xbf16>) : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  exec.return
}

// -----

exec.function private @operands_of_no_epilogue(%a: memref<4x4xf32>, %bias: memref<4xf32>) {
  // expected-error @below {{has operands of an epilogue without one}}
  "exec.gemm"(%a, %a, %a, %bias) <{name = "x", sizes = array<i64: 1, 4, 4, 4>, a_strides = array<i64: 0, 4, 1>,
      b_strides = array<i64: 0, 4, 1>, c_strides = array<i64: 0, 4, 1>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>}>
      : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4xf32>) -> ()
  exec.return
}

// -----

exec.function private @wide_attention(%q: memref<2x8x2x2x16xf32>, %k: memref<2x8x2x16xf32>, %p: memref<2x8xi32>, %lse: memref<2x8x2x2xf32>) {
  // expected-error @below {{is given to cudnn, which takes bf16 and f16 without dropout or segments}}
  exec.attention %q, %k, %k positions(%p, %p) outs(%q, %lse) {scale = 0.25 : f32, library = #exec.attention_library<cudnn>}
      : memref<2x8x2x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8xi32>, memref<2x8xi32>
      outs memref<2x8x2x2x16xf32>, memref<2x8x2x2xf32>
  exec.return
}

// -----

exec.function private @wide_attention_grad(%q: memref<2x8x2x2x16xf32>, %k: memref<2x8x2x16xf32>, %p: memref<2x8xi32>, %lse: memref<2x8x2x2xf32>) {
  // expected-error @below {{is given to cudnn, which takes bf16 and f16 without dropout or segments}}
  exec.attention_grad %q, %k, %k positions(%p, %p) forward(%q, %lse) grad(%q) outs(%q, %k, %k)
      {scale = 0.25 : f32, library = #exec.attention_library<cudnn>}
      : memref<2x8x2x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8xi32>, memref<2x8xi32>
      forward memref<2x8x2x2x16xf32>, memref<2x8x2x2xf32> grad memref<2x8x2x2x16xf32>
      outs memref<2x8x2x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8x2x16xf32>
  exec.return
}

// -----

exec.function private @packed_attention(%q: memref<2x8x2x2x16xbf16>, %k: memref<2x8x2x16xbf16>, %p: memref<2x8xi32>, %lse: memref<2x8x2x2xf32>) {
  // expected-error @below {{is given to cudnn, which takes bf16 and f16 without dropout or segments}}
  exec.attention %q, %k, %k positions(%p, %p) segments(%p, %p) outs(%q, %lse) {scale = 0.25 : f32, library = #exec.attention_library<cudnn>}
      : memref<2x8x2x2x16xbf16>, memref<2x8x2x16xbf16>, memref<2x8x2x16xbf16>, memref<2x8xi32>, memref<2x8xi32>, memref<2x8xi32>, memref<2x8xi32>
      outs memref<2x8x2x2x16xbf16>, memref<2x8x2x2xf32>
  exec.return
}

// -----

exec.function private @dropping_attention(%q: memref<2x8x2x2x16xbf16>, %k: memref<2x8x2x16xbf16>, %p: memref<2x8xi32>, %lse: memref<2x8x2x2xf32>, %i: i64) {
  // expected-error @below {{is given to cudnn, which takes bf16 and f16 without dropout or segments}}
  exec.attention %q, %k, %k positions(%p, %p) outs(%q, %lse) scalars(%i, %i, %i, %i, %i : i64, i64, i64, i64, i64)
      {scale = 0.25 : f32, library = #exec.attention_library<cudnn>, dropout_rate = 0.1 : f32, dropout_key = 5 : i64, dropout_sizes = array<i64: 4, 8, 8>}
      : memref<2x8x2x2x16xbf16>, memref<2x8x2x16xbf16>, memref<2x8x2x16xbf16>, memref<2x8xi32>, memref<2x8xi32>
      outs memref<2x8x2x2x16xbf16>, memref<2x8x2x2xf32>
  exec.return
}

// -----

uls.block @library_by_name(%q: tensor<2x8x2x2x16xbf16>, %k: tensor<2x8x2x16xbf16>, %p: tensor<2x8xi32>) -> (tensor<2x8x2x2x16xbf16>) {
  // expected-error @below {{has exec.library = "cudnn", not a library of attention such as #exec.attention_library<cudnn>}}
  %o, %lse = uls.attention %q, %k, %k positions %p, %p {scale = 0.25 : f64, causal, exec.library = "cudnn"}
    : tensor<2x8x2x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
  uls.yield %o : tensor<2x8x2x2x16xbf16>
}
