//===- Partitioner.h - Rewrites functions to one rank's types ---------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_PARTITION_PARTITIONER_H
#define ULSC_PASSES_PARTITION_PARTITIONER_H

#include "dialects/Uls/Uls.h"
#include "passes/Partition/Resharder.h"
#include "passes/Shard/FactorAssignment.h"

#include "mlir/IR/BuiltinOps.h"

namespace ulsc::shard {

/// Takes away what propagation noted on an op.
void dropAnnotations(mlir::Operation *op);

/// Writes the local form of one function beside the global one, op by op, then drops the global
/// one. Each op is computed over the axes its factors are assigned, its operands resharded to that,
/// its results to what propagation decided.
class Partitioner {
public:
  Partitioner(mlir::ModuleOp module, const Mesh &mesh, const cost::CommunicationCost &cost)
      : module(module), mesh(mesh), cost(cost), resharder(mesh, cost),
        builder(module.getContext()) {}

  mlir::LogicalResult run();

private:
  mlir::LogicalResult partition(mlir::FunctionOpInterface function);
  mlir::LogicalResult partitionOps(mlir::Block &block);
  mlir::LogicalResult partition(mlir::Operation *op);

  // One per kind of op that belongs to the program's structure.
  mlir::LogicalResult partitionMaterialize(uls::MaterializeOp op);
  mlir::LogicalResult partitionConstant(uls::ConstantOp op);
  mlir::LogicalResult partitionReshard(dist::ReshardOp op);
  mlir::LogicalResult partitionCall(mlir::Operation *op, mlir::FlatSymbolRefAttr callee,
                                    unsigned firstOperand, unsigned firstArgument,
                                    llvm::function_ref<unsigned(unsigned)> getResultNumber);
  mlir::LogicalResult partitionStart(dist::StartOp op);
  mlir::LogicalResult partitionWait(dist::WaitOp op);
  mlir::LogicalResult partitionLoop(uls::MicrobatchesOp op);
  mlir::LogicalResult partitionYield(mlir::Operation *op);
  mlir::LogicalResult partitionAccumulate(uls::AccumulateOp op);
  mlir::LogicalResult partitionUpdate(uls::UpdateOp op);
  void updateRemote(uls::UpdateOp op, unsigned index, mlir::Value gradient,
                    mlir::ValueRange scalars, mlir::Value condition);
  uls::ParamOp lookupParam(mlir::Operation *op, unsigned index);
  /// How the states of a parameter lie, in which its update is computed; as the parameter without
  /// one.
  Layout getUpdateLayout(uls::UpdateOp op, uls::ParamOp param, bool &hasMaster);

  mlir::LogicalResult partitionByRule(mlir::Operation *op, const dist::ShardingRule &rule);
  mlir::LogicalResult partitionWhole(mlir::Operation *op);
  mlir::LogicalResult partitionItself(mlir::Operation *op, const dist::ShardingRule &rule,
                                      mlir::ValueRange operands, llvm::ArrayRef<Layout> layouts,
                                      llvm::ArrayRef<Layout> produced, AxisMask passed);

  /// The layout a sharding attribute says, or all whole without one.
  Layout readLayout(mlir::Attribute sharding, mlir::Type type) const;
  /// How the stored value of a parameter lies.
  Layout getStoredLayout(uls::ParamOp param) const {
    return readLayout(param.getSharding().value_or(dist::ShardingAttr()), param.getTensorType());
  }
  Layout getResultLayout(mlir::Operation *op, unsigned index) const;
  /// The local form of an operand in the layout asked for.
  mlir::Value require(mlir::OpOperand &operand, const Layout &layout);
  mlir::Value countAgain(uls::IotaOp op, const Layout &layout);
  /// Copies an op with local operands and result types.
  mlir::Operation *cloneLocal(mlir::Operation *op, mlir::ValueRange operands,
                              llvm::ArrayRef<Layout> results);
  /// Notes an op's result, resharded to what propagation decided.
  void finish(mlir::OpResult result, LocalValue produced);
  ReshardCause getCause(mlir::Value value, mlir::Operation *user) const;
  /// "parameters stored over dp (strategy zero3), gathered for their uses"; empty where they are
  /// not.
  std::string describeStorage(llvm::StringRef kind, llvm::StringRef what) const;

  mlir::ModuleOp module;
  const Mesh &mesh;
  const cost::CommunicationCost &cost;
  Resharder resharder;
  mlir::OpBuilder builder;
  mlir::SymbolTableCollection symbols;
  llvm::DenseMap<mlir::Value, LocalValue> locals;
  /// Other local forms of indices.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<LocalValue, 1>> counted;
};

} // namespace ulsc::shard

#endif // ULSC_PASSES_PARTITION_PARTITIONER_H
