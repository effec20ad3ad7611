//===- Passes.td - Passes that make a module local to one rank -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_PASSES_PARTITION_PASSES_TD
#define ULSC_PASSES_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PartitionModulePass : Pass<"ulsc-partition-module", "::mlir::ModuleOp"> {
  let summary = "rewrites a module to one rank's shapes with explicit collectives";
  let description = [{
    Each op is computed over the axes that its factors are assigned; operands are resharded to that by the cheapest plan (slices,
    reductions, gathers, exchanges, permutations; one search over layouts finds it), once per value and layout.
    Ops that implement `PartitionOpInterface` write their local form themselves. Pending sums are reduced where propagation decided, and
    gradients after the loop over microbatches. Axes of size 1 cause nothing.

    Requires: `ulsc-propagate-shardings`.
    Changes: types and bodies of blocks, the forward function and the step; parameters and states keep global types.
    Leaves: the module attribute `dist.partitioned`, `dist.sharding` on arguments and results of functions for readers and oracles, no
    `dist.shardings`, collectives with `cause`.

    Before:
    ```
    %y = uls.einsum "bm,me->be" %g, %w {dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {} ]>]}
      : tensor<8x64xf32>, tensor<64x16xf32> -> tensor<8x16xf32>
    ```
    After, on dp=2, tp=2:
    ```
    %0 = uls.einsum "bm,me->be" %g, %w : tensor<4x32xf32>, tensor<32x16xf32> -> tensor<4x16xf32>
    %y = dist.all_reduce sum %0 over @mesh ["tp"] cause "layers.*.down: contraction of mlp, sharded by rule mlp→tp" : …
    ```
  }];
  let dependentDialects = ["::ulsc::dist::DistDialect"];
}

def MergeScalarReductionsPass : Pass<"ulsc-merge-scalar-reductions", "::mlir::ModuleOp"> {
  let summary = "lets all-reduces of scalars share a collective";
  let description = [{
    Counts, stop flags and norms cost latency, not bytes: those over the same axes whose operands don't depend on each other become one.

    Requires: a partitioned module.
    Changes: `dist.all_reduce` of rank-0 values, and the place of the few pure ops before them.
    Leaves: the same values.

    Before:
    ```
    %0 = dist.all_reduce sum %a over @mesh ["dp"] : (tensor<f32>) -> tensor<f32>
    %1 = dist.all_reduce sum %b over @mesh ["dp"] : (tensor<f32>) -> tensor<f32>
    ```
    After:
    ```
    %0, %1 = dist.all_reduce sum %a, %b over @mesh ["dp"] : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    ```
  }];
}

#endif // ULSC_PASSES_PARTITION_PASSES_TD
