//===- UlsElementwiseOps.td - Elementwise ops -------------------------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_ULS_ULSELEMENTWISEOPS_TD
#define ULSC_DIALECTS_ULS_ULSELEMENTWISEOPS_TD

include "dialects/Uls/UlsAttrs.td"

/// All elementwise ops compute in f32 (f64 in the interpreter) whatever they store.
class Uls_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Uls_Op<mnemonic, [Pure, CheapToRecompute,
                        DeclareOpInterfaceMethods<ShardingRuleOpInterface>] # traits>;

class Uls_UnaryOp<string mnemonic, string what, list<Trait> traits = []>
    : Uls_ElementwiseOp<mnemonic, [SameOperandsAndResultType] # traits> {
  let summary = what # " of each element";
  let description = what # [{ of each element, in the operand's type.

    Example:
    ```
    %1 = uls.}] # mnemonic # [{ %0 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($output)";
}

defvar Uls_Differentiable = DeclareOpInterfaceMethods<DifferentiableOpInterface>;

def Uls_NegOp   : Uls_UnaryOp<"neg", "the negative", [Uls_Differentiable]>;
def Uls_ExpOp   : Uls_UnaryOp<"exp", "the exponential", [Uls_Differentiable]>;
def Uls_LogOp   : Uls_UnaryOp<"log", "the natural logarithm", [Uls_Differentiable]>;
def Uls_SqrtOp  : Uls_UnaryOp<"sqrt", "the square root", [Uls_Differentiable]>;
def Uls_RsqrtOp : Uls_UnaryOp<"rsqrt", "the reciprocal square root", [Uls_Differentiable]>;
def Uls_TanhOp  : Uls_UnaryOp<"tanh", "the hyperbolic tangent", [Uls_Differentiable]>;
def Uls_SiluOp  : Uls_UnaryOp<"silu", "x · sigmoid(x)", [Uls_Differentiable]>;

def Uls_GeluOp : Uls_ElementwiseOp<"gelu", [SameOperandsAndResultType, Uls_Differentiable]> {
  let summary = "gaussian error linear unit";
  let description = [{
    `x · Φ(x)` with the error function (`none`), or `x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))` (`tanh`; Hugging
    Face's `gelu_new`, `gelu_pytorch_tanh`). Hendrycks and Gimpel 2016.

    Example:
    ```
    %1 = uls.gelu tanh %0 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Uls_ApproximationAttr:$approximation, AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$approximation $input attr-dict `:` type($output)";
}

def Uls_GeluGradOp : Uls_ElementwiseOp<"gelu_grad", [SameOperandsAndResultType]> {
  let summary = "cotangent of gelu's operand";
  let description = [{
    `gelu'(input) · cotangent`.

    Example:
    ```
    %1 = uls.gelu_grad tanh %x, %dy : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Uls_ApproximationAttr:$approximation, AnyRankedTensor:$input, AnyRankedTensor:$cotangent);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$approximation $input `,` $cotangent attr-dict `:` type($output)";
}

def Uls_SiluGradOp : Uls_ElementwiseOp<"silu_grad", [SameOperandsAndResultType]> {
  let summary = "cotangent of silu's operand";
  let description = [{
    `silu'(input) · cotangent`.

    Example:
    ```
    %1 = uls.silu_grad %x, %dy : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$cotangent);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input `,` $cotangent attr-dict `:` type($output)";
}

class Uls_BinaryOp<string mnemonic, string what, list<Trait> traits = []>
    : Uls_ElementwiseOp<mnemonic, [Uls_Differentiable, DeclareOpInterfaceMethods<InferTypeOpInterface>] # traits> {
  let summary = what # " of elements";
  let description = what # [{ of corresponding elements. A rank-0 operand applies to every element of the other.

    Example:
    ```
    %2 = uls.}] # mnemonic # [{ %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
  let hasVerifier = 1;
}

def Uls_AddOp : Uls_BinaryOp<"add", "the sum", [Commutative]> {
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}
def Uls_SubOp : Uls_BinaryOp<"sub", "the difference">;
def Uls_MulOp : Uls_BinaryOp<"mul", "the product", [Commutative]> { let hasFolder = 1; }
def Uls_DivOp : Uls_BinaryOp<"div", "the quotient">;
def Uls_MaximumOp : Uls_BinaryOp<"maximum", "the larger", [Commutative]>;
def Uls_MinimumOp : Uls_BinaryOp<"minimum", "the smaller", [Commutative]>;

def Uls_MaskOp : Uls_ElementwiseOp<"mask", [AllTypesMatch<["value", "output"]>]> {
  let summary = "zeroes elements where a comparison fails";
  let description = [{
    `value` where `lhs` compares to `rhs` as `comparison` says, 0 elsewhere and where one of them is NaN. A rank-0 `lhs` or `rhs`
    applies to every element. The adjoint of `uls.maximum` and `uls.minimum`.

    Example:
    ```
    %1 = uls.mask ge %a, %b, %dy : tensor<4x8xf32>, tensor<f32>, tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Uls_ComparisonAttr:$comparison, AnyRankedTensor:$lhs, AnyRankedTensor:$rhs,
                       AnyRankedTensor:$value);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{
    $comparison $lhs `,` $rhs `,` $value attr-dict `:` type($lhs) `,` type($rhs) `,` type($value)
  }];
  let hasVerifier = 1;
}

def Uls_SelectOp : Uls_ElementwiseOp<"select", [AllTypesMatch<["onTrue", "onFalse", "output"]>]> {
  let summary = "one of two values";
  let description = [{
    `onTrue` where `condition`, a rank-0 number, is not 0, and `onFalse` where it is; the value that is not taken leaves no trace, not even as a
    NaN. How an update keeps state as it was.

    Example:
    ```
    %1 = uls.select %finite, %new, %old : tensor<f32>, tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$condition, AnyRankedTensor:$onTrue, AnyRankedTensor:$onFalse);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$condition `,` $onTrue `,` $onFalse attr-dict `:` type($condition) `,` type($output)";
  let hasVerifier = 1;
}

def Uls_ConvertOp : Uls_ElementwiseOp<"convert", [SameOperandsAndResultShape, KeepsGradientDtype, Uls_Differentiable]> {
  let summary = "changes the element type";
  let description = [{
    Rounds to nearest, ties to even, between floating-point types; exact from integers where representable.

    Example:
    ```
    %1 = uls.convert %0 : tensor<4x8xf32> -> tensor<4x8xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
  let hasFolder = 1;
}

def Uls_ConstantOp : Uls_Op<"constant", [Pure, ConstantLike, CheapToRecompute, AllTypesMatch<["value", "output"]>]> {
  let summary = "a constant tensor, usually a splat";
  let description = [{
    Example:
    ```
    %0 = uls.constant dense<0.0> : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Uls_DropoutOp : Uls_Op<"dropout", [Pure, CheapToRecompute, AllTypesMatch<["input", "output"]>,
    Uls_Differentiable, DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
    DeclareOpInterfaceMethods<PartitionOpInterface>]> {
  let summary = "zeroes elements by a global key and scales the others";
  let description = [{
    Element `i` (row-major in the *global* tensor of the global batch: dimension 0 starts at the context's first row) is kept when
    word 0 of its random words is at least `floor(rate · 2³²)`, and is then divided by `1 − rate`. The stream is keyed by the
    seed, the hash of `key`, the context's layer and step (include/ulsc/Random.h). `rate` is the compiled default; the control
    block may override it. Linear in `input`: the adjoint is the same op on the cotangent, so recomputation and backward make the
    same mask. After partitioning, `shard` says where the local block lies.

    Example:
    ```
    %1 = uls.dropout %0, %context key "resid" rate 0.1 : tensor<4x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Uls_Context:$callContext, StrAttr:$key, F64Attr:$rate,
                       OptionalAttr<Dist_Shard>:$shard);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{
    $input `,` $callContext `key` $key `rate` $rate (`shard` $shard^)? attr-dict `:` type($output)
  }];
  let hasVerifier = 1;
}

#endif // ULSC_DIALECTS_ULS_ULSELEMENTWISEOPS_TD
