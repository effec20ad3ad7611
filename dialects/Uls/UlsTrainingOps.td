//===- UlsTrainingOps.td - The step, its loop and the optimizer -------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_ULS_ULSTRAININGOPS_TD
#define ULSC_DIALECTS_ULS_ULSTRAININGOPS_TD

include "dialects/Uls/UlsStructureOps.td"
include "dialects/Uls/UlsElementwiseOps.td"

def Uls_StepOp : Uls_FunctionOp<"step"> {
  let summary = "one optimizer step on one global batch";
  let description = [{
    Arguments are the tokens and the targets of the global batch, [microbatches, rows, seq], i32. Counts valid targets, loops over
    microbatches, reduces gradients, clips and updates; reports through `uls.report`. Made by training from `uls.forward`.

    Example:
    ```
    uls.step @step(%tokens: tensor<2x4x8xi32>, %targets: tensor<2x4x8xi32>) {
      %count = uls.count_valid %targets : tensor<2x4x8xi32> -> tensor<f32>
      uls.report "valid_count" %count : tensor<f32>
      uls.yield
    }
    ```
  }];
}

def Uls_MicrobatchesOp : Uls_Op<"microbatches", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "the loop over microbatches";
  let description = [{
    Runs its body for indices 0 to `count − 1` in order. The body's arguments are the index (i64) and the carried values:
    accumulated gradients and the loss.

    Example:
    ```
    %sum = uls.microbatches 4 iter (%zero) : (tensor<f32>) -> tensor<f32> {
    ^bb0(%m: i64, %acc: tensor<f32>):
      %next = uls.add %acc, %acc : tensor<f32>, tensor<f32>
      uls.yield %next : tensor<f32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$count, Variadic<AnyType>:$inits);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$count `iter` `(` $inits `)` attr-dict `:` functional-type($inits, $results) $body";
  let hasVerifier = 1;
}

def Uls_MicrobatchOp : Uls_Op<"microbatch", [Pure, DeclareOpInterfaceMethods<ShardingRuleOpInterface>]> {
  let summary = "one microbatch of the global batch";
  let description = [{
    Index `index` of dimension 0.

    Example:
    ```
    %1 = uls.microbatch %tokens at %m : tensor<2x4x8xi32> -> tensor<4x8xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64:$index);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input `at` $index attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
}

def Uls_MakeContextOp : Uls_Op<"make_context", [Pure]> {
  let summary = "the context of a microbatch's calls";
  let description = [{
    The first global row is `index · rows`, where `rows` is the number of rows of a microbatch over all data ranks.

    Example:
    ```
    %c = uls.make_context %m rows 4
    ```
  }];
  let arguments = (ins I64:$index, I64Attr:$rows);
  let results = (outs Uls_Context:$output);
  let assemblyFormat = "$index `rows` $rows attr-dict";
}

def Uls_AccumulateOp : Uls_Op<"accumulate", [Pure, DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
                                             AllTypesMatch<["accumulator", "output"]>]> {
  let summary = "adds a gradient to its accumulator";
  let description = [{
    `accumulator + value` in the accumulator's dtype. Both may be partial over the same axes, and the result then is. The lowering accumulates
    in place, inside the op that makes the value where that can.

    Example:
    ```
    %1 = uls.accumulate %acc, %dw : tensor<256x16xf32>, tensor<256x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$accumulator, AnyRankedTensor:$value);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$accumulator `,` $value attr-dict `:` type($accumulator) `,` type($value)";
  let hasVerifier = 1;
}

def Uls_CountValidOp : Uls_Op<"count_valid", [Pure, DeclareOpInterfaceMethods<ShardingRuleOpInterface>]> {
  let summary = "number of targets that are not −1";
  let description = [{
    Example:
    ```
    %0 = uls.count_valid %targets : tensor<2x4x8xi32> -> tensor<f32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$targets);
  let results = (outs AnyRankedTensor:$count);
  let assemblyFormat = "$targets attr-dict `:` type($targets) `->` type($count)";
}

def Uls_GlobalNormOp : Uls_Op<"global_norm", [Pure, DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
                                              DeclareOpInterfaceMethods<PartitionOpInterface, ["takesFlatOperands"]>]> {
  let summary = "the 2-norm of all gradients together";
  let description = [{
    `√ Σ g²` over all elements of all operands, each logical parameter once: a sharded gradient's squares are summed over the ranks that hold
    its parts, replicas count once, padding is zero. Formed in f32.

    Example:
    ```
    %n = uls.global_norm %a, %b : tensor<4x8xf32>, tensor<8xf32> -> tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$gradients);
  let results = (outs AnyRankedTensor:$norm);
  let assemblyFormat = "$gradients attr-dict `:` type($gradients) `->` type($norm)";
}

def Uls_SquareSumOp : Uls_Op<"square_sum", [Pure, DeclareOpInterfaceMethods<ShardingRuleOpInterface>]> {
  let summary = "sum of squares of all elements of several tensors";
  let description = [{
    The local part of the global norm, f32.

    Example:
    ```
    %n = uls.square_sum %a, %b : tensor<4x8xf32>, tensor<8xf32> -> tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs) `->` type($output)";
}

def Uls_ClipCoefficientOp : Uls_Op<"clip_coefficient", [Pure, AllTypesMatch<["norm", "limit", "output"]>]> {
  let summary = "the factor that clips gradients to a norm";
  let description = [{
    `min(1, limit / (norm + 1e-6))` as PyTorch's `clip_grad_norm_`; 1 when `limit` is 0.

    Example:
    ```
    %c = uls.clip_coefficient %norm, %limit : tensor<f32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$norm, AnyRankedTensor:$limit);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$norm `,` $limit attr-dict `:` type($output)";
}

def Uls_SumRanksOp : Uls_Op<"sum_ranks", [Pure, AllTypesMatch<["input", "output"]>,
                                          DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
                                          DeclareOpInterfaceMethods<PartitionOpInterface>]> {
  let summary = "sum over all devices of a scalar that differs from rank to rank";
  let description = [{
    The only op whose operand is not one global value: every device has its own (a control field such as `stop_requested`), and the result,
    the same everywhere, is their sum over the whole mesh, or over the devices along `axes`; with one device, the operand. Its local form is
    the operand itself, partial over these axes, so that the reduction may travel with others.

    Example:
    ```
    %n = uls.sum_ranks %stop : tensor<f32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, OptionalAttr<StrArrayAttr>:$axes);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input (`over` $axes^)? attr-dict `:` type($input)";
  let builders = [OpBuilder<(ins "mlir::Value":$input), [{ build($_builder, $_state, input, mlir::ArrayAttr()); }]>];
}

def Uls_ControlOp : Uls_Op<"control", []> {
  let summary = "a scalar of the control block";
  let description = [{
    One of `learning_rate`, `beta1`, `beta2`, `epsilon`, `bias_correction1`, `bias_correction2`, `weight_decay`, `momentum`,
    `clip_grad`, `loss_scale`, `good_steps`, `loss_scale_growth_interval`, `stop_requested` (include/ulsc/RuntimeABI.h); or, inside an update rule, the scale of the parameter that is
    updated: `parameter_lr_scale`, `parameter_decay_scale`.

    Example:
    ```
    %lr = uls.control "learning_rate" : tensor<f32>
    ```
  }];
  let arguments = (ins StrAttr:$field);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$field attr-dict `:` type($output)";
  let hasVerifier = 1;
}

def Uls_ReportOp : Uls_Op<"report", []> {
  let summary = "writes a scalar to the control block";
  let description = [{
    `loss`, `grad_norm`, `valid_count` or `stop_count`; with loss scaling also `next_loss_scale`, `next_good_steps` and `overflowed`. The same
    value on every rank.

    Example:
    ```
    uls.report "loss" %loss : tensor<f32>
    ```
  }];
  let arguments = (ins StrAttr:$field, AnyRankedTensor:$value);
  let assemblyFormat = "$field $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Uls_UpdateRuleOp : Uls_FunctionOp<"update_rule"> {
  let summary = "the optimizer's update of one parameter";
  let description = [{
    An elementwise function on flat tensors (`tensor<?xT>`), whatever the parameter's shape and sharding. `roles` says what each tensor
    argument is: `parameter` (the master value), `gradient`, or a state's role; rank-0 arguments, after them, are scalars that `uls.update` passes.
    `updates` says which role each result is the new value of. Replaceable: a pass may write another one.

    Example:
    ```
    uls.update_rule @sgd(%p: tensor<?xf32>, %g: tensor<?xf32>, %clip: tensor<f32>) -> (tensor<?xf32>)
        attributes {roles = ["parameter", "gradient"], updates = ["parameter"]} {
      %lr = uls.control "learning_rate" : tensor<f32>
      %0 = uls.mul %g, %clip : tensor<?xf32>, tensor<f32>
      %1 = uls.mul %0, %lr : tensor<?xf32>, tensor<f32>
      %2 = uls.sub %p, %1 : tensor<?xf32>, tensor<?xf32>
      uls.yield %2 : tensor<?xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
                       StrArrayAttr:$roles, StrArrayAttr:$updates);
}

def Uls_UpdateOp : Uls_Op<"update", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "applies an update rule to parameters";
  let description = [{
    For each i, runs the rule on parameter `parameters[i]`, its gradient and its states (found as `<parameter>.<role>`), and writes the results
    back. Where the stored dtype differs from the master's, the stored value becomes the rounded master.

    With results, the new stored values are the results, in the layout of gradients and states, and are not written: they go back by
    `uls.assign` once they lie as the parameters do. A parameter without a master value is then read from `values`, one for each.

    With a `condition`, a rank-0 f32, all of this stays as it was, bit for bit, where that is 0: an overflowed step under loss scaling. Nothing
    waits for the condition, for the kernels of the rule select.

    Values kept in fewer bits than the rule computes with are rounded to nearest; with `stochastic`, bf16 state is rounded up with the
    probability of its distance to the lower neighbour, drawn by parameter, role, step and global element (include/ulsc/Random.h), so that
    every mesh rounds alike. The stored copy of a master value is always its nearest.

    Example:
    ```
    uls.update @sgd(%dw, %db) scalars (%clip) if (%finite : tensor<f32>) parameters ["w", "b"]
      : (tensor<4x8xf32>, tensor<8xf32>), (tensor<f32>)
    %new = uls.update @sgd(%chunk) values (%old) scalars (%clip) parameters ["v"]
      : (tensor<4xf32>) values (tensor<4xf32>), (tensor<f32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$rule, Variadic<AnyRankedTensor>:$gradients,
                       Variadic<AnyRankedTensor>:$values, Variadic<AnyRankedTensor>:$scalars,
                       Optional<AnyRankedTensor>:$condition, StrArrayAttr:$parameters, UnitAttr:$stochastic);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $rule `(` $gradients `)` (`values` `(` $values^ `)`)? `scalars` `(` $scalars `)`
    (`if` `(` $condition^ `:` type($condition) `)`)? (`stochastic` $stochastic^)? `parameters` $parameters attr-dict
    `:` `(` type($gradients) `)` (`values` `(` type($values)^ `)`)? `,` `(` type($scalars) `)` (`->` type($results)^)?
  }];
}

def Uls_AssignOp : Uls_Op<"assign", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "gives a parameter a new stored value";
  let description = [{
    The value is this rank's block in the parameter's dtype, as `uls.materialize` reads it. The end of an update whose results
    lie otherwise than the parameter.

    Example:
    ```
    uls.assign @"head.weight", %0 : tensor<256x16xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, AnyRankedTensor:$value);
  let assemblyFormat = "$parameter `,` $value attr-dict `:` type($value)";
}

#endif // ULSC_DIALECTS_ULS_ULSTRAININGOPS_TD
