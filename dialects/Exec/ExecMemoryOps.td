//===- ExecMemoryOps.td - Buffers and views of them -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------===//

#ifndef ULSC_EXEC_MEMORY_OPS
#define ULSC_EXEC_MEMORY_OPS

include "dialects/Exec/ExecBase.td"

def Exec_BufferOp : Exec_Op<"buffer"> {
  let summary = "memory of the enclosing function's frame";
  let description = [{
    Its contents are undefined where it stands, except in the entry function for buffers that the
    runtime fills (parameters, optimizer state, inputs). `offset` is in bytes, a multiple of 64; it
    is absent until the memory plan. `name` serves reports.

    ```mlir
    %b = exec.buffer temporaries offset(4096) : memref<2x64x64xf32>
    %w = exec.buffer parameters "wte.weight" : memref<50257x768xf32>
    ```
  }];
  let arguments = (ins Exec_CategoryAttr:$category, OptionalAttr<StrAttr>:$name,
                       OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Exec_Buffer, "", [MemAlloc]>:$result);
  let assemblyFormat = [{
    $category ($name^)? (`offset` `(` $offset^ `)`)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Exec_SlotOp : Exec_Op<"slot", [Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "one entry of a buffer's leading dimension";
  let description = [{
    How a microbatch finds its part of the inputs and of values in flight. The result aliases the
    source at `index` times the entry's size.

    ```mlir
    %x = exec.slot %inputs[%m] : memref<4x2x64xi32> to memref<2x64xi32>
    ```
  }];
  let arguments = (ins Exec_Contiguous:$source, Index:$index);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = [{
    $source `[` $index `]` attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Exec_ViewOp : Exec_Op<"view", [Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "a buffer seen with another shape";
  let description = [{
    The result aliases the source from element `offset` (of the source's type) on, as a row-major
    buffer. Shape and element type may differ; the result lies within the source.

    ```mlir
    %v = exec.view %b offset(128) : memref<4x64xf32> to memref<2x2x32xf32>
    ```
  }];
  let arguments = (ins Exec_Contiguous:$source, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = [{
    $source (`offset` `(` $offset^ `)`)? attr-dict `:` type($source) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Exec_CopyOp : Exec_Op<"copy"> {
  let summary = "copies a buffer";
  let description = [{
    Source and target have as many elements of the same type; their shapes may differ. They are the
    same memory or don't overlap.

    ```mlir
    exec.copy %a to %b : memref<4x16xf32> to memref<64xf32>
    ```
  }];
  let arguments = (ins Arg<Exec_Contiguous, "", [MemRead]>:$source,
                       Arg<Exec_Contiguous, "", [MemWrite]>:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `to` type($target)";
  let hasVerifier = 1;
}

def Exec_FillOp : Exec_Op<"fill"> {
  let summary = "sets every element of a buffer to a constant";
  let description = [{
    ```mlir
    exec.fill %b with 0.000000e+00 : f32 : memref<4x16xf32>
    ```
  }];
  let arguments = (ins Arg<Exec_Contiguous, "", [MemWrite]>:$target,
                       TypedAttrInterface:$value);
  let assemblyFormat = "$target `with` $value attr-dict `:` type($target)";
  let hasVerifier = 1;
}

#endif // ULSC_EXEC_MEMORY_OPS
