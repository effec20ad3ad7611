//===- Passes.td - Passes that propagate shardings -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_PASSES_SHARD_PASSES_TD
#define ULSC_PASSES_SHARD_PASSES_TD

include "mlir/Pass/PassBase.td"

def PropagateShardingsPass : Pass<"ulsc-propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "gives every value a sharding";
  let description = [{
    Carries shardings along the factors of ops (Xu et al. 2021; Shardy) through blocks, the forward function and the step, to a
    fixpoint. They start at the parameters' storage shardings, at the batch dimension of tokens and targets, at
    argument attributes `dist.sharding` and at `dist.reshard`. A block argument or result lies alike at every call; cotangents lie as their
    primals. Order: user priority, elementwise ops before others, what is not contradicted before conflicts. Conflicts are decided
    by user priority, then by predicted time; the loser is a remark and an entry of the op's `dist.conflicts`.

    Then decides how long sums stay pending: as long as every use is linear in them, and gradients of parameters and scalar results of
    blocks over data axes until the step reduces them; gradients over axes of the sequence, too (`seq` of the module's `uls.rules`). Axes of a pending
    sum that are to shard the value are not among its dimensions' until it is scattered.

    Requires: a `dist.mesh` (without one, a mesh of one device is made).
    Changes: attributes only.
    Leaves: `dist.shardings` on every op with tensor results, `dist.sharding` on arguments and results of functions; beside them
    `dist.origins` (axis to annotation and edge) and `dist.causes` (axis of a pending sum to its reason), which collectives quote.

    Before:
    ```
    uls.block @mlp(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {?} ]>},
                   %w: tensor<16x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"} ]>}) -> (tensor<8x64xf32>) {
      %h = uls.einsum "be,em->bm" %x, %w : …
    ```
    After:
    ```
      %h = uls.einsum "be,em->bm" %x, %w {dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {"tp"} ]> ]} : …
    ```
  }];
  let dependentDialects = ["::ulsc::dist::DistDialect"];
}

def ShardStoragePass : Pass<"ulsc-shard-storage", "::mlir::ModuleOp"> {
  let summary = "splits stored state over data axes (ZeRO)";
  let description = [{
    Ranks along data axes would hold the same optimizer states, gradients and parameters (Rajbhandari et al. 2020). `uls.storage` of the
    module says over which axes each of the three is split; a value's block, as the other axes leave it, is flattened, padded to a
    multiple of the ranks and cut into chunks (`flat` of `#dist.sharding`). `optimizer` is ZeRO stage 1, `gradients` with it stage 2,
    `parameters` with both stage 3. Gathers and scatters follow from the layouts when the module is partitioned.

    Requires: `ulsc-propagate-shardings` has run.
    Changes: shardings of `uls.state` (optimizer) and `uls.param` (parameters), `dist.shardings` of what accumulates gradients (gradients).
    Leaves: a `dist.reshard` to the layout of the states on each gradient that lies otherwise, before norm and update.

    Before:
    ```
    %n = uls.global_norm %loop#1 : tensor<8x4xf32> -> tensor<f32>
    uls.update @sgd(%loop#1) scalars (%clip) parameters ["w"] : (tensor<8x4xf32>), (tensor<f32>)
    ```
    After:
    ```
    %g = dist.reshard %loop#1 to <@mesh, [{}, {} ], flat={"dp"}> : tensor<8x4xf32>
    %n = uls.global_norm %g : tensor<8x4xf32> -> tensor<f32>
    uls.update @sgd(%g) scalars (%clip) parameters ["w"] : (tensor<8x4xf32>), (tensor<f32>)
    ```
  }];
  let dependentDialects = ["::ulsc::dist::DistDialect"];
}

def VerifyShardingsPass : Pass<"ulsc-verify-shardings", "::mlir::ModuleOp"> {
  let summary = "checks the shardings that propagation left";
  let description = [{
    Requires: `ulsc-propagate-shardings` has run.
    Changes: nothing.
    Leaves: an error for each value without a sharding, each axis that the mesh lacks, each size that does not divide, and each argument
    or result of the forward function or the step that is left partial.

    Before and after: as above.
  }];
}

#endif // ULSC_PASSES_SHARD_PASSES_TD
