//===- ExecDialect.td - One rank's program on buffers -------------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------===//

#ifndef ULSC_EXEC_DIALECT
#define ULSC_EXEC_DIALECT

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::ulsc::exec";
  let summary = "one rank's program: buffers at fixed offsets, kernels, library calls, collectives";
  let description = [{
    The lowest level of the compiler that is still shared by all targets. Everything has a static
    shape, every buffer a byte offset in the arena (or in the frame of a function, which its caller
    places), and the order of operations is the order of execution. `exec` knows nothing of meshes:
    a collective names its group and its entry in the manifest by number.

    - `exec.function` and `exec.call` hold the program; the function with `entry` is the step.
    - `exec.buffer`, `exec.slot` and `exec.view` name memory.
    - `exec.kernel` is a fused group of `linalg.generic` ops with value semantics, launched on
      buffers by `exec.launch`.
    - `exec.gemm`, `exec.attention`, `exec.attention_grad`, `exec.copy` and `exec.fill` are the
      other work, `exec.collective_start` and `exec.collective_wait` the communication.
    - `exec.control`, `exec.read_control`, `exec.write_control` and `exec.coordinate` reach the
      control block, the only state that changes between steps without being a tensor.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = "void registerOps();";
}

//===-------------------------------------------------------------------------------------===//
// Enumerations
//===-------------------------------------------------------------------------------------===//

class Exec_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::ulsc::exec";
  let genSpecializedAttr = 0;
}

class Exec_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Exec_Dialect, info, mnemonic> {
  let assemblyFormat = "$value";
}

def Exec_CategoryEnum : Exec_Enum<"Category", "what a buffer is for, as memory is reported", [
  I32EnumAttrCase<"Parameters", 0, "parameters">,
  I32EnumAttrCase<"Gradients", 1, "gradients">,
  I32EnumAttrCase<"Optimizer", 2, "optimizer">,
  I32EnumAttrCase<"Activations", 3, "activations">,
  I32EnumAttrCase<"Temporaries", 4, "temporaries">,
  I32EnumAttrCase<"Communication", 5, "communication">,
  I32EnumAttrCase<"Workspaces", 6, "workspaces">
]>;
def Exec_CategoryAttr : Exec_EnumAttr<Exec_CategoryEnum, "category">;

def Exec_KernelKindEnum : Exec_Enum<"KernelKind", "how a kernel is split across threads", [
  I32EnumAttrCase<"Rows", 0, "rows">,
  I32EnumAttrCase<"Columns", 1, "columns">,
  I32EnumAttrCase<"Scatter", 2, "scatter">
]>;
// Stands in attribute dictionaries, so it has brackets.
def Exec_KernelKindAttr : EnumAttr<Exec_Dialect, Exec_KernelKindEnum, "kernel_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

// Values of ulsc_epilogue.
def Exec_EpilogueEnum : Exec_Enum<"Epilogue", "what a matrix product does beside storing its result", [
  I32EnumAttrCase<"Bias", 1, "bias">,
  I32EnumAttrCase<"Gelu", 2, "gelu">,
  I32EnumAttrCase<"GeluGrad", 3, "gelu_grad">,
  I32EnumAttrCase<"GeluBiasGrad", 4, "gelu_bias_grad">,
  I32EnumAttrCase<"BiasGrad", 5, "bias_grad">
]>;
def Exec_EpilogueAttr : Exec_EnumAttr<Exec_EpilogueEnum, "epilogue">;

def Exec_AttentionLibraryEnum : Exec_Enum<"AttentionLibrary", "a library that computes attention", [
  I32EnumAttrCase<"Cudnn", 0, "cudnn">
]>;
// Stands in attribute dictionaries, so it has brackets.
def Exec_AttentionLibraryAttr : EnumAttr<Exec_Dialect, Exec_AttentionLibraryEnum, "attention_library"> {
  let assemblyFormat = "`<` $value `>`";
}

// Values of ulsc_collective_kind and ulsc_reduction.
def Exec_CollectiveKindEnum : Exec_Enum<"CollectiveKind", "kind of collective", [
  I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
  I32EnumAttrCase<"AllGather", 1, "all_gather">,
  I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">,
  I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
  I32EnumAttrCase<"Permute", 4, "permute">,
  I32EnumAttrCase<"Send", 5, "send">,
  I32EnumAttrCase<"Receive", 6, "receive">
]>;
def Exec_CollectiveKindAttr : Exec_EnumAttr<Exec_CollectiveKindEnum, "collective_kind">;

def Exec_ReductionEnum : Exec_Enum<"Reduction", "combiner of a reducing collective", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Max", 1, "max">
]>;
def Exec_ReductionAttr : Exec_EnumAttr<Exec_ReductionEnum, "reduction">;

#endif // ULSC_EXEC_DIALECT
