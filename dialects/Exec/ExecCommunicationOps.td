//===- ExecCommunicationOps.td - Communication on buffers -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------===//

#ifndef ULSC_EXEC_COMMUNICATION_OPS
#define ULSC_EXEC_COMMUNICATION_OPS

include "dialects/Exec/ExecBase.td"

def Exec_CollectiveStartOp : Exec_Op<"collective_start", [AttrSizedOperandSegments]> {
  let summary = "starts a collective";
  let description = [{
    Several operands travel as one logical collective. `group` and `identifier` index the manifest's groups
    and collectives. Until the `exec.collective_wait` of the same slot, in the same block, nobody writes the inputs or touches the outputs, and the slot
    holds nothing else. Input `i` and output `i` have one element type; an all-reduce may be in place. Blocks of ranks lie one after the
    other, in the group's order. A permute sends the inputs of the rank at position `i` of the group to that at `destinations[i]`.
    A send has inputs alone, which go to position `peer` of the group, a receive outputs alone, which come from there.

    ```mlir
    exec.collective_start all_reduce reduction(sum) group(0) identifier(3) slot(1) ins(%g, %h) outs(%g, %h)
        : memref<64xf32>, memref<8x8xf32> to memref<64xf32>, memref<8x8xf32>
    exec.collective_start permute destinations [1, 0] group(0) identifier(4) slot(0) ins(%x) outs(%y) : memref<64xf32> to memref<64xf32>
    exec.collective_start send peer(1) group(0) identifier(5) slot(0) ins(%x) outs() : memref<64xf32>
    ```
  }];
  let arguments = (ins Exec_CollectiveKindAttr:$kind, OptionalAttr<Exec_ReductionAttr>:$reduction,
                       OptionalAttr<DenseI64ArrayAttr>:$destinations, OptionalAttr<I64Attr>:$peer,
                       I64Attr:$group, I64Attr:$identifier, I64Attr:$slot,
                       Arg<Variadic<Exec_Contiguous>, "", [MemRead]>:$inputs,
                       Arg<Variadic<Exec_Contiguous>, "", [MemWrite]>:$outputs);
  let assemblyFormat = [{
    $kind (`reduction` `(` $reduction^ `)`)? (`destinations` $destinations^)? (`peer` `(` $peer^ `)`)? `group` `(` $group `)` `identifier` `(` $identifier `)` `slot` `(` $slot `)`
    `ins` `(` $inputs `)` `outs` `(` $outputs `)` attr-dict (`:` type($inputs)^)? (`to` type($outputs)^)?
  }];
  let hasVerifier = 1;
}

def Exec_CollectiveWaitOp : Exec_Op<"collective_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for the collective in a slot";
  let description = [{
    ```mlir
    exec.collective_wait slot(1)
    ```
  }];
  let arguments = (ins I64Attr:$slot);
  let assemblyFormat = "`slot` `(` $slot `)` attr-dict";
}

#endif // ULSC_EXEC_COMMUNICATION_OPS
