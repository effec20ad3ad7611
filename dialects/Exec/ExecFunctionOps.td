//===- ExecFunctionOps.td - Functions of a rank's program -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------===//

#ifndef ULSC_EXEC_FUNCTION_OPS
#define ULSC_EXEC_FUNCTION_OPS

include "dialects/Exec/ExecBase.td"

def Exec_FunctionOp : Exec_FunctionLike<"function"> {
  let summary = "a piece of a rank's program";
  let description = [{
    Takes buffers (static shapes, identity layout) and `i64` or `index` context values such as the
    layer index, and writes its results into buffers among them. The body is one block of exec ops,
    views and `scf.for`, ended by `exec.return`.

    Buffers allocated in the body lie in the function's *frame* of `frame_bytes` bytes, whose base
    each call passes, so that the caller's plan places it. The function with `entry` is the step
    (symbol `ulsc_step`): its frame is the arena, and `categories` may hold the arena's bytes by
    category for the manifest.

    Made by bufferization without offsets; the memory plan adds `frame_bytes` and all offsets; the
    target lowering consumes it.

    ```mlir
    exec.function private @layer.fwd(%x: memref<4x16xf32>, %y: memref<4x16xf32>, %layer: index)
        attributes {frame_bytes = 256 : i64} {
      %t = exec.buffer temporaries offset(0) : memref<4x16xf32>
      exec.copy %x to %t : memref<4x16xf32> to memref<4x16xf32>
      exec.copy %t to %y : memref<4x16xf32> to memref<4x16xf32>
      exec.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       OptionalAttr<I64Attr>:$frame_bytes,
                       UnitAttr:$entry,
                       OptionalAttr<DictionaryAttr>:$categories);
  let extraClassDeclaration = functionDeclaration;
}

def Exec_ReturnOp : Exec_Op<"return", [Terminator, HasParent<"FunctionOp">]> {
  let summary = "ends an exec.function";
  let assemblyFormat = "attr-dict";
}

def Exec_CallOp : Exec_Op<"call", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls an exec.function";
  let description = [{
    Passes buffers and context values, and the memory of the callee's frame: a buffer of at least its
    `frame_bytes`, which is free again after the call. It may be left out while the plan isn't made,
    and when the callee has no buffers of its own.

    ```mlir
    exec.call @layer.fwd(%x, %y, %layer) frame(%f : memref<256xi8>)
        : memref<4x16xf32>, memref<4x16xf32>, index
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee,
                       Arg<Variadic<AnyTypeOf<[Exec_Contiguous, I64, Index]>>, "",
                           [MemRead, MemWrite]>:$args,
                       Arg<Optional<Exec_Contiguous>, "", [MemWrite]>:$frame);
  let assemblyFormat = [{
    $callee `(` $args `)` (`frame` `(` $frame^ `:` type($frame) `)`)? attr-dict
    (`:` type($args)^)?
  }];
}

#endif // ULSC_EXEC_FUNCTION_OPS
