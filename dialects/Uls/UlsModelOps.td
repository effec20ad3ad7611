//===- UlsModelOps.td - The named ops of models -----------------------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_ULS_ULSMODELOPS_TD
#define ULSC_DIALECTS_ULS_ULSMODELOPS_TD

include "dialects/Uls/UlsShapeOps.td"

class Uls_ModelOp<string mnemonic, list<Trait> traits = []>
    : Uls_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<ShardingRuleOpInterface>] # traits> {
  let hasVerifier = 1;
}
defvar Uls_Partitionable = DeclareOpInterfaceMethods<PartitionOpInterface>;

//===---------------------------------------------------------------------------------------===//
// Lookup
//===---------------------------------------------------------------------------------------===//

def Uls_EmbeddingOp : Uls_ModelOp<"embedding", [CheapToRecompute, Uls_Differentiable, Uls_Partitionable]> {
  let summary = "rows of a table";
  let description = [{
    Row `indices[...]` of the table. With `shard`, the table is a block of the vocabulary: rows outside it give zero, so that
    the sum over ranks is the lookup (vocabulary-parallel embedding, Shoeybi et al. 2019).

    Example:
    ```
    %1 = uls.embedding %tokens, %table : tensor<2x8xi32>, tensor<256x16xf32> -> tensor<2x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$indices, AnyRankedTensor:$table, OptionalAttr<Dist_Shard>:$shard);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{
    $indices `,` $table (`shard` $shard^)? attr-dict `:` type($indices) `,` type($table) `->` type($output)
  }];
}

def Uls_EmbeddingGradOp : Uls_ModelOp<"embedding_grad", [Uls_Partitionable]> {
  let summary = "cotangent of an embedding table";
  let description = [{
    Zero but for the sum, in row-major order of `indices`, of `cotangent` rows at their index. With `shard`, only the rows of
    the local block of the vocabulary.

    Example:
    ```
    %1 = uls.embedding_grad %tokens, %dy : tensor<2x8xi32>, tensor<2x8x16xf32> -> tensor<256x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$indices, AnyRankedTensor:$cotangent, OptionalAttr<Dist_Shard>:$shard);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{
    $indices `,` $cotangent (`shard` $shard^)? attr-dict `:` type($indices) `,` type($cotangent) `->` type($output)
  }];
}

//===---------------------------------------------------------------------------------------===//
// Normalisation
//===---------------------------------------------------------------------------------------===//

def Uls_RmsNormOp : Uls_ModelOp<"rms_norm", [CheapToRecompute, Uls_Differentiable, AllTypesMatch<["input", "output"]>]> {
  let summary = "root-mean-square normalisation of the last dimension";
  let description = [{
    `rstd = 1/√(mean(input²) + epsilon)` (f32, one per row), `output = input · rstd · weight`. Zhang and Sennrich 2019.

    Example:
    ```
    %y, %rstd = uls.rms_norm %x, %w epsilon 1.0e-5 : tensor<2x8x16xf32>, tensor<16xf32> -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$weight, F64Attr:$epsilon);
  let results = (outs AnyRankedTensor:$output, AnyRankedTensor:$rstd);
  let assemblyFormat = [{
    $input `,` $weight `epsilon` $epsilon attr-dict `:` type($input) `,` type($weight) `->` type($rstd)
  }];
  let builders = [OpBuilder<(ins "mlir::Value":$input, "mlir::Value":$weight, "double":$epsilon)>];
}

def Uls_RmsNormGradOp : Uls_ModelOp<"rms_norm_grad", [AllTypesMatch<["input", "cotangent", "inputGrad"]>]> {
  let summary = "cotangents of rms_norm's operands";
  let description = [{
    With `n = input · rstd` and `g = cotangent · weight`: `inputGrad = rstd · (g − n · mean(g · n))`, `weightGrad = Σ_rows cotangent · n`.

    Example:
    ```
    %dx, %dw = uls.rms_norm_grad %x, %w, %rstd, %dy
      : tensor<2x8x16xf32>, tensor<16xf32>, tensor<2x8xf32> -> tensor<16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$weight, AnyRankedTensor:$rstd,
                       AnyRankedTensor:$cotangent);
  let results = (outs AnyRankedTensor:$inputGrad, AnyRankedTensor:$weightGrad);
  let assemblyFormat = [{
    $input `,` $weight `,` $rstd `,` $cotangent attr-dict
    `:` type($input) `,` type($weight) `,` type($rstd) `->` type($weightGrad)
  }];
}

def Uls_LayerNormOp : Uls_ModelOp<"layer_norm", [CheapToRecompute, Uls_Differentiable,
    AllTypesMatch<["input", "output"]>, AllTypesMatch<["mean", "rstd"]>, AllTypesMatch<["weight", "bias"]>]> {
  let summary = "normalisation of the last dimension to mean 0 and variance 1";
  let description = [{
    `mean` and `rstd = 1/√(var + epsilon)` (f32, one per row; biased variance),
    `output = (input − mean) · rstd · weight + bias`. Ba, Kiros and Hinton 2016.

    Example:
    ```
    %y, %mean, %rstd = uls.layer_norm %x, %w, %b epsilon 1.0e-5 : tensor<2x8x16xf32>, tensor<16xf32> -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$weight, AnyRankedTensor:$bias, F64Attr:$epsilon);
  let results = (outs AnyRankedTensor:$output, AnyRankedTensor:$mean, AnyRankedTensor:$rstd);
  let assemblyFormat = [{
    $input `,` $weight `,` $bias `epsilon` $epsilon attr-dict
    `:` type($input) `,` type($weight) `->` type($mean)
  }];
  let builders = [OpBuilder<(ins "mlir::Value":$input, "mlir::Value":$weight, "mlir::Value":$bias, "double":$epsilon)>];
}

def Uls_LayerNormGradOp : Uls_ModelOp<"layer_norm_grad", [
    AllTypesMatch<["input", "cotangent", "inputGrad"]>, AllTypesMatch<["mean", "rstd"]>,
    AllTypesMatch<["weightGrad", "biasGrad"]>]> {
  let summary = "cotangents of layer_norm's operands";
  let description = [{
    With `n = (input − mean) · rstd` and `g = cotangent · weight`: `inputGrad = rstd · (g − mean(g) − n · mean(g · n))`,
    `weightGrad = Σ_rows cotangent · n`, `biasGrad = Σ_rows cotangent`.

    Example:
    ```
    %dx, %dw, %db = uls.layer_norm_grad %x, %w, %mean, %rstd, %dy
      : tensor<2x8x16xf32>, tensor<16xf32>, tensor<2x8xf32> -> tensor<16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$weight, AnyRankedTensor:$mean, AnyRankedTensor:$rstd,
                       AnyRankedTensor:$cotangent);
  let results = (outs AnyRankedTensor:$inputGrad, AnyRankedTensor:$weightGrad, AnyRankedTensor:$biasGrad);
  let assemblyFormat = [{
    $input `,` $weight `,` $mean `,` $rstd `,` $cotangent attr-dict
    `:` type($input) `,` type($weight) `,` type($mean) `->` type($weightGrad)
  }];
}

//===---------------------------------------------------------------------------------------===//
// Attention
//===---------------------------------------------------------------------------------------===//

def Uls_SoftmaxOp : Uls_ModelOp<"softmax", [Uls_Differentiable, AllTypesMatch<["input", "output"]>]> {
  let summary = "softmax over the last dimension";
  let description = [{
    `exp(input − max) / Σ exp(input − max)`; a row that is −∞ throughout gives zeros.

    Example:
    ```
    %1 = uls.softmax %0 : tensor<2x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Uls_SoftmaxGradOp : Uls_ModelOp<"softmax_grad", [AllTypesMatch<["result", "cotangent", "output"]>]> {
  let summary = "cotangent of softmax's operand";
  let description = [{
    `result · (cotangent − Σ result · cotangent)` over the last dimension, where `result` is softmax's.

    Example:
    ```
    %1 = uls.softmax_grad %y, %dy : tensor<2x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$result, AnyRankedTensor:$cotangent);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$result `,` $cotangent attr-dict `:` type($result)";
}

def Uls_RopeOp : Uls_ModelOp<"rope", [CheapToRecompute, Uls_Differentiable, AllTypesMatch<["input", "output"]>]> {
  let summary = "rotary position embedding of the last dimension";
  let description = [{
    Rotates the pair of elements `i` and `i + size/2` of the last dimension by the angle `position · frequencies[i]`, position given
    per batch row and sequence element (dimensions 0 and 1): Su et al. 2021, in Hugging Face's half-split order. Scaled variants differ
    only in the frequencies. `inverse` turns the other way, which is the adjoint.

    Example:
    ```
    %1 = uls.rope %0, %positions frequencies [1.0, 0.01] : tensor<2x8x2x4xf32>, tensor<2x8xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$positions, DenseF64ArrayAttr:$frequencies,
                       UnitAttr:$inverse);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{
    $input `,` $positions (`inverse` $inverse^)? `frequencies` $frequencies attr-dict
    `:` type($input) `,` type($positions)
  }];
}

defvar Uls_AttentionArguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
    AnyRankedTensor:$queryPositions, AnyRankedTensor:$keyPositions,
    Optional<AnyRankedTensor>:$querySegments, Optional<AnyRankedTensor>:$keySegments,
    Optional<Uls_Context>:$callContext);
defvar Uls_AttentionAttributes = (ins
    F64Attr:$scale, UnitAttr:$causal, OptionalAttr<StrAttr>:$dropoutKey, OptionalAttr<F64Attr>:$dropoutRate,
    OptionalAttr<Dist_Shard>:$shard);

def Uls_AttentionOp : Uls_ModelOp<"attention", [AttrSizedOperandSegments, Uls_Differentiable, Uls_Partitionable,
    AllTypesMatch<["query", "output"]>, AllTypesMatch<["key", "value"]>]> {
  let summary = "scaled dot-product attention with grouped queries";
  let description = [{
    `query` is [batch, seq, kv heads, group, head size], `key` and `value` [batch, kv seq, kv heads, head size]. For each query,
    scores are `scale · q·k`; a key is masked unless (with `causal`) its position is at most the query's and (with segments) both
    segments agree; probabilities are the softmax over keys, zero for a fully masked query; the result is their mean of values.
    The second result is the log-sum-exp of the scores (f32; −∞ for a fully masked query), [batch, seq, kv heads, group].
    With `dropout_key`, probabilities are dropped as by `uls.dropout`, keyed by the global (row, head, query, key) index of
    [global batch, kv heads × group, seq, kv seq]; `shard` tells where local queries lie after partitioning.

    Example:
    ```
    %o, %lse = uls.attention %q, %k, %v positions %p, %p {scale = 0.25 : f64, causal}
      : tensor<2x8x2x2x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8x2x2xf32>
    ```
  }];
  let arguments = !con(Uls_AttentionArguments, Uls_AttentionAttributes);
  let results = (outs AnyRankedTensor:$output, AnyRankedTensor:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value `positions` $queryPositions `,` $keyPositions
    (`segments` $querySegments^ `,` $keySegments `:` type($querySegments) `,` type($keySegments))?
    (`context` $callContext^)? attr-dict
    `:` type($query) `,` type($key) `,` type($queryPositions) `,` type($keyPositions) `->` type($lse)
  }];
}

def Uls_AttentionGradOp : Uls_ModelOp<"attention_grad", [AttrSizedOperandSegments, Uls_Partitionable,
    AllTypesMatch<["query", "output", "cotangent"]>, AllTypesMatch<["query", "queryGrad"]>,
    AllTypesMatch<["key", "value", "keyGrad", "valueGrad"]>]> {
  let summary = "cotangents of attention's query, key and value";
  let description = [{
    From attention's operands, its results and the cotangent of its first result, recomputing probabilities from the log-sum-exp
    (Dao et al. 2022). Masks and dropped elements are those of the forward op.

    Example:
    ```
    %dq, %dk, %dv = uls.attention_grad %q, %k, %v positions %p, %p results %o, %lse cotangent %do {scale = 0.25 : f64, causal}
      : tensor<2x8x2x2x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8x2x2xf32>
    ```
  }];
  let arguments = !con(Uls_AttentionArguments,
                       (ins AnyRankedTensor:$output, AnyRankedTensor:$lse, AnyRankedTensor:$cotangent),
                       Uls_AttentionAttributes);
  let results = (outs AnyRankedTensor:$queryGrad, AnyRankedTensor:$keyGrad, AnyRankedTensor:$valueGrad);
  let assemblyFormat = [{
    $query `,` $key `,` $value `positions` $queryPositions `,` $keyPositions
    (`segments` $querySegments^ `,` $keySegments `:` type($querySegments) `,` type($keySegments))?
    (`context` $callContext^)? `results` $output `,` $lse `cotangent` $cotangent attr-dict
    `:` type($query) `,` type($key) `,` type($queryPositions) `,` type($keyPositions) `,` type($lse)
  }];
}

//===---------------------------------------------------------------------------------------===//
// Loss
//===---------------------------------------------------------------------------------------===//

def Uls_CrossEntropyOp : Uls_ModelOp<"cross_entropy", [Uls_Differentiable, Uls_Partitionable,
    AllTypesMatch<["loss", "lse"]>]> {
  let summary = "negative log-likelihood of targets";
  let description = [{
    `lse` is the log-sum-exp (f32) of a row's first `vocabulary` logits, later columns being padding;
    `loss = lse − logits[target]`, or 0 where the target is −1. The gradient flows through `loss` only. Partitioned over the vocabulary
    it exchanges row statistics, never logits.

    Example:
    ```
    %loss, %lse = uls.cross_entropy %logits, %targets vocabulary 250
      : tensor<2x8x256xf32>, tensor<2x8xi32> -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$logits, AnyRankedTensor:$targets, I64Attr:$vocabulary);
  let results = (outs AnyRankedTensor:$loss, AnyRankedTensor:$lse);
  let assemblyFormat = [{
    $logits `,` $targets `vocabulary` $vocabulary attr-dict `:` type($logits) `,` type($targets) `->` type($loss)
  }];
}

def Uls_CrossEntropyGradOp : Uls_ModelOp<"cross_entropy_grad", [CheapToRecompute, Uls_Partitionable,
    AllTypesMatch<["logits", "output"]>, AllTypesMatch<["lse", "cotangent"]>]> {
  let summary = "cotangent of cross_entropy's logits";
  let description = [{
    `(exp(logits − lse) − [column = target]) · cotangent`, 0 for rows whose target is −1 and for padding columns. With
    `shard`, columns are a block of the vocabulary.

    Example:
    ```
    %1 = uls.cross_entropy_grad %logits, %targets, %lse, %dloss vocabulary 250
      : tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$logits, AnyRankedTensor:$targets, AnyRankedTensor:$lse,
                       AnyRankedTensor:$cotangent, I64Attr:$vocabulary, OptionalAttr<Dist_Shard>:$shard);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{
    $logits `,` $targets `,` $lse `,` $cotangent `vocabulary` $vocabulary (`shard` $shard^)? attr-dict
    `:` type($logits) `,` type($targets) `,` type($lse)
  }];
}

def Uls_LogitsMaxOp : Uls_ModelOp<"logits_max"> {
  let summary = "row maxima of a block of logits";
  let description = [{
    The maximum (f32) of each row over the columns below `vocabulary`, −∞ if there is none; `shard` places local columns. The first
    of three steps of cross_entropy: their results combine over ranks by max, sum and nothing.

    Example:
    ```
    %m = uls.logits_max %logits vocabulary 250 : tensor<2x8x256xf32> -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$logits, I64Attr:$vocabulary, OptionalAttr<Dist_Shard>:$shard);
  let results = (outs AnyRankedTensor:$max);
  let assemblyFormat = [{
    $logits `vocabulary` $vocabulary (`shard` $shard^)? attr-dict `:` type($logits) `->` type($max)
  }];
}

def Uls_LogitsSumsOp : Uls_ModelOp<"logits_sums", [AllTypesMatch<["max", "expSum", "targetLogit"]>]> {
  let summary = "row sums of exponentials, and the target's logit, of a block of logits";
  let description = [{
    `expSum = Σ exp(logits − max)` over the columns below `vocabulary`; `targetLogit` is the logit at the target if its column is in the
    local block, else 0.

    Example:
    ```
    %s, %t = uls.logits_sums %logits, %targets, %m vocabulary 250
      : tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$logits, AnyRankedTensor:$targets, AnyRankedTensor:$max, I64Attr:$vocabulary,
                       OptionalAttr<Dist_Shard>:$shard);
  let results = (outs AnyRankedTensor:$expSum, AnyRankedTensor:$targetLogit);
  let assemblyFormat = [{
    $logits `,` $targets `,` $max `vocabulary` $vocabulary (`shard` $shard^)? attr-dict
    `:` type($logits) `,` type($targets) `,` type($max)
  }];
}

def Uls_LogitsLossOp : Uls_ModelOp<"logits_loss", [CheapToRecompute,
    AllTypesMatch<["max", "expSum", "targetLogit", "loss", "lse"]>]> {
  let summary = "loss and log-sum-exp from row statistics";
  let description = [{
    `lse = max + log(expSum)`, `loss = lse − targetLogit`, or 0 where the target is −1.

    Example:
    ```
    %loss, %lse = uls.logits_loss %m, %s, %t, %targets : tensor<2x8xf32>, tensor<2x8xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$max, AnyRankedTensor:$expSum, AnyRankedTensor:$targetLogit,
                       AnyRankedTensor:$targets);
  let results = (outs AnyRankedTensor:$loss, AnyRankedTensor:$lse);
  let assemblyFormat = [{
    $max `,` $expSum `,` $targetLogit `,` $targets attr-dict `:` type($max) `,` type($targets)
  }];
}

#endif // ULSC_DIALECTS_ULS_ULSMODELOPS_TD
