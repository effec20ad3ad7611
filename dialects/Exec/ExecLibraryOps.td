//===- ExecLibraryOps.td - Work of libraries: matrix products and attention -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------===//

#ifndef ULSC_EXEC_LIBRARY_OPS
#define ULSC_EXEC_LIBRARY_OPS

include "dialects/Exec/ExecBase.td"

def Exec_GemmOp : Exec_Op<"gemm", [AttrSizedOperandSegments]> {
  let summary = "a batched matrix product with strides";
  let description = [{
    `c[b, m, n] (+)= sum over k of a[b, m, k] * b[b, k, n]`. `sizes` are [batch, m, n, k], strides are in
    elements, in the order of the formula: `a_strides` [batch, m, k], `b_strides` [batch, k, n],
    `c_strides` [batch, m, n]. With `accumulate` c is added to. `c` overlaps neither a nor b.
    `name` is the source op, for messages and traces; `workspace` is bytes for the library.

    With an `epilogue` (targets whose library has them, c by rows, one batch, no accumulation) the library does more with the
    product p than to store it. Everything that it takes or gives has c's element type; vectors have n elements, matrices c's shape.

    | epilogue | takes | c | gives |
    |---|---|---|---|
    | `bias` | bias | p + bias | |
    | `gelu` | bias | gelu(z) of z = p + bias | z |
    | `gelu_grad` | z | p * gelu'(z) | |
    | `gelu_bias_grad` | z | p * gelu'(z) | sum over m of c |
    | `bias_grad` | | p | sum over k of b |

    gelu is the approximation by tanh.

    ```mlir
    exec.gemm "layers.*.up" %a, %b outs(%c) workspace(%w) sizes [1, 8, 64, 16]
        strides [0, 16, 1], [0, 64, 1], [0, 64, 1] accumulate
        : memref<8x16xf32>, memref<16x64xf32>, memref<8x64xf32>, memref<1024xi8>
    exec.gemm "layers.*.up" %a, %b outs(%c) sizes [1, 8, 64, 16] strides [0, 16, 1], [0, 64, 1], [0, 64, 1]
        epilogue gelu(%bias : memref<64xf32> -> %z : memref<8x64xf32>)
        : memref<8x16xf32>, memref<16x64xf32>, memref<8x64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name,
                       Arg<Exec_Contiguous, "", [MemRead]>:$a,
                       Arg<Exec_Contiguous, "", [MemRead]>:$b,
                       Arg<Exec_Contiguous, "", [MemRead, MemWrite]>:$c,
                       Arg<Optional<Exec_Contiguous>, "", [MemWrite]>:$workspace,
                       DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$a_strides,
                       DenseI64ArrayAttr:$b_strides, DenseI64ArrayAttr:$c_strides,
                       UnitAttr:$accumulate, OptionalAttr<Exec_EpilogueAttr>:$epilogue,
                       Arg<Optional<Exec_Contiguous>, "", [MemRead]>:$epilogue_input,
                       Arg<Optional<Exec_Contiguous>, "", [MemWrite]>:$epilogue_output);
  let assemblyFormat = [{
    $name $a `,` $b `outs` `(` $c `)` (`workspace` `(` $workspace^ `)`)? `sizes` $sizes
    `strides` $a_strides `,` $b_strides `,` $c_strides (`accumulate` $accumulate^)?
    (`epilogue` $epilogue^ `(` ($epilogue_input^ `:` type($epilogue_input))?
                               (`->` $epilogue_output^ `:` type($epilogue_output))? `)`)? attr-dict
    `:` type($a) `,` type($b) `,` type($c) (`,` type($workspace)^)?
  }];
  let hasVerifier = 1;
}

// What attention and its gradient share. Dropout: `rate` as compiled, `key` the name's hash. `library`: who computes it; the
// target's own kernels where it is missing.
defvar attentionAttributes = (ins F32Attr:$scale, UnitAttr:$causal,
                                  OptionalAttr<F32Attr>:$dropout_rate, OptionalAttr<I64Attr>:$dropout_key,
                                  OptionalAttr<DenseI64ArrayAttr>:$dropout_sizes,
                                  OptionalAttr<Exec_AttentionLibraryAttr>:$library);

def Exec_AttentionOp : Exec_Op<"attention", [AttrSizedOperandSegments]> {
  let summary = "attention of grouped queries over keys and values, without a full score matrix";
  let description = [{
    Shapes: q and out [B,S,K,G,D], k and v [B,T,K,D], lse [B,S,K,G] in f32, `q_positions` [B,S] and
    `kv_positions` [B,T] i32, `q_segments` [B,S] and `kv_segments` [B,T] i32. K counts key/value heads, G
    the query heads of each.

    `p = softmax over t of scale * q . k` over the keys with the same segment and, with `causal`, of a
    position not after the query's; `out = p v`; `lse` the log of the softmax's sum. A query that sees no
    key has out 0 and lse -inf.

    With `dropout_rate` (used where the control block's rate is negative) p is dropped and scaled by
    1/(1-rate) before the product with v. An element's global index is
    `((row * H + head) * S + query) * T + key` with `dropout_sizes` [H, S, T] and the `scalars` layer, row offset,
    head offset, query offset, key offset added to the local indices; head is `k * G + g`.

    `scratch` holds what all threads need: `attentionScratchBytes` of the target, or the library's workspace.

    `library = #exec.attention_library<cudnn>` (bf16 and f16, no dropout, no segments) says that positions count from 0 in queries and
    keys alike, so that the library's masks, which go by indices, are the same.

    ```mlir
    exec.attention %q, %k, %v positions(%qp, %kp) segments(%qs, %ks) outs(%o, %lse) scratch(%w) {
        scale = 0.125 : f32, causal} : memref<2x8x2x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8x2x16xf32>,
        memref<2x8xi32>, memref<2x8xi32>, memref<2x8xi32>, memref<2x8xi32>
        outs memref<2x8x2x2x16xf32>, memref<2x8x2x2xf32> scratch memref<8192xi8>
    ```
  }];
  let arguments = !con((ins Arg<Exec_Contiguous, "", [MemRead]>:$q,
                       Arg<Exec_Contiguous, "", [MemRead]>:$k,
                       Arg<Exec_Contiguous, "", [MemRead]>:$v,
                       Arg<Exec_Contiguous, "", [MemRead]>:$q_positions,
                       Arg<Exec_Contiguous, "", [MemRead]>:$kv_positions,
                       Arg<Optional<Exec_Contiguous>, "", [MemRead]>:$q_segments,
                       Arg<Optional<Exec_Contiguous>, "", [MemRead]>:$kv_segments,
                       Arg<Exec_Contiguous, "", [MemWrite]>:$out,
                       Arg<Exec_Contiguous, "", [MemWrite]>:$lse,
                       Arg<Optional<Exec_Contiguous>, "", [MemWrite]>:$scratch,
                       Variadic<Exec_Scalar>:$scalars), attentionAttributes);
  let assemblyFormat = [{
    $q `,` $k `,` $v `positions` `(` $q_positions `,` $kv_positions `)`
    (`segments` `(` $q_segments^ `,` $kv_segments `)`)? `outs` `(` $out `,` $lse `)`
    (`scratch` `(` $scratch^ `)`)? (`scalars` `(` $scalars^ `:` type($scalars) `)`)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) `,` type($q_positions) `,` type($kv_positions)
    (`,` type($q_segments)^ `,` type($kv_segments))? `outs` type($out) `,` type($lse) (`scratch` type($scratch)^)?
  }];
  let hasVerifier = 1;
}

def Exec_AttentionGradOp : Exec_Op<"attention_grad", [AttrSizedOperandSegments]> {
  let summary = "the gradient of exec.attention, recomputing its probabilities";
  let description = [{
    Takes the forward's operands, its results and the gradient `dout` of out; writes the gradients of q, k
    and v, in their shapes. Masks and dropped elements are those of the forward.

    ```mlir
    exec.attention_grad %q, %k, %v positions(%qp, %kp) forward(%o, %lse) grad(%do) outs(%dq, %dk, %dv)
        scratch(%w) {scale = 0.125 : f32, causal} : memref<2x8x2x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8x2x16xf32>,
        memref<2x8xi32>, memref<2x8xi32> forward memref<2x8x2x2x16xf32>, memref<2x8x2x2xf32>
        grad memref<2x8x2x2x16xf32> outs memref<2x8x2x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8x2x16xf32>
        scratch memref<8192xi8>
    ```
  }];
  let arguments = !con((ins Arg<Exec_Contiguous, "", [MemRead]>:$q,
                       Arg<Exec_Contiguous, "", [MemRead]>:$k,
                       Arg<Exec_Contiguous, "", [MemRead]>:$v,
                       Arg<Exec_Contiguous, "", [MemRead]>:$q_positions,
                       Arg<Exec_Contiguous, "", [MemRead]>:$kv_positions,
                       Arg<Optional<Exec_Contiguous>, "", [MemRead]>:$q_segments,
                       Arg<Optional<Exec_Contiguous>, "", [MemRead]>:$kv_segments,
                       Arg<Exec_Contiguous, "", [MemRead]>:$out,
                       Arg<Exec_Contiguous, "", [MemRead]>:$lse,
                       Arg<Exec_Contiguous, "", [MemRead]>:$dout,
                       Arg<Exec_Contiguous, "", [MemWrite]>:$dq,
                       Arg<Exec_Contiguous, "", [MemWrite]>:$dk,
                       Arg<Exec_Contiguous, "", [MemWrite]>:$dv,
                       Arg<Optional<Exec_Contiguous>, "", [MemWrite]>:$scratch,
                       Variadic<Exec_Scalar>:$scalars), attentionAttributes);
  let assemblyFormat = [{
    $q `,` $k `,` $v `positions` `(` $q_positions `,` $kv_positions `)`
    (`segments` `(` $q_segments^ `,` $kv_segments `)`)? `forward` `(` $out `,` $lse `)` `grad` `(` $dout `)`
    `outs` `(` $dq `,` $dk `,` $dv `)`
    (`scratch` `(` $scratch^ `)`)? (`scalars` `(` $scalars^ `:` type($scalars) `)`)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) `,` type($q_positions) `,` type($kv_positions)
    (`,` type($q_segments)^ `,` type($kv_segments))? `forward` type($out) `,` type($lse) `grad` type($dout)
    `outs` type($dq) `,` type($dk) `,` type($dv) (`scratch` type($scratch)^)?
  }];
  let hasVerifier = 1;
}

#endif // ULSC_EXEC_LIBRARY_OPS
