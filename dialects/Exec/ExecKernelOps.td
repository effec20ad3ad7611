//===- ExecKernelOps.td - Kernels and what only they hold -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------===//

#ifndef ULSC_EXEC_KERNEL_OPS
#define ULSC_EXEC_KERNEL_OPS

include "dialects/Exec/ExecBase.td"

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

    Kernels of one `family` (updates of parameters) are the same but for the number of elements of their tensors of rank 1, which is
    one for all of them in a kernel; a target may run several in one launch.

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
                       I64Attr:$row_dims, OptionalAttr<StrAttr>:$family);
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

#endif // ULSC_EXEC_KERNEL_OPS
