//===- DistInterfaces.td - How ops say how they shard -----------------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_DIST_DISTINTERFACES_TD
#define ULSC_DIALECTS_DIST_DISTINTERFACES_TD

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::ulsc::dist";
  let description = [{
    Relates the dimensions of an op's tensors by factors. Propagation moves axes along factors; the partitioner
    makes operands agree with the result's axes and concludes which results are partial. An op outside this project
    may carry the attribute `dist.rule` instead (see `getShardingRule` in ShardingRule.h).
  }];
  let methods = [
    InterfaceMethod<"The rule of this op, for its present operand and result types.",
      "::ulsc::dist::ShardingRule", "getShardingRule", (ins)>
  ];
}

def PartitionOpInterface : OpInterface<"PartitionOpInterface"> {
  let cppNamespace = "::ulsc::dist";
  let description = [{
    For ops whose partitioned form is not themselves on smaller shapes (vocabulary-parallel lookup and loss,
    global positions, global reductions). The partitioner calls `partition` after it chose shardings by the op's
    rule; the op creates its local form.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the op's local form at the rewriter's insertion point. `operands` are already local values whose
        shardings are `operandShardings` (those that `getRequiredOperandShardings` asked for); `resultShardings`
        are those wanted for the results, without partials. Returns the local results with the shardings they
        really have, partials included; the partitioner reshards them further if need be. Fails after an error.
      }],
      "mlir::LogicalResult", "partition",
      (ins "::ulsc::dist::PartitionState &":$state, "mlir::ValueRange":$operands,
           "llvm::SmallVectorImpl<::ulsc::dist::PartitionedValue> &":$results)>,
    InterfaceMethod<[{
        Whether the local form takes operands whose blocks are split flat as they lie; else they are gathered
        for it.
      }],
      "bool", "takesFlatOperands", (ins), [{}], [{ return false; }]>
  ];
}

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::ulsc::dist";
  let description = [{
    What all collectives share: several operands that travel together, the mesh axes they go over, and the cause.
  }];
  let methods = [
    InterfaceMethod<"Kind as reports and the runtime name it.", "llvm::StringRef", "getKind", (ins)>,
    InterfaceMethod<"Axes, major to minor.", "mlir::ArrayAttr", "getAxes", (ins), [{ return $_op.getAxes(); }]>,
    InterfaceMethod<"The mesh.", "mlir::FlatSymbolRefAttr", "getMeshAttr", (ins), [{ return $_op.getMeshAttr(); }]>,
    InterfaceMethod<"Why this collective is there, in words, or null.", "mlir::StringAttr", "getCauseAttr", (ins),
      [{ return $_op.getCauseAttr(); }]>,
    InterfaceMethod<"Local operands; a receive has none.", "mlir::OperandRange", "getInputs", (ins), [{ return $_op.getInputs(); }]>,
    InterfaceMethod<"Local results, one per operand; a send has none.", "mlir::ResultRange", "getOutputs", (ins),
      [{ return $_op.getOutputs(); }]>
  ];
  let extraClassDeclaration = [{
    /// The types of what travels.
    mlir::TypeRange getTravellingTypes() {
      return getInputs().empty() ? mlir::TypeRange(getOutputs().getTypes()) : mlir::TypeRange(getInputs().getTypes());
    }
    /// Whether only numbers about the step travel: counts, norms, flags.
    bool isScalar() {
      return llvm::all_of(getTravellingTypes(),
                          [](mlir::Type type) { return llvm::cast<mlir::RankedTensorType>(type).getRank() == 0; });
    }
  }];
}

#endif // ULSC_DIALECTS_DIST_DISTINTERFACES_TD
