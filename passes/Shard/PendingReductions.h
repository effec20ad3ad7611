//===- PendingReductions.h - How long sums stay pending ---------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SHARD_PENDINGREDUCTIONS_H
#define ULSC_PASSES_SHARD_PENDINGREDUCTIONS_H

#include "passes/Shard/ShardingGraph.h"

namespace ulsc::shard {

/// Why a value is partial over an axis, in words.
using Causes = llvm::SmallVector<std::pair<uint8_t, std::string>, 2>;

/// Decides for each value over which axes it stays a pending sum after its op. A sum stays pending
/// while every use is linear in it and passing it on does not make more bytes to reduce: so
/// branches of a gradient are added first and reduced once. Gradients of parameters and scalar
/// results leave blocks pending over data axes and are accumulated so.
class PendingReductions {
public:
  PendingReductions(ShardingGraph &graph, const Mesh &mesh, const cost::CommunicationCost &cost,
                    AxisMask dataAxes, AxisMask seqAxes);
  void run();

  /// Axes over which the value is a pending sum once its op has run. Until it is scattered they
  /// shard none of its dimensions, whatever its class says.
  AxisMask getSum(mlir::Value value) const;
  AxisMask getResultSum(mlir::Operation *function, unsigned index) const {
    return resultSums.lookup({function, index});
  }
  const Causes &getCauses(mlir::Value value) { return causes[value]; }

private:
  /// All bits: a zero, which is a summand of anything.
  static constexpr AxisMask kAnything = ~AxisMask(0);

  void runFunction(mlir::FunctionOpInterface function);
  void evaluate(mlir::Block &block);
  void evaluateRule(const Edge &edge);
  void evaluateLoop(uls::MicrobatchesOp loop);
  void evaluateCall(mlir::Operation *op, mlir::FlatSymbolRefAttr callee, unsigned firstResult);
  void set(mlir::Value value, AxisMask raw);
  bool restrict(mlir::Value value);
  double getLocalBytes(mlir::Value value) const;
  AxisMask getAllowed(mlir::OpOperand &use, double &bytes);
  AxisMask getAllowedResult(mlir::Operation *function, unsigned index);
  AxisMask getDimMask(mlir::Value value);
  llvm::SmallVector<AxisMask> getOperandSums(mlir::Operation *op) const;
  FactorAxes getAxes(const Edge &edge, llvm::ArrayRef<AxisMask> operandSums);
  void findCauses(const Edge &edge, unsigned result, AxisMask reduced,
                  llvm::ArrayRef<AxisMask> passing);
  std::string describe(const Edge &edge, uint8_t axis);

  ShardingGraph &graph;
  const Mesh &mesh;
  AxisMask dataAxes, gradientAxes;
  mlir::SymbolTableCollection symbols;
  llvm::DenseMap<mlir::Operation *, const Edge *> edgeOf;
  llvm::DenseMap<mlir::Operation *, FactorAxes> axesOf;
  llvm::DenseMap<mlir::Value, AxisMask> sums, kept;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, AxisMask> resultSums;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, Causes> resultCauses;
  llvm::DenseMap<mlir::Value, Causes> causes;
};

} // namespace ulsc::shard

#endif // ULSC_PASSES_SHARD_PENDINGREDUCTIONS_H
