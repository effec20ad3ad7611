//===- ExecValueOps.td - exec ops on values, before buffers -------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------===//

#ifndef ULSC_EXEC_VALUE_OPS
#define ULSC_EXEC_VALUE_OPS

include "dialects/Exec/ExecBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_ApplyOp : Op<Exec_Dialect, "apply", [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value form of exec.launch";
  let description = [{
    Applies a kernel to tensors. Made when kernels are formed; the assignment of buffers makes an `exec.launch` of it.

    ```mlir
    %m = exec.apply @row_max(%x) : (tensor<8x64xf32>) -> tensor<8xf32>
    %y = exec.apply @dropout(%x) scalars(%layer) : (tensor<8x64xf32>), (i64) -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$inputs,
                       Variadic<AnyTypeOf<[I64, Index]>>:$scalars);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` (`scalars` `(` $scalars^ `)`)? attr-dict
    `:` `(` type($inputs) `)` (`,` `(` type($scalars)^ `)`)? `->` type($outputs)
  }];
}

def Exec_ContractOp : Op<Exec_Dialect, "contract", [Pure, AttrSizedOperandSegments]> {
  let summary = "the value form of exec.gemm";
  let description = [{
    `c[b, m, n] = (accumulator[b, m, n] +) sum over k of a[b, m, k] * b[b, k, n]` with sizes and strides as in
    `exec.gemm`, and its epilogues; an accumulator has the result's type and is overwritten by it where that can be.

    ```mlir
    %c = exec.contract "layers.*.up" %a, %b sizes [1, 8, 64, 16] strides [0, 16, 1], [0, 64, 1], [0, 64, 1]
        : tensor<8x16xf32>, tensor<16x64xf32> -> tensor<8x64xf32>
    %y, %z = exec.contract "layers.*.up" %a, %b sizes [1, 8, 64, 16] strides [0, 16, 1], [0, 64, 1], [0, 64, 1]
        epilogue gelu(%bias : tensor<64xf32>)
        : tensor<8x16xf32>, tensor<16x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$a, AnyRankedTensor:$b,
                       Optional<AnyRankedTensor>:$accumulator, DenseI64ArrayAttr:$sizes,
                       DenseI64ArrayAttr:$a_strides, DenseI64ArrayAttr:$b_strides, DenseI64ArrayAttr:$c_strides,
                       OptionalAttr<Exec_EpilogueAttr>:$epilogue, Optional<AnyRankedTensor>:$epilogue_input);
  let results = (outs AnyRankedTensor:$result, Optional<AnyRankedTensor>:$epilogue_output);
  let assemblyFormat = [{
    $name $a `,` $b (`onto` $accumulator^)? `sizes` $sizes `strides` $a_strides `,` $b_strides `,` $c_strides
    (`epilogue` $epilogue^ `(` ($epilogue_input^ `:` type($epilogue_input))? `)`)?
    attr-dict `:` type($a) `,` type($b) (`onto` type($accumulator)^)? `->` type($result) (`,` type($epilogue_output)^)?
  }];
}

def Exec_GetOp : Op<Exec_Dialect, "get", []> {
  let summary = "the value of a persistent buffer at the start of the step";
  let description = [{
    `name` is a parameter's or a state's symbol, or `tokens`, `targets`. Made when the step is lowered; the assignment of buffers
    makes it the buffer itself.

    ```mlir
    %w = exec.get "head.weight" : tensor<256x16xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Exec_PutOp : Op<Exec_Dialect, "put", []> {
  let summary = "the value of a persistent buffer at the end of the step";
  let description = [{
    Each persistent value is put at most once, after which no `exec.get` of it is used. The assignment of buffers has the
    value computed in the persistent buffer where that can be, and copies it otherwise.

    ```mlir
    exec.put %w1 in "head.weight" : tensor<256x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, StrAttr:$name);
  let assemblyFormat = "$value `in` $name attr-dict `:` type($value)";
}

#endif // ULSC_EXEC_VALUE_OPS
