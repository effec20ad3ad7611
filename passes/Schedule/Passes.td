//===- Passes.td - Passes that cut joint blocks, bucket and overlap collectives -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_PASSES_SCHEDULE_PASSES_TD
#define ULSC_PASSES_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

defvar Schedule_RecomputeOption = Option<"recompute", "recompute", "std::string", /*default=*/"\"selective:norm,act,gather\"",
  "what is computed again instead of kept: none, selective, selective:attn,norm,act,gather, selective:price=P, full, full:group=K,layers=N">;

def RepeatForwardPass : Pass<"ulsc-repeat-forward", "mlir::ModuleOp"> {
  let summary = "run layers forward again before their backward";
  let description = [{
    Requires: joint blocks and a partitioned step.

    Changes: nothing but with a `recompute` of `full`. Then the forward call of a layer (a call with a `layer` index) leaves no residuals; it
    is made again right before its backward call and leaves them there. With `group=K` this happens for K layers at a time, so
    that one stored input serves K of them; with `layers=N` for the first N layers only. What a repeated call reads is what the
    first one read, context and layer index included: it draws the same dropout masks and repeats the same collectives.

    Leaves: repeated calls with the attribute `uls.again`.

    Before:
    ```
    %y, %r = uls.call @b(%x, %w) {layer = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
    %dx, %dw = uls.backward @b %r (%dy) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    ```
    After:
    ```
    %y = uls.call @b(%x, %w) {layer = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y2, %r = uls.call @b(%x, %w) {layer = 0 : i64, uls.again} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
    %dx, %dw = uls.backward @b %r (%dy) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let options = [Schedule_RecomputeOption];
  let dependentDialects = ["::ulsc::uls::UlsDialect"];
}

def CutJointBlocksPass : Pass<"ulsc-cut-joint-blocks", "mlir::ModuleOp"> {
  let summary = "cut each joint block into a forward and a backward block";
  let description = [{
    Requires: a partitioned module (sizes are those of one rank).

    Changes: each joint block `@b` becomes `@b.fwd`, whose results are the primal ones followed by the saved values, and `@b.bwd`,
    whose arguments are the primal arguments it still needs, the saved values and the cotangents. Which values are saved is a
    minimum cut between what the forward part computes and what the backward part uses, after Jain et al. 2020
    ("Checkmate") in spirit and the partitioner of PyTorch's functorch in form: saving a value costs its bytes, a primal
    argument that is no parameter costs its bytes too since the caller must keep it, and computing an op again costs a little. What may
    be computed again is `recompute`'s to say: with `none` only what moves elements and computes nothing (views, slices, broadcasts,
    constants), with `selective:KINDS` also ops of these kinds: `attn` (attention), `norm` (normalizations), `act` (activation
    functions and whatever else reads and writes about as much as it computes: sums, dropout, casts, rotary positions) and `gather`
    (all-gathers, of which a rank keeps its shard: those of sequence parallelism); `selective` is all
    four. The default is `selective:norm,act,gather`; `full` cuts by `norm,act` (see `ulsc-repeat-forward`). With `price=P`, as
    `selective:price=P` or `full:price=P`, ops of all kinds, contractions too, are computed again where that is predicted to take less than P
    nanoseconds for each MiB that need not be kept; with `keep=BLOCK+I+J` a block keeps exactly these results of its forward part, numbered in
    order from 0, where the cut has a choice. Other collectives than all-gathers are never computed again here.

    A forward call without residuals gets `@b.fwd.bare`, which computes the primal results only. One with `uls.again` gets `@b.again`, which
    gives the saved values only, or, where its primal results are read, `@b.again.through`.

    Leaves: no joint block, no `uls.backward`, no residuals. `uls.forward` is dropped where there is a step: forward-only programs are
    derived earlier.

    Before:
    ```
    %y, %r = uls.call @b(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
    %dx, %dw = uls.backward @b %r (%dy) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    ```
    After:
    ```
    %y, %h = uls.call @b.fwd(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %dx, %dw = uls.call @b.bwd(%w, %h, %dy) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let options = [Schedule_RecomputeOption];
  let dependentDialects = ["::ulsc::uls::UlsDialect"];
}

def PeelLastMicrobatchPass : Pass<"ulsc-peel-last-microbatch", "mlir::ModuleOp"> {
  let summary = "write the last microbatch behind the loop";
  let description = [{
    Requires: a step with a `uls.microbatches` loop and collectives that follow it.

    Changes: the loop runs one iteration less, or disappears with one microbatch; its body is repeated behind it for the last index, so that
    reductions of gradients can start between the last microbatch's backward calls. A step without such collectives stays.

    Leaves: the values that the loop gave come from the repeated body.
  }];
  let dependentDialects = ["::ulsc::uls::UlsDialect", "::mlir::arith::ArithDialect"];
}

def PlaceGathersPass : Pass<"ulsc-place-gathers", "mlir::ModuleOp"> {
  let summary = "gather stored parameters where blocks use them";
  let description = [{
    Requires: cut blocks (`ulsc-cut-joint-blocks`), and parameters that are stored split (`ulsc-shard-storage`) and gathered at the
    beginning of the step.

    Changes: each call gets a gather of its own for the parameters that it takes: a unit of ZeRO stage 3 is what one call takes, so that
    embedding and head are units, and a table that both use is gathered for each. The parameters of a unit travel as one collective per dtype,
    each rank's chunk of one after the other's; those of a call that the same pattern of the module's `uls.units` matches are a unit of
    their own. It stands in front of the call ahead: one unit is gathered while another computes.
    A call that follows right behind one with the same unit shares its gather, as the head's backward does.
    What stays between a parameter's uses in a microbatch is `reshard-after-forward`'s to say: `true`, or, in the step of a pipeline stage, `false` when nothing is said. With `true` nothing but what is stored:
    each use gathers it again. With `false` the value: the backward uses what the forward gathered. With a number N of ranks, a part: the
    first gather is over all axes of the storage, a rank keeps its part of the result over the N ranks that are neighbours along them, and
    later gathers join these parts only.

    Leaves: no gathered parameter lives across a call that does not take it, but for one unit ahead, and with `false`. The module has
    `uls.kept_ranks` where a part or all is kept.

    Before:
    ```
    %w = uls.materialize @w : tensor<4xf32>
    %g = dist.all_gather %w dims [0] over @mesh ["dp"] : (tensor<4xf32>) -> tensor<8xf32>
    %l:2 = uls.microbatches 2 iter(%x, %y) : … {
      %a = uls.call @embed.fwd(%i) : …
      %b = uls.call @layer.fwd(%a, %g) : …
    ```
    After:
    ```
    %l:2 = uls.microbatches 2 iter(%x, %y) : … {
      %w = uls.materialize @w : tensor<4xf32>
      %g = dist.all_gather %w dims [0] over @mesh ["dp"] : (tensor<4xf32>) -> tensor<8xf32>
      %a = uls.call @embed.fwd(%i) : …
      %b = uls.call @layer.fwd(%a, %g) : …
    ```
  }];
  let options = [
    Option<"reshardAfterForward", "reshard-after-forward", "std::string", /*default=*/"",
           "whether the backward gathers parameters again: true, false, or a number of ranks that keep them in parts; by default true, false with pipeline stages">
  ];
  let dependentDialects = ["::ulsc::dist::DistDialect"];
}

def BucketParametersPass : Pass<"ulsc-bucket-parameters", "mlir::ModuleOp"> {
  let summary = "gather each block's new parameters in one collective";
  let description = [{
    Requires: updates whose results are gathered and assigned (ZeRO stages 1 and 2).

    Changes: gathers of a unit's parameters (what one block call takes and the same pattern of `uls.units` matches, or none) become one
    collective per dtype, right behind the last of their updates. The assignments of a unit stand behind the gather of the next one, so that no more than two are under way.

    Leaves: one gather per unit and dtype.

    Before:
    ```
    %a = dist.all_gather %u dims [0] over @mesh ["dp"] : (tensor<4xf32>) -> tensor<8xf32>
    uls.assign @a, %a : tensor<8xf32>
    %b = dist.all_gather %v dims [0] over @mesh ["dp"] : (tensor<2xf32>) -> tensor<4xf32>
    uls.assign @b, %b : tensor<4xf32>
    ```
    After:
    ```
    %a, %b = dist.all_gather %u, %v dims [0, 0] over @mesh ["dp"] : (tensor<4xf32>, tensor<2xf32>) -> (tensor<8xf32>, tensor<4xf32>)
    uls.assign @a, %a : tensor<8xf32>
    uls.assign @b, %b : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::ulsc::dist::DistDialect"];
}

def BucketGradientsPass : Pass<"ulsc-bucket-gradients", "mlir::ModuleOp"> {
  let summary = "reduce each block's gradients in one collective";
  let description = [{
    Requires: the last microbatch behind the loop (`ulsc-peel-last-microbatch`).

    Changes: all-reduces and reduce-scatters of gradients over the same axes whose operands become final in the same backward call and are
    of parameters that the same pattern of `uls.units` matches, or none, become one collective with several operands, placed right behind
    the last of them; those inside the loop, too, where each microbatch scatters its gradients (ZeRO stages 2 and 3).

    Leaves: one reduction per unit and set of axes; a tied parameter belongs to the call that adds to it last.

    Before:
    ```
    %a = dist.all_reduce sum %g0 over @mesh ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
    %b = dist.all_reduce sum %g1 over @mesh ["dp"] : (tensor<8xf32>) -> tensor<8xf32>
    ```
    After:
    ```
    %a, %b = dist.all_reduce sum %g0, %g1 over @mesh ["dp"] : (tensor<4xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>)
    ```
  }];
  let dependentDialects = ["::ulsc::dist::DistDialect"];
}

def OverlapCollectivesPass : Pass<"ulsc-overlap-collectives", "mlir::ModuleOp"> {
  let summary = "start collectives early and wait late";
  let description = [{
    Requires: explicit collectives in blocks and steps.

    Changes: each collective becomes `dist.start` and `dist.wait`. The ops of each block are reordered: what a collective needs comes first, its
    start follows at once, then work that does not need its result, and the wait stands before the first use. Within one communicator the order of
    starts is that of the collectives before, the same on every rank. What makes values live long is held back: a gather of stored
    parameters does not start before the call that it stood behind, and a reduction of gradients is waited for at the second call behind
    its start. Calls, and the loop over microbatches, keep their order: one ahead of another that waits would only take memory.

    Leaves: no collective outside `dist.start`.
  }];
  let dependentDialects = ["::ulsc::dist::DistDialect"];
}

#endif // ULSC_PASSES_SCHEDULE_PASSES_TD
