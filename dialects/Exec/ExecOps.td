//===- ExecOps.td - Ops of the exec dialect -----------------------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------===//

#ifndef ULSC_EXEC_OPS
#define ULSC_EXEC_OPS

include "dialects/Exec/ExecDialect.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

def Exec_Buffer : Type<CPred<"::ulsc::exec::isBuffer($_self)">,
    "memref of static shape and identity layout", "::mlir::MemRefType">;
def Exec_Contiguous : Type<CPred<"::ulsc::exec::isContiguous($_self)">,
    "memref of static shape whose elements lie in row-major order", "::mlir::MemRefType">;
def Exec_Scalar : AnyTypeOf<[I64, Index], "i64 or index">;

//===-------------------------------------------------------------------------------------===//
// Functions
//===-------------------------------------------------------------------------------------===//

class Exec_FunctionLike<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat([FunctionOpInterface, IsolatedFromAbove], traits)> {
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  code functionDeclaration = [{
    llvm::ArrayRef<mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    llvm::ArrayRef<mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    mlir::Region *getCallableRegion() { return isExternal() ? nullptr : &getBody(); }
  }];
}

def Exec_FunctionOp : Exec_FunctionLike<"function"> {
  let summary = "a piece of a rank's program";
  let description = [{
    Takes buffers (static shapes, identity layout) and `i64` or `index` context values such as the
    layer index, and writes its results into buffers among them. The body is one block of exec ops,
    views and `scf.for`, ended by `exec.return`.

    Buffers allocated in the body lie in the function's *frame* of `frame_bytes` bytes, whose base
    each call passes, so that the caller's plan places it. The function with `entry` is the step
    (symbol `ulsc_step`): its frame is the arena, and `categories` may hold the arena's bytes by
    category for the manifest.

    Made by bufferization without offsets; the memory plan adds `frame_bytes` and all offsets; the
    target lowering consumes it.

    ```mlir
    exec.function private @layer.fwd(%x: memref<4x16xf32>, %y: memref<4x16xf32>, %layer: index)
        attributes {frame_bytes = 256 : i64} {
      %t = exec.buffer temporaries offset(0) : memref<4x16xf32>
      exec.copy %x to %t : memref<4x16xf32> to memref<4x16xf32>
      exec.copy %t to %y : memref<4x16xf32> to memref<4x16xf32>
      exec.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       OptionalAttr<I64Attr>:$frame_bytes,
                       UnitAttr:$entry,
                       OptionalAttr<DictionaryAttr>:$categories);
  let extraClassDeclaration = functionDeclaration;
}

def Exec_ReturnOp : Exec_Op<"return", [Terminator, HasParent<"FunctionOp">]> {
  let summary = "ends an exec.function";
  let assemblyFormat = "attr-dict";
}

def Exec_CallOp : Exec_Op<"call", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls an exec.function";
  let description = [{
    Passes buffers and context values, and the memory of the callee's frame: a buffer of at least its
    `frame_bytes`, which is free again after the call. It may be left out while the plan isn't made,
    and when the callee has no buffers of its own.

    ```mlir
    exec.call @layer.fwd(%x, %y, %layer) frame(%f : memref<256xi8>)
        : memref<4x16xf32>, memref<4x16xf32>, index
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee,
                       Arg<Variadic<AnyTypeOf<[Exec_Contiguous, I64, Index]>>, "",
                           [MemRead, MemWrite]>:$args,
                       Arg<Optional<Exec_Contiguous>, "", [MemWrite]>:$frame);
  let assemblyFormat = [{
    $callee `(` $args `)` (`frame` `(` $frame^ `:` type($frame) `)`)? attr-dict
    (`:` type($args)^)?
  }];
}

//===-------------------------------------------------------------------------------------===//
// Memory
//===-------------------------------------------------------------------------------------===//

def Exec_BufferOp : Exec_Op<"buffer"> {
  let summary = "memory of the enclosing function's frame";
  let description = [{
    Its contents are undefined where it stands, except in the entry function for buffers that the
    runtime fills (parameters, optimizer state, inputs). `offset` is in bytes, a multiple of 64; it
    is absent until the memory plan. `name` serves reports.

    ```mlir
    %b = exec.buffer temporaries offset(4096) : memref<2x64x64xf32>
    %w = exec.buffer parameters "wte.weight" : memref<50257x768xf32>
    ```
  }];
  let arguments = (ins Exec_CategoryAttr:$category, OptionalAttr<StrAttr>:$name,
                       OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Exec_Buffer, "", [MemAlloc]>:$result);
  let assemblyFormat = [{
    $category ($name^)? (`offset` `(` $offset^ `)`)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Exec_SlotOp : Exec_Op<"slot", [Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "one entry of a buffer's leading dimension";
  let description = [{
    How a microbatch finds its part of the inputs and of values in flight. The result aliases the
    source at `index` times the entry's size.

    ```mlir
    %x = exec.slot %inputs[%m] : memref<4x2x64xi32> to memref<2x64xi32>
    ```
  }];
  let arguments = (ins Exec_Contiguous:$source, Index:$index);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = [{
    $source `[` $index `]` attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Exec_ViewOp : Exec_Op<"view", [Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "a buffer seen with another shape";
  let description = [{
    The result aliases the source from element `offset` (of the source's type) on, as a row-major
    buffer. Shape and element type may differ; the result lies within the source.

    ```mlir
    %v = exec.view %b offset(128) : memref<4x64xf32> to memref<2x2x32xf32>
    ```
  }];
  let arguments = (ins Exec_Contiguous:$source, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = [{
    $source (`offset` `(` $offset^ `)`)? attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Exec_CopyOp : Exec_Op<"copy"> {
  let summary = "copies a buffer";
  let description = [{
    Source and target have as many elements of the same type; their shapes may differ. They are the
    same memory or don't overlap.

    ```mlir
    exec.copy %a to %b : memref<4x16xf32> to memref<64xf32>
    ```
  }];
  let arguments = (ins Arg<Exec_Contiguous, "", [MemRead]>:$source,
                       Arg<Exec_Contiguous, "", [MemWrite]>:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `to` type($target)";
  let hasVerifier = 1;
}

def Exec_FillOp : Exec_Op<"fill"> {
  let summary = "sets every element of a buffer to a constant";
  let description = [{
    ```mlir
    exec.fill %b with 0.000000e+00 : f32 : memref<4x16xf32>
    ```
  }];
  let arguments = (ins Arg<Exec_Contiguous, "", [MemWrite]>:$target,
                       TypedAttrInterface:$value);
  let assemblyFormat = "$target `with` $value attr-dict `:` type($target)";
  let hasVerifier = 1;
}

//===-------------------------------------------------------------------------------------===//
// Kernels
//===-------------------------------------------------------------------------------------===//

def Exec_KernelOp : Exec_FunctionLike<"kernel"> {
  let summary = "a fused group of tensor ops, split across threads as a whole";
  let description = [{
    A function with value semantics: tensors of static shape (rank 0 for scalars in memory) and
    `i64`/`index` scalars in, tensors out. Its body holds `linalg.generic` on tensors with
    `tensor.empty`, `linalg.fill` and scalar constants, ended by `exec.yield`. Bodies of the generics
    are `arith`, `math` and `linalg.index` ops, `exec.control`, `exec.random` and `tensor.extract`
    from arguments of the kernel (for gathers). Kernels with the same body are kept once.

    - kind `rows` (default): the first `row_dims` iteration dimensions of each generic are parallel
      and of the same sizes, the *rows*, split across threads. Every value that flows between ops
      is indexed by identity in them. The other dimensions, the *columns*, are parallel or
      reduced and are processed inside a row.
    - kind `columns`: the first `row_dims` dimensions are reduced by the generics whose results
      have no rows; the columns are parallel and split across threads; each thread walks all rows
      in order. Elementwise ops before the reduction have rows and columns, ops after it only
      columns.
    - kind `scatter`: elementwise ops over rows and columns, then one `exec.scatter_add`, whose
      result is yielded; the columns are split across threads.

    Inputs may be indexed in any way. Reductions have f32, i32 or i64 results: sums of narrower
    floats are formed in f32. Float compares and arithmetic keep NaN and infinities; sums may be
    reassociated and products contracted.

    ```mlir
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
      exec.yield %m : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       DefaultValuedOptionalAttr<Exec_KernelKindAttr, "::ulsc::exec::KernelKind::Rows">:$kind,
                       I64Attr:$row_dims);
  let extraClassDeclaration = functionDeclaration # [{
    /// Checks what holds when a target emits the kernel, and need not before: only ops that emission knows.
    llvm::LogicalResult verifyLowered();
  }];
}

def Exec_YieldOp : Exec_Op<"yield", [Terminator, HasParent<"KernelOp">]> {
  let summary = "the results of an exec.kernel";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let hasVerifier = 1;
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Exec_ScatterAddOp : Exec_Op<"scatter_add", [Pure, HasParent<"KernelOp">,
    AllTypesMatch<["init", "result"]>]> {
  let summary = "adds rows of values into rows of a table, chosen by an index per row";
  let description = [{
    `result = init`, then for each row `r` in order `result[indices[r], c...] += values[r, c...]`.
    Rows whose index is negative or past the table are ignored. A launch passes `init` and the
    result as the same buffer or as buffers that don't overlap.

    ```mlir
    %g = exec.scatter_add %dx at %ids into %table
        : tensor<2x64x16xf32>, tensor<2x64xi32>, tensor<100x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$values, AnyRankedTensor:$indices, AnyRankedTensor:$init);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $values `at` $indices `into` $init attr-dict `:` type($values) `,` type($indices) `,` type($init)
  }];
  let hasVerifier = 1;
}

def Exec_ControlOp : Exec_Op<"control", [Pure]> {
  let summary = "a field of the control block, inside a kernel";
  let description = [{
    The field's name is that in `ulsc_control`; floats are f32, `seed` and `step` are i64.

    ```mlir
    %lr = exec.control "learning_rate" : f32
    ```
  }];
  let arguments = (ins StrAttr:$field);
  let results = (outs AnyTypeOf<[F32, I64]>:$result);
  let assemblyFormat = "$field attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Exec_ParameterScaleOp : Exec_Op<"parameter_scale", [Pure]> {
  let summary = "an entry of the control block's parameter scales, inside a kernel";
  let description = [{
    Entry `2 * i` scales the learning rate of trainable parameter `i`, entry `2 * i + 1` its weight decay.

    ```mlir
    %s = exec.parameter_scale %entry : f32
    ```
  }];
  let arguments = (ins I64:$entry);
  let results = (outs F32:$result);
  let assemblyFormat = "$entry attr-dict `:` type($result)";
}

def Exec_RandomOp : Exec_Op<"random", [Pure]> {
  let summary = "word 0 of the counter-based generator, inside a kernel";
  let description = [{
    The word at global element `index` of the stream that `include/ulsc/Random.h` defines for the
    control block's seed and step, the name hash `key` and the layer `instance`.

    ```mlir
    %w = exec.random %index, %layer {key = 42 : i64} : i32
    ```
  }];
  let arguments = (ins I64:$index, I64:$instance, I64Attr:$key);
  let results = (outs I32:$result);
  let assemblyFormat = "$index `,` $instance attr-dict `:` type($result)";
}

def Exec_LaunchOp : Exec_Op<"launch", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel on buffers";
  let description = [{
    `ins` are the kernel's tensor arguments, `outs` its results, `scalars` its scalar arguments, each
    in order. An output may be the same memory as an input where the target says so (`exec` kernels
    of kind `rows`: `mayWriteInPlace`), and otherwise overlaps none. `extent` and `grain` are added
    when the target has emitted the kernel.

    ```mlir
    exec.launch @row_max ins(%x : memref<8x64xf32>) outs(%m : memref<8xf32>)
    exec.launch @dropout ins(%x : memref<8x64xf32>) outs(%y : memref<8x64xf32>) scalars(%layer : i64)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
                       Arg<Variadic<Exec_Contiguous>, "", [MemRead]>:$inputs,
                       Arg<Variadic<Exec_Contiguous>, "", [MemWrite]>:$outputs,
                       Variadic<Exec_Scalar>:$scalars,
                       OptionalAttr<I64Attr>:$extent, OptionalAttr<I64Attr>:$grain);
  let assemblyFormat = [{
    $kernel (`ins` `(` $inputs^ `:` type($inputs) `)`)? (`outs` `(` $outputs^ `:` type($outputs) `)`)?
    (`scalars` `(` $scalars^ `:` type($scalars) `)`)? attr-dict
  }];
}

//===-------------------------------------------------------------------------------------===//
// Library work
//===-------------------------------------------------------------------------------------===//

def Exec_GemmOp : Exec_Op<"gemm"> {
  let summary = "a batched matrix product with strides";
  let description = [{
    `c[b, m, n] (+)= sum over k of a[b, m, k] * b[b, k, n]`. `sizes` are [batch, m, n, k], strides are in
    elements, in the order of the formula: `a_strides` [batch, m, k], `b_strides` [batch, k, n],
    `c_strides` [batch, m, n]. With `accumulate` c is added to. `c` overlaps neither a nor b.
    `name` is the source op, for messages and traces; `workspace` is bytes for the library.

    ```mlir
    exec.gemm "layers.*.up" %a, %b outs(%c) workspace(%w) sizes [1, 8, 64, 16]
        strides [0, 16, 1], [0, 64, 1], [0, 64, 1] accumulate
        : memref<8x16xf32>, memref<16x64xf32>, memref<8x64xf32>, memref<1024xi8>
    ```
  }];
  let arguments = (ins StrAttr:$name,
                       Arg<Exec_Contiguous, "", [MemRead]>:$a,
                       Arg<Exec_Contiguous, "", [MemRead]>:$b,
                       Arg<Exec_Contiguous, "", [MemRead, MemWrite]>:$c,
                       Arg<Optional<Exec_Contiguous>, "", [MemWrite]>:$workspace,
                       DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$a_strides,
                       DenseI64ArrayAttr:$b_strides, DenseI64ArrayAttr:$c_strides,
                       UnitAttr:$accumulate);
  let assemblyFormat = [{
    $name $a `,` $b `outs` `(` $c `)` (`workspace` `(` $workspace^ `)`)? `sizes` $sizes
    `strides` $a_strides `,` $b_strides `,` $c_strides (`accumulate` $accumulate^)? attr-dict
    `:` type($a) `,` type($b) `,` type($c) (`,` type($workspace)^)?
  }];
  let hasVerifier = 1;
}

// What attention and its gradient share. Dropout: `rate` as compiled, `key` the name's hash.
defvar attentionAttributes = (ins F32Attr:$scale, UnitAttr:$causal,
                                  OptionalAttr<F32Attr>:$dropout_rate, OptionalAttr<I64Attr>:$dropout_key,
                                  OptionalAttr<DenseI64ArrayAttr>:$dropout_sizes);

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

    `scratch` holds what all threads need: `attentionScratchBytes` of the target.

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

//===-------------------------------------------------------------------------------------===//
// Communication
//===-------------------------------------------------------------------------------------===//

def Exec_CollectiveStartOp : Exec_Op<"collective_start", [AttrSizedOperandSegments]> {
  let summary = "starts a collective";
  let description = [{
    Several operands travel as one logical collective. `group` and `identifier` index the manifest's groups
    and collectives. Until the `exec.collective_wait` of the same slot nobody touches the buffers, and the slot
    holds nothing else. Input `i` and output `i` have one element type; an all-reduce may be in place.

    ```mlir
    exec.collective_start all_reduce reduction(sum) group(0) identifier(3) slot(1) ins(%g, %h) outs(%g, %h)
        : memref<64xf32>, memref<8x8xf32> to memref<64xf32>, memref<8x8xf32>
    ```
  }];
  let arguments = (ins Exec_CollectiveKindAttr:$kind, OptionalAttr<Exec_ReductionAttr>:$reduction,
                       I64Attr:$group, I64Attr:$identifier, I64Attr:$slot,
                       Arg<Variadic<Exec_Contiguous>, "", [MemRead]>:$inputs,
                       Arg<Variadic<Exec_Contiguous>, "", [MemWrite]>:$outputs);
  let assemblyFormat = [{
    $kind (`reduction` `(` $reduction^ `)`)? `group` `(` $group `)` `identifier` `(` $identifier `)` `slot` `(` $slot `)`
    `ins` `(` $inputs `)` `outs` `(` $outputs `)` attr-dict `:` type($inputs) `to` type($outputs)
  }];
  let hasVerifier = 1;
}

def Exec_CollectiveWaitOp : Exec_Op<"collective_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for the collective in a slot";
  let description = [{
    ```mlir
    exec.collective_wait slot(1)
    ```
  }];
  let arguments = (ins I64Attr:$slot);
  let assemblyFormat = "`slot` `(` $slot `)` attr-dict";
}

//===-------------------------------------------------------------------------------------===//
// Control block
//===-------------------------------------------------------------------------------------===//

def Exec_ReadControlOp : Exec_Op<"read_control"> {
  let summary = "copies a field of the control block into a buffer";
  let description = [{
    ```mlir
    exec.read_control "stop_requested" to %s : memref<f32>
    ```
  }];
  let arguments = (ins StrAttr:$field, Arg<Exec_Contiguous, "", [MemWrite]>:$target);
  let assemblyFormat = "$field `to` $target attr-dict `:` type($target)";
  let hasVerifier = 1;
}

def Exec_WriteControlOp : Exec_Op<"write_control"> {
  let summary = "copies a buffer into a field of the control block that the step reports";
  let description = [{
    The field is `loss`, `grad_norm`, `valid_count` or `stop_count`.

    ```mlir
    exec.write_control "loss" from %l : memref<f32>
    ```
  }];
  let arguments = (ins StrAttr:$field, Arg<Exec_Contiguous, "", [MemRead]>:$source);
  let assemblyFormat = "$field `from` $source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Exec_CoordinateOp : Exec_Op<"coordinate", [Pure]> {
  let summary = "this rank's coordinate on a mesh axis";
  let description = [{
    ```mlir
    %d = exec.coordinate axis(0) : index
    ```
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs Exec_Scalar:$result);
  let assemblyFormat = "`axis` `(` $axis `)` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

// Ops on values that become the above when buffers are assigned.
include "dialects/Exec/ExecValueOps.td"

#endif // ULSC_EXEC_OPS
