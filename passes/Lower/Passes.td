//===- Passes.td - Passes from one rank's values to its program on buffers -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER_PASSES_TD
#define ULSC_PASSES_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

//===---------------------------------------------------------------------------------------===//
// From values to exec
//===---------------------------------------------------------------------------------------===//

class Lower_Pass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::ulsc::exec::ExecDialect"];
}

def ChooseAttentionPass : Lower_Pass<"ulsc-choose-attention"> {
  let summary = "gives attention to a library where its semantics are ours";
  let description = [{
    Requires the scheduled stage, changes attributes alone. With `attention=auto` every `uls.attention` and its gradient that cuDNN computes as we define it
    (bf16 or f16, no dropout, no segments, head sizes that its kernels take, positions that count from 0 in the queries and keys of every call) gets
    `exec.library`; a remark says why another does not, but for f32, where nobody expects it. With `cudnn` one that can't is an error, with `own` none is given away.

    ```mlir
    %o, %lse = uls.attention %q, %k, %v …
    // becomes
    %o, %lse = uls.attention %q, %k, %v … {exec.library = #exec.attention_library<cudnn>}
    ```
  }];
  let options = [Option<"attention", "attention", "std::string", /*default=*/"\"auto\"", "auto, own or cudnn">];
}

def LegalizeProductsPass : Lower_Pass<"ulsc-legalize-products"> {
  let summary = "has matrix products give types that the target's library can";
  let description = [{
    Requires accumulation in blocks; for the target cuda. cuBLASLt multiplies f16 and f32 into their own types or f32, not into bf16: such a product gives f32, which
    what adds it up takes as it is, and is converted for anyone else.

    ```mlir
    %g = uls.einsum "tk,tn->kn" %x, %dy : (tensor<8x16xf16>, tensor<8x32xf16>) -> tensor<16x32xbf16>
    // becomes
    %p = uls.einsum "tk,tn->kn" %x, %dy : (tensor<8x16xf16>, tensor<8x32xf16>) -> tensor<16x32xf32>
    %g = uls.convert %p : tensor<16x32xf32> to tensor<16x32xbf16>
    ```
  }];
}

def FuseEpiloguesPass : Lower_Pass<"ulsc-fuse-epilogues"> {
  let summary = "has matrix products do what follows them";
  let description = [{
    Requires accumulation in blocks and expanded contexts; for targets whose library has epilogues. Where a bias is added to a product's result, gelu is taken of that,
    a product is multiplied by gelu's derivative, or the rows of a product's second operand are summed as a bias' gradient, and the library can do it and it
    saves a kernel, one `exec.contract` with an epilogue does both. Results keep their meaning; what is rounded between the two ops is not any more.

    ```mlir
    %1 = uls.einsum "tk,kn->tn" %x, %w …
    %2 = uls.add %1, %bias …
    // becomes
    %2 = exec.contract "fc" %x, %w … epilogue bias(%bias : tensor<64xf32>) …
    ```
  }];
}

def ExpandContextsPass : Lower_Pass<"ulsc-expand-contexts"> {
  let summary = "passes a call's context as two numbers";
  let description = [{
    Requires the scheduled stage. Every `!uls.context` argument of a block becomes two `i64`, the layer index and the first global row, and calls
    pass them. Leaves `!uls.context` only between a cast from the two numbers and the ops that use it.

    ```mlir
    %c = uls.make_context %m rows 4
    %y = uls.call @b(%x, %c) {layer = 3 : i64} : (tensor<4xf32>, !uls.context) -> tensor<4xf32>
    // becomes
    %row = arith.muli %m, %c4
    %y = uls.call @b(%x, %c3, %row) : (tensor<4xf32>, i64, i64) -> tensor<4xf32>
    ```
  }];
}

def PredictExposurePass : Pass<"ulsc-predict-exposure", "::mlir::ModuleOp"> {
  let summary = "notes at each collective how long ranks are predicted to wait for it";
  let description = [{
    Requires the scheduled stage, changes attributes alone. Simulates the step as `ulsc explain --timeline` does and sets on each collective
    `dist.predicted_exposed_us`, the time that a rank stands still for it in the mean of its calls, which the manifest carries to the program. A module without a
    step, or one whose ranks wait for one another for ever, is left as it is: the proof names that.

    ```mlir
    %g = dist.all_reduce %x axes ["dp"] …
    // becomes
    %g = dist.all_reduce %x axes ["dp"] … {dist.predicted_exposed_us = 8.100000e+00 : f64}
    ```
  }];
}

def SinkAccumulationPass : Lower_Pass<"ulsc-sink-accumulation"> {
  let summary = "moves the accumulation of gradients into the blocks that make them";
  let description = [{
    Requires the scheduled stage. A loop over one microbatch is inlined; what is added to zeros is the sum; and where a result of a call is
    only added to an accumulator, a variant of the block takes the accumulator and gives the sum, so that the product that makes the gradient
    adds in place. The variant's argument names its result in `exec.accumulates`.

    ```mlir
    %dw = uls.call @b.bwd(%dy) : (tensor<4xf32>) -> tensor<4xf32>
    %a1 = uls.accumulate %a0, %dw : tensor<4xf32>, tensor<4xf32>
    // becomes
    %a1 = uls.call @b.bwd.acc(%dy, %a0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
}

def LowerStatePass : Lower_Pass<"ulsc-lower-state"> {
  let summary = "makes the reads and writes of parameters and optimizer state explicit";
  let description = [{
    Requires the scheduled stage. Arguments of the step and `uls.materialize` become `exec.get` (and a conversion); `uls.update` becomes a
    kernel for each size and combination of types, applied to each parameter flattened, and `exec.put`s of the new values and of the
    gradients. Leaves neither `uls.update` nor `uls.update_rule`.

    ```mlir
    uls.update @sgd(%g) scalars (%clip) parameters ["w"] : (tensor<4x8xf32>), (tensor<f32>)
    // becomes
    exec.put %g in "w.gradient" : tensor<4x8xf32>
    %p = exec.get "w" : tensor<4x8xf32>
    %1 = exec.apply @sgd_32(%p1, %g1, %clip) scalars(%c0) …
    exec.put %2 in "w" : tensor<4x8xf32>
    ```
  }];
}

def DecomposeModelOpsPass : Lower_Pass<"ulsc-decompose-model-ops"> {
  let summary = "rewrites the named ops as linalg.generic and matrix products";
  let description = [{
    Requires expanded contexts. Every op that computes becomes `linalg.generic` ops on tensors, floats computed in f32 whatever is stored;
    einsums become `exec.contract` (with transposes where letters don't collapse to strides), adding to an accumulator where their
    sum is only accumulated. Left are attention, calls, collectives, the loop, and views: reshapes, slices and concatenations along the outermost
    dimension.

    ```mlir
    %1 = uls.add %0, %x : tensor<4x8xf32>, tensor<4x8xf32>
    // becomes
    %e = tensor.empty() : tensor<4x8xf32>
    %1 = linalg.generic … ins(%0, %x) outs(%e) { … arith.addf … }
    ```
  }];
}

def FormKernelsPass : Lower_Pass<"ulsc-form-kernels"> {
  let summary = "groups generics into fused kernels";
  let description = [{
    Requires decomposed ops. Generics that share rows and feed one another become one `exec.kernel`, applied by `exec.apply`; reductions over rows
    share kernels of kind columns. Cheap producers (broadcasts, indices) go into every kernel that reads them. Groups never reach across a
    collective or the loop. Equal kernels are kept once. Leaves no `linalg.generic` outside kernels.

    ```mlir
    %1 = linalg.generic … ; %2 = linalg.generic … ins(%1) …
    // becomes
    %2 = exec.apply @add_gelu(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def AssignBuffersPass : Lower_Pass<"ulsc-assign-buffers"> {
  let summary = "turns values into buffers and blocks into exec.function";
  let description = [{
    Requires formed kernels. Blocks become `exec.function`s that write into buffers among their arguments, the step the entry, the loop `scf.for`,
    collectives a start and a wait. Values share a buffer where one is the last reader of the other and the op allows it, along views, carried
    values, accumulators and persistent buffers; a copy is made where that fails. Numbers collectives and groups, in the module's attributes
    `exec.collectives` and `exec.groups`, and gives the runtime a persistent buffer to receive reductions in.

    ```mlir
    uls.block @b(%x: tensor<4xf32>) -> (tensor<4xf32>) { %y = exec.apply @k(%x) … uls.yield %y }
    // becomes
    exec.function private @b(%x: memref<4xf32>, %y: memref<4xf32>) { exec.launch @k ins(%x …) outs(%y …) exec.return }
    ```
  }];
  let options = [Option<"threads", "threads", "int64_t", /*default=*/"2",
                        "threads per rank that scratch buffers are sized for">,
                 Option<"target", "target", "std::string", /*default=*/"\"cpu\"",
                        "what the program runs on, cpu or cuda: libraries have their own workspaces">];
}

def PlanMemoryPass : Lower_Pass<"ulsc-plan-memory"> {
  let summary = "gives every buffer its offset";
  let description = [{
    Requires assigned buffers. Callees first: their buffers get offsets in their frames, and each call a buffer for the callee's frame. In the entry,
    persistent buffers come first and stay, the others share what follows by their lifetimes; the arena is whole pages. Adds `offset`, `frame_bytes` and
    `categories`.
  }];
  let options = [Option<"poison", "poison", "bool", /*default=*/"false",
                        "fill buffers with NaN after their last use, for tests">];
}

def CheckPlanPass : Lower_Pass<"ulsc-check-plan"> {
  let summary = "checks by another analysis that no two live buffers overlap";
  let description = [{
    Requires a memory plan, changes nothing. Fails when two buffers that are live at one op share bytes, and warns when the transient part of the arena
    exceeds the largest sum of live bytes by more than 3 %. Adds `exec.largest_live_bytes` to the entry.
  }];
}

def ProveCommunicationPass : Lower_Pass<"ulsc-prove-communication"> {
  let summary = "proves that what ranks send, receive and reduce comes to an end";
  let description = [{
    Requires buffers, changes nothing. Follows the programs of all stages side by side, one rank for each. Fails where a send has no receive of
    its type in its order or a receive no send, where collectives between stages come or are waited for in another order or of another type on
    one of them, where a slot is taken while it holds something, where stages wait for each other, and where memory is touched while it travels.
    Both sides are named by the source model's op, chunk and microbatch.
  }];
}

def AttachManifestPass : Lower_Pass<"ulsc-attach-manifest"> {
  let summary = "gives the program its manifest and drops what only that described";
  let description = [{
    Requires a memory plan. Sets the module's `exec.manifest` to the JSON of docs/manifest.md and removes parameters, states, the mesh and the
    attributes of the model. Leaves modules without `uls.model` as they are.
  }];
}

//===---------------------------------------------------------------------------------------===//
// From exec to machine code
//===---------------------------------------------------------------------------------------===//

def DeduplicateKernelsPass : Pass<"ulsc-deduplicate-kernels", "mlir::ModuleOp"> {
  let summary = "keep one of each set of kernels with the same signature and body";
  let description = [{
    Requires: exec. Changes: launches of a kernel name the first kernel equal to it. Leaves: no two equal
    kernels, and the others as they were.
  }];
}

def EmitCpuAttentionPass : Pass<"ulsc-emit-cpu-attention", "mlir::ModuleOp"> {
  let summary = "turn attention into launches of generated functions";
  let description = [{
    Requires: exec with planned buffers; each attention has a scratch buffer of `attentionScratchBytes`.
    Changes: each distinct exec.attention and exec.attention_grad becomes an llvm.func of scf, arith and math
    ops, called through exec.launch. Leaves: no attention ops.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::scf::SCFDialect", "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect"];
}

def EmitCpuKernelsPass : Pass<"ulsc-emit-cpu-kernels", "mlir::ModuleOp"> {
  let summary = "turn kernels into functions of loops";
  let description = [{
    Requires: exec.kernel ops that verify. Changes: each becomes an llvm.func of the same name with the
    signature of `ulsc_kernel`, its body scf loops over scalar arith and math ops on bare pointers; launches
    get their `extent` and `grain`. Leaves: no exec.kernel.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::scf::SCFDialect", "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect"];
}

def GroupLaunchesPass : Pass<"ulsc-group-launches", "mlir::ModuleOp"> {
  let summary = "run kernels of one family on many tensors in one launch";
  let description = [{
    Requires: exec with planned buffers, for cuda. Launches of kernels of one `family` in an entry function, with buffers at fixed offsets and constant scalars,
    run as one where nothing needs their order: none of them writes bytes that another one accesses, and between them stand ops without effects, or launches,
    copies and fills of other bytes. Changes: each such group becomes one launch of a function of the nested module `kernels`, which gets the arena
    alone. It finds offsets, sizes and scalars of each block's tensor in a table, and computes what the kernels of the family do, bit by bit. Leaves: no
    exec.kernel of which all launches are in groups; launches without others as they were.

    ```mlir
    exec.launch @adamw_64 ins(%w, %dw …) outs(%w …) scalars(%c0 : i64)
    exec.launch @adamw_8 ins(%v, %dv …) outs(%v …) scalars(%c2 : i64)
    // becomes
    exec.launch @adamw_group_1 ins(%w, %dw, %v, %dv …) outs(%w, %v …) {extent = 2 : i64, grain = 256 : i64}
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect", "mlir::scf::SCFDialect",
                           "mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def EmitCudaKernelsPass : Pass<"ulsc-emit-cuda-kernels", "mlir::ModuleOp"> {
  let summary = "turn kernels into functions of a grid's threads";
  let description = [{
    Requires: exec.kernel ops that verify. Changes: each becomes an llvm.func of the nested module `kernels`, what one thread does, and a constant
    `ulsc_device_kernel` of its name on the host; launches get the blocks of their grid as `extent` and the threads of a block as `grain`. Elementwise kernels
    access 16 bytes at a time where all buffers are aligned to them, rows are computed by warps or blocks, permutations go through shared memory. What fits
    none of these is computed by one thread for each row, column or element. Leaves: no exec.kernel.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect", "mlir::scf::SCFDialect",
                           "mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def EmitCudaAttentionPass : Pass<"ulsc-emit-cuda-attention", "mlir::ModuleOp"> {
  let summary = "turn attention into launches of kernels that go through tiles";
  let description = [{
    Requires: exec. Changes: each distinct exec.attention becomes a function of the nested module `kernels`, each exec.attention_grad two, one for the
    gradient of queries, one for that of keys and values; they use no scratch memory. Every sum has one order. Leaves: no attention ops.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect", "mlir::scf::SCFDialect",
                           "mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def EmitKernelsTextPass : Pass<"ulsc-emit-kernels-text", "mlir::ModuleOp"> {
  let summary = "turn the module of kernels into PTX";
  let description = [{
    Requires: the nested module `kernels` in the llvm and nvvm dialects. Changes: it becomes the constant `ulsc_kernels`, NUL-terminated PTX for
    `arch`, which the program loads. Leaves a module without kernels as it is.
  }];
  let options = [Option<"arch", "arch", "std::string", /*default=*/"\"sm_90\"", "oldest architecture that runs the program">,
                 Option<"keep", "keep", "bool", /*default=*/"false", "keep the module of kernels, too, for tests">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def ConvertExecToLLVMPass : Pass<"ulsc-convert-exec-to-llvm", "mlir::ModuleOp"> {
  let summary = "turn a rank's program into functions that call the runtime";
  let description = [{
    Requires: exec.function ops with planned buffers, launches with extent and grain. Changes: functions become
    llvm.func whose first arguments are the runtime's context and the frame's address; buffers become addresses,
    library work and collectives calls of include/ulsc/RuntimeABI.h with constant descriptors. Leaves: scf, arith
    and llvm ops.
  }];
  let options = [Option<"isForDevice", "device", "bool", /*default=*/"false",
                        "copies, fills and accesses to the control block are calls, since the host can't address buffers">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::scf::SCFDialect", "mlir::arith::ArithDialect"];
}

#endif // ULSC_PASSES_LOWER_PASSES_TD
