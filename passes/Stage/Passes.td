//===- Passes.td - Passes that cut a step into pipeline stages -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_PASSES_STAGE_PASSES_TD
#define ULSC_PASSES_STAGE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignChunksPass : Pass<"ulsc-assign-chunks", "::mlir::ModuleOp"> {
  let summary = "cuts the calls of a step into chunks of about equal time";
  let description = [{
    On a mesh with an axis `pp` of more than one rank the blocks that a step calls are cut into as many chunks as there are ranks along
    `pp`, times `chunks`. A chunk is a run of calls; of all ways to cut, one is taken whose longest chunk is shortest, by the predicted times
    of forward and backward (or measured ones, `costs`), embedding and head included, and of those the one with the most equal times. Fewer
    calls than chunks are an error. Under a `memory-limit` only cuts are taken whose ranks stay within it by an estimate: parameters,
    gradients and state as they are split, and what each microbatch in flight by the schedule keeps; where there is none, the one that takes
    least. A `recipe` may name the blocks that begin chunks, and then nothing is weighed.

    Requires: `ulsc-write-step`.
    Changes: nothing on other meshes.
    Leaves: `dist.chunk` on the forward calls of the step.

    Before, with pp=2:
    ```
    %1 = uls.call @layer(%0, %w0) {layer = 0 : i64} : …
    %2 = uls.call @layer(%1, %w1) {layer = 1 : i64} : …
    ```
    After:
    ```
    %1 = uls.call @layer(%0, %w0) {dist.chunk = 0 : i64, layer = 0 : i64} : …
    %2 = uls.call @layer(%1, %w1) {dist.chunk = 1 : i64, layer = 1 : i64} : …
    ```
  }];
  let options = [Option<"schedule", "schedule", "std::string", /*default=*/"\"1f1b\"",
                        "the schedule, which says how many microbatches are in flight">,
                 Option<"chunks", "chunks", "int64_t", /*default=*/"1", "chunks of each rank along pp">,
                 Option<"recipe", "recipe", "std::string", /*default=*/"", "path of a JSON recipe, which may name stages">,
                 Option<"costs", "costs", "std::string", /*default=*/"", "path of measured costs: a trace or a JSON file of costs">,
                 Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0", "bytes that a rank may take, 0 for no limit">,
                 Option<"recompute", "recompute", "std::string", /*default=*/"::ulsc::kDefaultRecompute.str()",
                        "what is computed again instead of kept">];
}

def BuildStagesPass : Pass<"ulsc-build-stages", "::mlir::ModuleOp"> {
  let summary = "writes one step for each rank of the pipeline";
  let description = [{
    A step whose calls have chunks becomes a step for each rank along `pp`, its stage. The loop over microbatches becomes that rank's row of the
    schedule: the forward and backward calls of its chunks, in the schedule's order, with sends of what other stages take and receives of
    what they give. A stage has the parameters that its chunks use; one that two stages use (a tied table) has its gradients exchanged and
    added on both. The sum of squares behind the norm, the loss and the stop flags are summed over `pp`.

    Requires: `ulsc-assign-chunks`, `ulsc-propagate-shardings`.
    Changes: the step; nothing where no call has a chunk.
    Leaves: steps with `dist.stage`, parameters with `dist.stages`, the module attribute `dist.pipeline` with the schedule's name and the
    blocks and the stage of each chunk.

    Before, with pp=2:
    ```
    uls.step @step(%tokens: …, %targets: …) {
      %g = uls.microbatches 4 iter (…) { … %1 = uls.call @a … %2 = uls.call @b … uls.backward @b … uls.backward @a … }
    ```
    After:
    ```
    uls.step @step.0(%tokens: …, %targets: …) attributes {dist.stage = 0 : i64} {
      %1 = uls.call @a …
      %h = dist.start { dist.send %1 to 1 over @mesh ["pp"] : … } …
    uls.step @step.1(%tokens: …, %targets: …) attributes {dist.stage = 1 : i64} {
      %h = dist.start { %r = dist.receive from 0 over @mesh ["pp"] : … } …
      %1 = dist.wait %h …
      %2 = uls.call @b(%1 …
    ```
  }];
  let options = [Option<"schedule", "schedule", "std::string", /*default=*/"\"1f1b\"",
                        "gpipe, 1f1b, interleaved, zb-h1, zb-h2, zbv, or the path of a JSON table">,
                 Option<"chunks", "chunks", "int64_t", /*default=*/"1", "chunks of each rank along pp">];
  let dependentDialects = ["::ulsc::dist::DistDialect", "::ulsc::uls::UlsDialect", "::mlir::arith::ArithDialect"];
}

#endif // ULSC_PASSES_STAGE_PASSES_TD
