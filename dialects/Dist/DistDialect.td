//===- DistDialect.td - The dist dialect ------------------------------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_DIST_DISTDIALECT_TD
#define ULSC_DIALECTS_DIST_DISTDIALECT_TD

include "mlir/IR/OpBase.td"

def DistDialect : Dialect {
  let name = "dist";
  let cppNamespace = "::ulsc::dist";
  let summary = "devices: the mesh, shardings, and the collectives between ranks";
  let description = [{
    Says how the values of a model lie on a mesh of devices, and holds the communication that follows.

    Up to the stage `sharded`, values have global shapes and ops carry their results' shardings in the
    attribute `dist.shardings`, arguments in the argument attribute `dist.sharding`. Partitioning then makes
    types local to one rank and all communication explicit; from there on a program is SPMD: every rank runs
    the same ops on values of the same shape, and `dist.axis_index` or `#dist.shard` tell ranks apart. Only along an axis `pp` programs
    differ: each of its ranks has a step of its own, which `dist.send` and `dist.receive` connect.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Array of one ShardingAttr (or unit for a value without one) per result, on any op before partitioning.
    static constexpr llvm::StringLiteral kShardingsAttrName = "dist.shardings";
    /// The sharding of a function argument.
    static constexpr llvm::StringLiteral kShardingAttrName = "dist.sharding";
    /// On a step: the position along `pp` of the ranks that run it.
    static constexpr llvm::StringLiteral kStageAttrName = "dist.stage";
    /// On a forward call and on what carries its value to another stage: the chunk of the model, counted in its order.
    static constexpr llvm::StringLiteral kChunkAttrName = "dist.chunk";
    /// On a transfer between stages: the microbatch whose value it is.
    static constexpr llvm::StringLiteral kMicrobatchAttrName = "dist.microbatch";
    /// On a parameter: the stages that hold it.
    static constexpr llvm::StringLiteral kStagesAttrName = "dist.stages";
    /// A ShardingRuleAttr on an op that has no rule of its own.
    static constexpr llvm::StringLiteral kRuleAttrName = "dist.rule";
    void registerAttrs();
    /// Unit attribute of a module whose types are local to one rank.
    static constexpr llvm::StringLiteral kPartitionedAttrName = "dist.partitioned";
  }];
}

#endif // ULSC_DIALECTS_DIST_DISTDIALECT_TD
