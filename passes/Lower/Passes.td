//===- Passes.td - Passes that lower exec to machine code ---------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER
#define ULSC_PASSES_LOWER

include "mlir/Pass/PassBase.td"

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

def ConvertExecToLLVMPass : Pass<"ulsc-convert-exec-to-llvm", "mlir::ModuleOp"> {
  let summary = "turn a rank's program into functions that call the runtime";
  let description = [{
    Requires: exec.function ops with planned buffers, launches with extent and grain. Changes: functions become
    llvm.func whose first arguments are the runtime's context and the frame's address; buffers become addresses,
    library work and collectives calls of include/ulsc/RuntimeABI.h with constant descriptors. Leaves: scf, arith
    and llvm ops.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::scf::SCFDialect", "mlir::arith::ArithDialect"];
}

#endif // ULSC_PASSES_LOWER
