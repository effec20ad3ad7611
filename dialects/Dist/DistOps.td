//===- DistOps.td - Ops of the dist dialect ---------------------------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_DIST_DISTOPS_TD
#define ULSC_DIALECTS_DIST_DISTOPS_TD

include "dialects/Dist/DistAttrs.td"
include "dialects/Dist/DistInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Dist_Op<string mnemonic, list<Trait> traits = []> : Op<DistDialect, mnemonic, traits>;

def Dist_Handle : TypeDef<DistDialect, "Handle"> {
  let mnemonic = "handle";
  let summary = "a started collective, to be waited for";
  let parameters = (ins ArrayRefParameter<"mlir::Type">:$results);
  // A send leaves nothing: the list may be empty.
  let hasCustomAssemblyFormat = 1;
}

def Dist_MeshOp : Dist_Op<"mesh", [Symbol]> {
  let summary = "a mesh of devices";
  let description = [{
    Made when a mesh is chosen, kept to the end. Axes are listed major to minor, ranks are row-major.

    Example:
    ```
    dist.mesh @mesh <["pp"=2, "dp"=4, "tp"=8]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Dist_Mesh:$mesh);
  let assemblyFormat = "$sym_name $mesh attr-dict";
}

def Dist_ReshardOp : Dist_Op<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "asks for a sharding of a value";
  let description = [{
    Before partitioning, states that the result has the given sharding whatever the operand's is. User annotations
    inside a block, storage shardings and deferred reductions are written so; partitioning replaces it by the cheapest
    collectives, or by nothing.

    Example:
    ```
    %1 = dist.reshard %0 to <@mesh, [{"dp"}, {} ]> : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Dist_Sharding:$sharding, OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input `to` $sharding (`cause` $cause^)? attr-dict `:` type($output)";
}

class Dist_CollectiveOp<string mnemonic, dag leading, dag trailing, string format>
    : Dist_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<CollectiveOpInterface, ["getKind"]>]> {
  let arguments = !con(leading,
                       (ins Variadic<AnyRankedTensor>:$inputs, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes),
                       trailing, (ins OptionalAttr<StrAttr>:$cause));
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = format # [{
    `over` $mesh $axes (`cause` $cause^)? attr-dict `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
}

def Dist_AllReduceOp
    : Dist_CollectiveOp<"all_reduce", (ins Dist_ReductionAttr:$reduction), (ins), "$reduction $inputs"> {
  let summary = "reduces over ranks; every rank has the result";
  let description = [{
    Combines the operands of the ranks that differ only along `axes`. Several operands travel as one collective.
    Shapes do not change. Made by partitioning, grouped by bucketing, removed by the lowering to `exec`, as all
    collectives are.

    Example:
    ```
    %1 = dist.all_reduce sum %0 over @mesh ["tp"] : (tensor<2x16xf32>) -> tensor<2x16xf32>
    ```
  }];
}

def Dist_AllGatherOp
    : Dist_CollectiveOp<"all_gather", (ins), (ins DenseI64ArrayAttr:$dims), "$inputs `dims` $dims"> {
  let summary = "joins the blocks of ranks along a dimension";
  let description = [{
    The result's dimension `dims[i]` of operand i is the concatenation of the blocks of the ranks that differ only
    along `axes`, in row-major order of `axes`.

    Example:
    ```
    %1 = dist.all_gather %0 dims [1] over @mesh ["tp"] : (tensor<2x16xf32>) -> tensor<2x32xf32>
    ```
  }];
}

def Dist_ReduceScatterOp
    : Dist_CollectiveOp<"reduce_scatter", (ins Dist_ReductionAttr:$reduction), (ins DenseI64ArrayAttr:$dims),
                        "$reduction $inputs `dims` $dims"> {
  let summary = "reduces over ranks; each rank keeps its block";
  let description = [{
    The reduction over the ranks that differ only along `axes`, of which a rank keeps the block at its row-major
    position along dimension `dims[i]`.

    Example:
    ```
    %1 = dist.reduce_scatter sum %0 dims [0] over @mesh ["dp"] : (tensor<8x16xf32>) -> tensor<4x16xf32>
    ```
  }];
}

def Dist_AllToAllOp
    : Dist_CollectiveOp<"all_to_all", (ins), (ins DenseI64ArrayAttr:$splitDims, DenseI64ArrayAttr:$concatDims),
                        "$inputs `split` $splitDims `concat` $concatDims"> {
  let summary = "moves a sharding from one dimension to another";
  let description = [{
    Dimension `splitDims[i]` of operand i is cut into as many blocks as there are ranks along `axes`; block j goes to
    the j-th rank; the blocks received are joined along `concatDims[i]` in the senders' order.

    Example:
    ```
    %1 = dist.all_to_all %0 split [1] concat [0] over @mesh ["tp"] : (tensor<2x16xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def Dist_PermuteOp
    : Dist_CollectiveOp<"permute", (ins), (ins DenseI64ArrayAttr:$pairs), "$inputs `pairs` $pairs"> {
  let summary = "sends each rank's value to one other rank";
  let description = [{
    `pairs` lists source and target positions along `axes`, flattened: each position once as a source and once as a
    target. Used for neighbour exchange and for reordering axes of a sharding.

    Example:
    ```
    %1 = dist.permute %0 pairs [0, 1, 1, 0] over @mesh ["tp"] : (tensor<2x16xf32>) -> tensor<2x16xf32>
    ```
  }];
}

def Dist_SendOp : Dist_Op<"send", [DeclareOpInterfaceMethods<CollectiveOpInterface, ["getKind"]>]> {
  let summary = "gives values to one other rank";
  let description = [{
    What a rank sends goes to the rank at position `peer` of those that differ from it only along `axes`, which receives it by a
    `dist.receive` of the same types. Those of one pair of ranks and one direction match in their order. Made where a step is cut into
    pipeline stages, whose programs differ: there is no rank that both sends and receives here.

    Example:
    ```
    dist.send %0 to 1 over @mesh ["pp"] : tensor<2x16xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$peer, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes,
                       OptionalAttr<StrAttr>:$cause);
  let assemblyFormat = [{
    $inputs `to` $peer `over` $mesh $axes (`cause` $cause^)? attr-dict `:` type($inputs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "mlir::ResultRange getOutputs() { return (*this)->getResults(); }";
}

def Dist_ReceiveOp : Dist_Op<"receive", [DeclareOpInterfaceMethods<CollectiveOpInterface, ["getKind"]>]> {
  let summary = "takes values that one other rank sends";
  let description = [{
    The counterpart of `dist.send`: what the rank at position `peer` along `axes` sent next.

    Example:
    ```
    %1 = dist.receive from 0 over @mesh ["pp"] : tensor<2x16xf32>
    ```
  }];
  let arguments = (ins I64Attr:$peer, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, OptionalAttr<StrAttr>:$cause);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    `from` $peer `over` $mesh $axes (`cause` $cause^)? attr-dict `:` type($outputs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "mlir::OperandRange getInputs() { return (*this)->getOperands(); }";
}

def Dist_StartOp : Dist_Op<"start", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "starts a collective";
  let description = [{
    Starts the one collective in its region; the operands must not change until the matching `dist.wait`. Made when
    collectives are overlapped with compute: starts move early, waits late.

    Example:
    ```
    %h = dist.start {
      %1 = dist.all_reduce sum %0 over @mesh ["dp"] : (tensor<2x16xf32>) -> tensor<2x16xf32>
      dist.yield %1 : tensor<2x16xf32>
    } : !dist.handle<tensor<2x16xf32>>
    %2 = dist.wait %h : !dist.handle<tensor<2x16xf32>> -> tensor<2x16xf32>
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  // A communication of its own, even where another one gathers the same.
  let results = (outs Res<Dist_Handle, "", [MemAlloc]>:$handle);
  let assemblyFormat = "$body attr-dict `:` type($handle)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The collective that is started.
    CollectiveOpInterface getCollective();
  }];
}

def Dist_YieldOp : Dist_Op<"yield", [Pure, Terminator, HasParent<"StartOp">]> {
  let summary = "ends the region of `dist.start`";
  let description = [{
    Yields the collective's results, which the handle will give.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Dist_WaitOp : Dist_Op<"wait"> {
  let summary = "waits for a started collective";
  let description = [{
    Gives the results of the collective that `dist.start` began. Each handle is waited for exactly once.
  }];
  let arguments = (ins Dist_Handle:$handle);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$handle attr-dict `:` type($handle) (`->` type($results)^)?";
  let hasVerifier = 1;
}

def Dist_LocalSliceOp : Dist_Op<"local_slice", [Pure]> {
  let summary = "keeps this rank's block along a dimension";
  let description = [{
    Cuts dimension `dim` into as many blocks as there are ranks along `axes` and keeps the one at this rank's row-major
    position. No communication: the way from whole to sharded.

    Example:
    ```
    %1 = dist.local_slice %0 dim 1 over @mesh ["tp"] : tensor<2x16xf32> -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input `dim` $dim `over` $mesh $axes attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
}

def Dist_AxisIndexOp : Dist_Op<"axis_index", [Pure]> {
  let summary = "this rank's row-major position along axes";
  let description = [{
    The position among the ranks that differ only along `axes`.

    Example:
    ```
    %0 = dist.axis_index @mesh ["tp"] : tensor<i64>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs AnyRankedTensor:$position);
  let assemblyFormat = "$mesh $axes attr-dict `:` type($position)";
}

#endif // ULSC_DIALECTS_DIST_DISTOPS_TD
