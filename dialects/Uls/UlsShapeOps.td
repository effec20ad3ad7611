//===- UlsShapeOps.td - Contractions, reductions and changes of shape -------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_ULS_ULSSHAPEOPS_TD
#define ULSC_DIALECTS_ULS_ULSSHAPEOPS_TD

include "dialects/Uls/UlsElementwiseOps.td"

class Uls_ShapeOp<string mnemonic, list<Trait> traits = []>
    : Uls_Op<mnemonic, [Pure, Uls_Differentiable, DeclareOpInterfaceMethods<ShardingRuleOpInterface>] # traits>;

def Uls_EinsumOp : Uls_ShapeOp<"einsum"> {
  let summary = "contraction of two tensors";
  let description = [{
    `equation` names the dimensions of both operands and of the result by letters. A letter in both operands but not in the result
    is summed over; sums are formed in f32 and rounded once to the result's element type. A letter stands for one size; it occurs at
    most once per tensor; each result letter occurs in an operand, and a letter of only one operand occurs in the result.

    Example:
    ```
    %2 = uls.einsum "bse,em->bsm" %0, %1 : tensor<2x8x16xf32>, tensor<16x64xf32> -> tensor<2x8x64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$equation, AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$equation $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($output)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The letters of lhs, rhs and result.
    llvm::StringRef getLhsLetters();
    llvm::StringRef getRhsLetters();
    llvm::StringRef getResultLetters();
    /// Size of the dimension a letter names.
    int64_t getSize(char letter);
  }];
}

def Uls_ReduceOp : Uls_ShapeOp<"reduce", [CheapToRecompute]> {
  let summary = "sum or maximum over dimensions";
  let description = [{
    Removes `dims`. Sums are formed in f32. The maximum's adjoint goes to the first maximal element of each group.

    Example:
    ```
    %1 = uls.reduce sum %0 dims [0, 1] : tensor<2x8x16xf32> -> tensor<16xf32>
    ```
  }];
  let arguments = (ins Uls_ReduceKindAttr:$kind, AnyRankedTensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$kind $input `dims` $dims attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Uls_ReduceMaxGradOp : Uls_Op<"reduce_max_grad", [Pure, CheapToRecompute, AllTypesMatch<["input", "output"]>,
                                                     AllTypesMatch<["max", "cotangent"]>,
                                                     DeclareOpInterfaceMethods<ShardingRuleOpInterface>]> {
  let summary = "cotangent of the operand of a maximum over dimensions";
  let description = [{
    `cotangent` at the first element (in row-major order of `dims`) of each group that equals its `max`, 0 elsewhere.

    Example:
    ```
    %1 = uls.reduce_max_grad %x, %max, %dy dims [1] : tensor<4x8xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$max, AnyRankedTensor:$cotangent,
                       DenseI64ArrayAttr:$dims);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input `,` $max `,` $cotangent `dims` $dims attr-dict `:` type($input) `,` type($max)";
  let hasVerifier = 1;
}

def Uls_BroadcastOp : Uls_ShapeOp<"broadcast", [CheapToRecompute]> {
  let summary = "repeats a tensor along new dimensions";
  let description = [{
    Operand dimension i becomes result dimension `dims[i]` (ascending); every other result dimension repeats it.

    Example:
    ```
    %1 = uls.broadcast %0 dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input `dims` $dims attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Uls_ReshapeOp : Uls_ShapeOp<"reshape", [CheapToRecompute, KeepsGradientDtype]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    Example:
    ```
    %1 = uls.reshape %0 : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Uls_TransposeOp : Uls_ShapeOp<"transpose", [CheapToRecompute, KeepsGradientDtype]> {
  let summary = "permutes dimensions";
  let description = [{
    Result dimension i is operand dimension `permutation[i]`.

    Example:
    ```
    %1 = uls.transpose %0 [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Uls_SliceOp : Uls_ShapeOp<"slice", [CheapToRecompute, KeepsGradientDtype]> {
  let summary = "a range of one dimension";
  let description = [{
    Elements `offset` to `offset + size` of dimension `dim`, where `size` is the result's. That dimension stays whole under sharding.

    Example:
    ```
    %1 = uls.slice %0 dim 0 offset 1 : tensor<3x8xf32> -> tensor<1x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, I64Attr:$offset);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input `dim` $dim `offset` $offset attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Uls_ConcatOp : Uls_ShapeOp<"concat", [CheapToRecompute]> {
  let summary = "joins tensors along a dimension";
  let description = [{
    The adjoint of slices that cover a tensor. The joined dimension stays whole under sharding.

    Example:
    ```
    %2 = uls.concat %0, %1 dim 0 : tensor<1x8xf32>, tensor<2x8xf32> -> tensor<3x8xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$inputs `dim` $dim attr-dict `:` type($inputs) `->` type($output)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Uls_PadOp : Uls_ShapeOp<"pad", [CheapToRecompute]> {
  let summary = "zeros before and after along a dimension";
  let description = [{
    The adjoint of `uls.slice`: `low` zeros before the operand along `dim`, and as many after it as the result is longer.

    Example:
    ```
    %1 = uls.pad %0 dim 0 low 1 : tensor<1x8xf32> -> tensor<3x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, I64Attr:$low);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input `dim` $dim `low` $low attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Uls_IotaOp : Uls_Op<"iota", [Pure, CheapToRecompute, DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
                                 DeclareOpInterfaceMethods<PartitionOpInterface>]> {
  let summary = "indices along a dimension";
  let description = [{
    Each element is its *global* index along `dim`. After partitioning, `shard` says where the local block lies.

    Example:
    ```
    %0 = uls.iota dim 1 : tensor<2x8xi32>
    ```
  }];
  let arguments = (ins I64Attr:$dim, OptionalAttr<Dist_Shard>:$shard);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "`dim` $dim (`shard` $shard^)? attr-dict `:` type($output)";
  let hasVerifier = 1;
}

#endif // ULSC_DIALECTS_ULS_ULSSHAPEOPS_TD
