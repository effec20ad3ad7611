//===- DistAttrs.td - Mesh and sharding attributes --------------------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_DIST_DISTATTRS_TD
#define ULSC_DIALECTS_DIST_DISTATTRS_TD

include "dialects/Dist/DistDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Dist_Attr<string name, string attrMnemonic> : AttrDef<DistDialect, name> {
  let mnemonic = attrMnemonic;
}

def Dist_Reduction : I32EnumAttr<"Reduction", "how values of several ranks combine", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::ulsc::dist";
  let genSpecializedAttr = 0;
}

def Dist_ReductionAttr : EnumAttr<DistDialect, Dist_Reduction, "reduction"> {
  let assemblyFormat = "$value";
}

def Dist_MeshAxis : Dist_Attr<"MeshAxis", "axis"> {
  let summary = "a named mesh axis and its size";
  let parameters = (ins StringRefParameter<"axis name">:$name, "int64_t":$size);
  let assemblyFormat = "`<` $name `=` $size `>`";
}

def Dist_Mesh : Dist_Attr<"Mesh", "mesh"> {
  let summary = "mesh axes, major to minor";
  let description = [{
    The axes of a mesh. Ranks are row-major: the last axis is the one whose neighbours have consecutive ranks.

    Collectives, `dist.local_slice` and `dist.axis_index` may name a part of an axis: `dp:(2)4` is the part of 4 ranks behind a major one
    of 2. Of an axis of 8 ranks it joins ranks 0 to 3, and 4 to 7; what is left of a larger axis is minor to it. Shardings name whole axes.

    Example: `<["dp"=2, "tp"=4]>`
  }];
  let parameters = (ins ArrayRefParameter<"MeshAxisAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The part of an axis that `text` names, or nothing when the mesh has no such axis or it has no such part.
    std::optional<::ulsc::dist::AxisPart> findAxis(llvm::StringRef text) const;
    /// Size of `axis`, which may be a part of one, or nothing when the mesh has no such axis.
    std::optional<int64_t> getAxisSize(llvm::StringRef axis) const;
    /// Position of the whole axis `axis` from major to minor, or nothing.
    std::optional<unsigned> getAxisPosition(llvm::StringRef axis) const;
    /// Number of devices.
    int64_t getDeviceCount() const;
    /// Product of the sizes of `axes`, all of which the mesh must have.
    int64_t getSize(llvm::ArrayRef<mlir::StringAttr> axes) const;
    /// Coordinates of `rank`, one per axis.
    llvm::SmallVector<int64_t> getCoordinates(int64_t rank) const;
    /// Row-major position of `rank` among the ranks that differ from it only along `axes`, in the order of `axes`.
    int64_t getPosition(int64_t rank, llvm::ArrayRef<mlir::StringAttr> axes) const;
    /// Ranks that differ from `rank` only along `axes`, ordered row-major over `axes`.
    llvm::SmallVector<int64_t> getGroup(int64_t rank, llvm::ArrayRef<mlir::StringAttr> axes) const;
    /// The minor part of `axes` that joins `ranks` ranks; nothing where no part has so many (`getMinorRankCounts`).
    std::optional<llvm::SmallVector<mlir::StringAttr>> getMinorAxes(llvm::ArrayRef<mlir::StringAttr> axes, int64_t ranks) const;
  }];
}

def Dist_DimSharding : Dist_Attr<"DimSharding", "dim"> {
  let summary = "axes that shard one dimension, major to minor; open to propagation or closed";
  let parameters = (ins ArrayRefParameter<"mlir::StringAttr">:$axes, "bool":$isOpen,
                        DefaultValuedParameter<"int64_t", "0", "user priority, 0 is the strongest">:$priority);
  let hasCustomAssemblyFormat = 1;
}

def Dist_Partial : Dist_Attr<"Partial", "partial"> {
  let summary = "a pending reduction over axes";
  let parameters = (ins "::ulsc::dist::Reduction":$reduction, ArrayRefParameter<"mlir::StringAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
}

def Dist_Sharding : Dist_Attr<"Sharding", "sharding"> {
  let summary = "how one value lies on a mesh";
  let description = [{
    Each dimension lists the axes that shard it, major to minor; `?` leaves it open for propagation to add
    more, `p1`, `p2`, … give a user priority: such axes propagate after those of `p0`, which is meant where none is written, and
    where an op could be computed over either, the stronger ones are taken. `replicated` axes may not shard the value. `partial` axes hold
    summands (or maximands): the value is the reduction of what the ranks along them hold, and a value may pass
    so only through ops that are linear in it. `flat` axes split what the dimensions leave of the value: a rank's
    block in row-major order, padded at its end to a multiple of the ranks along them, in equal contiguous chunks. So
    lies state that is stored and never computed with as it lies: it has one dimension there.

    Examples:
    ```
    #dist.sharding<@mesh, [{"dp"}, {}, {"tp", ?}p0], replicated={"pp"}>
    #dist.sharding<@mesh, [{"dp"}, {} ], partial=[sum:{"tp"} ]>
    #dist.sharding<@mesh, [{"tp"}, {} ], flat={"dp"}>
    ```
  }];
  let parameters = (ins "mlir::FlatSymbolRefAttr":$mesh,
                        ArrayRefParameter<"DimShardingAttr">:$dims,
                        ArrayRefParameter<"mlir::StringAttr">:$replicated,
                        ArrayRefParameter<"PartialAttr">:$partials,
                        ArrayRefParameter<"mlir::StringAttr">:$flat);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getDims().size(); }
    /// A closed sharding that keeps every dimension of a tensor of `rank` whole.
    static ShardingAttr getReplicated(mlir::FlatSymbolRefAttr mesh, int64_t rank);
    /// A closed sharding with these axes per dimension, and these priorities where there are any.
    static ShardingAttr getClosed(mlir::FlatSymbolRefAttr mesh,
                                  llvm::ArrayRef<llvm::SmallVector<mlir::StringAttr>> dimAxes,
                                  llvm::ArrayRef<PartialAttr> partials = {},
                                  llvm::ArrayRef<mlir::StringAttr> flat = {},
                                  llvm::ArrayRef<uint8_t> priorities = {});
    llvm::ArrayRef<mlir::StringAttr> getAxes(int64_t dim) const { return getDims()[dim].getAxes(); }
    /// All axes that shard some dimension, and those that split what is left.
    llvm::SmallVector<mlir::StringAttr> getShardingAxes() const;
    /// All axes with a pending reduction.
    llvm::SmallVector<mlir::StringAttr> getPartialAxes() const;
    bool isFullyReplicated() const;
    ShardingAttr withoutPartials() const;
    /// The same with every dimension closed and without priorities: shardings compare by this.
    ShardingAttr getCanonical() const;
    /// Checks against a mesh and a shape: axes exist, none is used twice, every sharded size divides.
    /// `where` names the value in messages.
    mlir::LogicalResult verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, MeshAttr mesh,
                               llvm::ArrayRef<int64_t> shape) const;
    /// The shape of one rank's block of a tensor of `globalShape`, which must divide; one dimension where
    /// the sharding is flat.
    llvm::SmallVector<int64_t> getLocalShape(MeshAttr mesh, llvm::ArrayRef<int64_t> globalShape) const;
    mlir::RankedTensorType getLocalType(MeshAttr mesh, mlir::RankedTensorType globalType) const;
    /// The shape of the block that `flat` splits.
    llvm::SmallVector<int64_t> getBlockShape(MeshAttr mesh, llvm::ArrayRef<int64_t> globalShape) const;
    /// Offset of `rank`'s block, before `flat` splits it, in each dimension of a tensor of `globalShape`.
    llvm::SmallVector<int64_t> getOffsets(MeshAttr mesh, int64_t rank,
                                          llvm::ArrayRef<int64_t> globalShape) const;
  }];
}

def Dist_Shard : Dist_Attr<"Shard", "shard"> {
  let summary = "where a rank's block lies in the global value";
  let description = [{
    Kept by partitioned ops whose result depends on global positions (dropout, iota, vocabulary-parallel
    lookup and loss): the global shape and the sharding from which the block's offsets follow.

    Example: `#dist.shard<[8, 64], <@mesh, [{"dp"}, {} ]>>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$globalShape, "ShardingAttr":$sharding);
  let assemblyFormat = "`<` `[` $globalShape `]` `,` $sharding `>`";
}

def Dist_ShardingRule : Dist_Attr<"ShardingRule", "rule"> {
  let summary = "factors of an op's dimensions, as one line of text";
  let description = [{
    Names the factors of each dimension of operands and results, and the kind of those that are not plain
    pass-through. A dimension of several factors (a reshape) writes them major to minor, joined by `*`, the
    sizes of all but one given in `sizes`; `...` stands for the dimensions shared by all tensors that write it; `[]` is a scalar and
    `_` a dimension without a factor, which must stay whole.

    Kinds: `reduction={k}` (sum) and `max={k}` leave the result partial when the factor is sharded;
    `internal={v}` may be sharded because the op partitions itself and
    communicates; `replicated={d}` must stay whole; `permutation={s}` can be sharded at the cost of neighbour exchange.
    `linear={0,1}` are operands in each of which the op is linear when the others are fixed; `joint` says
    that it is linear in all of those together (addition).

    Examples: `#dist.rule<"[i,k],[k,j]->[i,j] reduction={k} linear={0,1}">`, `#dist.rule<"[...],[...]->[...] linear={0,1} joint">`,
    `#dist.rule<"[...,h*d]->[...,h,d] sizes={h=4} linear={0}">`
  }];
  let parameters = (ins "mlir::StringAttr":$text);
  let assemblyFormat = "`<` $text `>`";
}

#endif // ULSC_DIALECTS_DIST_DISTATTRS_TD
