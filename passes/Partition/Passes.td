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

def ConvertGradientReductionsPass : Pass<"ulsc-convert-gradient-reductions", "::mlir::ModuleOp"> {
  let summary = "has sums of gradients over ranks travel in another dtype";
  let description = [{
    Requires: a partitioned module.
    Changes: sums over ranks (all-reduce, reduce-scatter) between the backward parts and `uls.update`, of the tensors themselves, not of the
    norm: their operands are converted before and their results after. The sum itself is formed in f32 on every target.
    Leaves: accumulators and updates in the dtype that they had.

    Before:
    ```
    %1 = dist.all_reduce sum %0 over @mesh ["dp"] : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    After, with dtype=bf16:
    ```
    %a = uls.convert %0 : tensor<4x8xf32> -> tensor<4x8xbf16>
    %b = dist.all_reduce sum %a over @mesh ["dp"] : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
    %1 = uls.convert %b : tensor<4x8xbf16> -> tensor<4x8xf32>
    ```
  }];
  let options = [Option<"dtype", "dtype", "std::string", /*default=*/"\"\"",
                        "The dtype in which gradients travel, f32 or bf16; that of the gradients where it is empty.">];
  let dependentDialects = ["::ulsc::uls::UlsDialect"];
}

def MergeScalarReductionsPass : Pass<"ulsc-merge-scalar-reductions", "::mlir::ModuleOp"> {
  let summary = "lets all-reduces of scalars share a collective";
  let description = [{
    Counts, the loss, norms and stop flags cost latency, not bytes: those whose operands don't depend on each other become one. Where their
    axes differ and nothing is left to reduce of the results (the partitioner's mark `dist.complete`), the one is over the axes of all:
    an operand that was reduced over fewer is contributed by the first rank along the others and is zero elsewhere, so that no bit changes.

    Requires: a partitioned module.
    Changes: `dist.all_reduce` of rank-0 values, and the place of the few pure ops before them.
    Leaves: the same values, and no `dist.complete`.

    Before:
    ```
    %0 = dist.all_reduce sum %a over @mesh ["dp", "tp"] {dist.complete} : (tensor<f32>) -> tensor<f32>
    %1 = dist.all_reduce sum %b over @mesh ["dp"] {dist.complete} : (tensor<f32>) -> tensor<f32>
    ```
    After:
    ```
    %p = dist.axis_index @mesh ["tp"] : tensor<i64>
    %c = uls.mask le %p, %zero, %b : tensor<i64>, tensor<i64>, tensor<f32>
    %0, %1 = dist.all_reduce sum %a, %c over @mesh ["dp", "tp"] : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    ```
  }];
}

#endif // ULSC_PASSES_PARTITION_PASSES_TD
