//===- Passes.td - Passes that differentiate blocks and write down the step -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_PASSES_TRAIN_PASSES_TD
#define ULSC_PASSES_TRAIN_PASSES_TD

include "mlir/Pass/PassBase.td"

def MakeJointBlocksPass : Pass<"ulsc-make-joint-blocks", "::mlir::ModuleOp"> {
  let summary = "differentiates every block that the loss depends on";
  let description = [{
    Requires one `uls.forward` that holds materialize, iota and calls of plain blocks, and returns the loss.

    Changes each called block into a joint one by reverse-mode differentiation. A gradient is wanted of an argument that depends on a parameter
    which is not frozen; a cotangent comes in through a result on which the loss depends. Call sites that differ in this (the first block's input
    needs no gradient; a frozen layer) get variants `@b.variant1`, …; a block without any wanted gradient stays plain. The gradients of
    `uls.parameter` arguments have the module's `uls.gradient_dtype`.

    Leaves `uls.forward` calling the forward parts.

    Before:
    ```
    uls.block @scale(%x: tensor<4xf32>, %w: tensor<4xf32> {uls.parameter}) -> (tensor<4xf32>) {
      %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
      uls.yield %y : tensor<4xf32>
    }
    ```
    After, where only the parameter's gradient is wanted:
    ```
    uls.block @scale(%x: tensor<4xf32>, %w: tensor<4xf32> {uls.parameter}, %dy: tensor<4xf32>)
        -> (tensor<4xf32>, tensor<4xf32>)
        attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 1>, cotangents = array<i64: 0>} {
      %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
      uls.result %y : tensor<4xf32>
      %dw = uls.mul %dy, %x : tensor<4xf32>, tensor<4xf32>
      uls.yield %dw : tensor<4xf32>
    }
    ```
  }];
  let options = [Option<"everyBlock", "every-block", "bool", /*default=*/"false",
                        "Differentiate every block in all its arguments and results, whatever the forward asks for; "
                        "needs no forward.">];
  let dependentDialects = ["::ulsc::uls::UlsDialect"];
}

def WriteUpdateRulePass : Pass<"ulsc-write-update-rule", "::mlir::ModuleOp"> {
  let summary = "writes down the optimizer's update of one parameter";
  let description = [{
    Requires nothing. A module that has a `uls.update_rule` keeps it: that is how to train with an optimizer of one's own.

    Changes nothing but adds the rule that `optimizer` names, an elementwise function of parameter, gradient and states:
    `adamw` as torch.optim.AdamW (decoupled weight decay), `sgd` as torch.optim.SGD with momentum (weight decay added to the gradient).
    More are registered in passes/Train/Optimizers.h.

    Leaves exactly one `uls.update_rule`, whose scalar argument is the coefficient that clips the gradients:
    ```
    uls.update_rule @sgd(%p: tensor<?xf32>, %g: tensor<?xf32>, %m: tensor<?xf32>, %clip: tensor<f32>)
        -> (tensor<?xf32>, tensor<?xf32>)
        attributes {roles = ["parameter", "gradient", "moment1"], updates = ["parameter", "moment1"]}
    ```
  }];
  let options = [Option<"optimizer", "optimizer", "std::string", /*default=*/"\"adamw\"",
                        "Name of the optimizer: adamw or sgd.">];
  let dependentDialects = ["::ulsc::uls::UlsDialect"];
}

def WriteStepPass : Pass<"ulsc-write-step", "::mlir::ModuleOp"> {
  let summary = "writes down one optimizer step";
  let description = [{
    Requires `uls.forward` over joint blocks (`ulsc-make-joint-blocks`), one `uls.update_rule` (`ulsc-write-update-rule`), and the module
    attribute `uls.batch`, whose `microbatches` is the trip count of the loop.

    Changes nothing of these. Adds `uls.step`: counts valid targets and stop requests, runs forward and backward calls of every microbatch,
    accumulates each gradient as soon as it is there (a tied parameter has one accumulator), takes the global norm, clips and updates. Adds a
    `uls.state` for every role of the rule and every trained parameter, and the role `master` where the stored dtype is not f32. A parameter on
    which the loss does not depend becomes `frozen`, with a warning.

    Blocks that compute in f16 train with a scaled loss: the loss's cotangent is multiplied by `loss_scale` of the control block, the norm and
    the coefficient that clips are divided by it. Where the norm is not finite, `uls.update` changes nothing (its condition is 0), and the
    scale of the next step is half of this one's; after `loss_scale_growth_interval` steps without that it is twice this one's.

    Leaves the form that docs/pipeline.md shows under "train".

    Before:
    ```
    uls.forward @forward(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) -> (tensor<f32>) {
      %w = uls.materialize @w : tensor<16x4xf32>
      %loss = uls.call @model(%tokens, %targets, %w) : (tensor<2x8xi32>, tensor<2x8xi32>, tensor<16x4xf32>) -> tensor<f32>
      uls.yield %loss : tensor<f32>
    }
    ```
    After, inside the loop over microbatches of `uls.step`:
    ```
    %loss, %r = uls.call @model(%tok, %tgt, %w) : (tensor<2x8xi32>, tensor<2x8xi32>, tensor<16x4xf32>) -> (tensor<f32>, !uls.residuals)
    %sum_next = uls.add %sum, %loss : tensor<f32>, tensor<f32>
    %dw = uls.backward @model %r (%scale) : (tensor<f32>) -> tensor<16x4xf32>
    %g_next = uls.accumulate %g, %dw : tensor<16x4xf32>, tensor<16x4xf32>
    uls.yield %sum_next, %g_next : tensor<f32>, tensor<16x4xf32>
    ```
  }];
  let options = [
    Option<"masterDtype", "master-dtype", "std::string", /*default=*/"\"f32\"",
           "Dtype of the master values of parameters that are stored in less: f32, or none, to update the stored values themselves.">,
    Option<"momentDtype", "moment-dtype", "std::string", /*default=*/"\"f32\"",
           "Dtype of the optimizer's other states: f32 or bf16.">,
    Option<"stochasticRounding", "stochastic-rounding", "bool", /*default=*/"false",
           "Round state in bf16 up or down at random, so that small updates count on average.">];
  let dependentDialects = ["::ulsc::uls::UlsDialect"];
}

def DeriveEvaluationPass : Pass<"ulsc-derive-evaluation", "::mlir::ModuleOp"> {
  let summary = "makes a forward-only program that reports the mean loss";
  let description = [{
    Requires `uls.forward`, over plain or joint blocks: the module may come from stage `graph` or from stage `train`.

    Changes joint blocks back into plain ones (variants that differ in gradients only become one block again), drops optimizer state, update
    rule and training step, and removes dropout.

    Leaves a `uls.step` that runs the forward calls of all microbatches and reports `loss` (mean over valid targets), `valid_count` and
    `stop_count`, and writes no state:
    ```
    uls.step @step(%tokens: tensor<4x2x8xi32>, %targets: tensor<4x2x8xi32>) {
      %w = uls.materialize @w : tensor<16x4xf32>
      %count = uls.count_valid %targets : tensor<4x2x8xi32> -> tensor<f32>
      …
      %sum = uls.microbatches 4 iter (%zero) : (tensor<f32>) -> tensor<f32> { … }
      %mean = uls.mul %sum, %scale : tensor<f32>, tensor<f32>
      uls.report "loss" %mean : tensor<f32>
      uls.yield
    }
    ```
  }];
  let dependentDialects = ["::ulsc::uls::UlsDialect"];
}

#endif // ULSC_PASSES_TRAIN_PASSES_TD
