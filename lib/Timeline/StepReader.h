//===- StepReader.h - The step of one rank as a flat list --------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_TIMELINE_STEPREADER_H
#define ULSC_LIB_TIMELINE_STEPREADER_H

#include "lib/Timeline/BlockCosts.h"
#include "ulsc/Timeline/Program.h"

#include "llvm/ADT/StringMap.h"

#include <optional>

namespace ulsc::timeline {

/// What the steps of a module share: prices of blocks, bytes of state, texts.
class ModuleCosts {
public:
  struct Parameter {
    uls::ParamOp op;
    /// Of one rank: the stored value, and the optimizer's.
    int64_t bytes = 0, stateBytes = 0;
  };

  ModuleCosts(mlir::ModuleOp module, const cost::Cluster &cluster, std::vector<std::string> &texts)
      : cluster(cluster), symbols(module), texts(texts) {
    numbers[""] = 0;
    readState(module);
  }

  /// Null if there is no such block, or a joint one.
  const BlockCosts *findBlock(llvm::StringRef name);
  unsigned getText(llvm::StringRef text);

  const cost::Cluster &cluster;
  llvm::StringMap<Parameter> parameters;

private:
  void readState(mlir::ModuleOp module);

  mlir::SymbolTable symbols;
  std::vector<std::string> &texts;
  llvm::StringMap<unsigned> numbers;
  llvm::StringMap<std::optional<BlockCosts>> blocks;
};

/// Follows the ops of a step.
class StepReader {
public:
  StepReader(ModuleCosts &costs, const llvm::DenseMap<int64_t, int64_t> &ranksOfStages,
             uls::StepOp step)
      : costs(costs), ranksOfStages(ranksOfStages), step(step) {}

  mlir::LogicalResult run();

  RankProgram program;

private:
  /// What was started, and the values that it reads or writes until it is waited for.
  struct Started {
    size_t communication = 0;
    llvm::SmallVector<mlir::Value> operands;
    llvm::SmallVector<size_t> results;
  };

  mlir::LogicalResult visit(mlir::Block &body);
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult repeat(uls::MicrobatchesOp loop);
  mlir::LogicalResult call(uls::CallOp op);
  mlir::LogicalResult start(mlir::Operation *op, dist::CollectiveOpInterface collective,
                            Started &started);
  void wait(const Started &started, mlir::ResultRange results);
  void compute(mlir::Operation *op);
  double predict(mlir::Operation *op);

  mlir::LogicalResult addCommunication(mlir::Operation *op, dist::CollectiveOpInterface collective);
  unsigned getLane(llvm::StringRef name);
  size_t addAction(Action::Type type, const Label &label, size_t communication = 0);
  int64_t findMicrobatch(mlir::Operation *op);
  void setMicrobatch(mlir::ValueRange values, int64_t microbatch);

  std::optional<size_t> findStorage(mlir::Value value) const;
  size_t allocate(mlir::Value value, Category category, size_t action);
  void share(mlir::Value value, mlir::Value other);
  void use(mlir::Value value, size_t action);

  ModuleCosts &costs;
  const llvm::DenseMap<int64_t, int64_t> &ranksOfStages;
  uls::StepOp step;
  llvm::DenseMap<mlir::Value, Started> handles;
  /// Numbers in `program.allocations`; none of parameters, constants and the batch.
  llvm::DenseMap<mlir::Value, size_t> storages;
  llvm::DenseMap<mlir::Value, int64_t> indices, microbatches;
  llvm::StringMap<unsigned> lanes;
  /// Names of the ops that the last action, work of the step, stands for.
  llvm::SmallVector<llvm::StringRef> merged;
};

} // namespace ulsc::timeline

#endif // ULSC_LIB_TIMELINE_STEPREADER_H
