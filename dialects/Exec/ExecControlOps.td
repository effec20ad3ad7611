//===- ExecControlOps.td - The control block, outside kernels -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------===//

#ifndef ULSC_EXEC_CONTROL_OPS
#define ULSC_EXEC_CONTROL_OPS

include "dialects/Exec/ExecBase.td"

def Exec_ReadControlOp : Exec_Op<"read_control"> {
  let summary = "copies a field of the control block into a buffer";
  let description = [{
    ```mlir
    exec.read_control "stop_requested" to %s : memref<f32>
    ```
  }];
  let arguments = (ins StrAttr:$field, Arg<Exec_Contiguous, "", [MemWrite]>:$target);
  let assemblyFormat = "$field `to` $target attr-dict `:` type($target)";
  let hasVerifier = 1;
}

def Exec_WriteControlOp : Exec_Op<"write_control"> {
  let summary = "copies a buffer into a field of the control block that the step reports";
  let description = [{
    The field is `loss`, `grad_norm`, `valid_count` or `stop_count`.

    ```mlir
    exec.write_control "loss" from %l : memref<f32>
    ```
  }];
  let arguments = (ins StrAttr:$field, Arg<Exec_Contiguous, "", [MemRead]>:$source);
  let assemblyFormat = "$field `from` $source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Exec_CoordinateOp : Exec_Op<"coordinate", [Pure]> {
  let summary = "this rank's coordinate on a mesh axis";
  let description = [{
    ```mlir
    %d = exec.coordinate axis(0) : index
    ```
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs Exec_Scalar:$result);
  let assemblyFormat = "`axis` `(` $axis `)` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // ULSC_EXEC_CONTROL_OPS
