//===- StageRunner.h - Steps of pipeline stages side by side -----------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_INTERPRETER_STAGERUNNER_H
#define ULSC_LIB_INTERPRETER_STAGERUNNER_H

#include "ulsc/Interpreter.h"

#include <deque>
#include <map>

namespace ulsc::interpreter {

/// Whether a collective joins ranks of different stages.
bool isBetweenStages(dist::CollectiveOpInterface op);

/// Runs the steps of all stages in turns: each until it waits for what another has not done yet. A
/// send is complete only when its receive has started, as a large message of a real network is.
class StageRunner {
public:
  explicit StageRunner(Interpreter &machine) : machine(machine) {}

  mlir::LogicalResult run(llvm::ArrayRef<uls::StepOp> steps,
                          llvm::ArrayRef<llvm::SmallVector<RuntimeValue>> arguments);

  // For the evaluators.
  mlir::LogicalResult start(dist::StartOp op, Evaluation &e);
  mlir::LogicalResult wait(dist::WaitOp op, Evaluation &e);

private:
  struct Stage {
    uls::StepOp step;
    Frame frame;
    mlir::Operation *next = nullptr;
    llvm::SmallVector<int64_t> ranks;
    /// Collectives over all stages that it has started.
    size_t joined = 0;
  };
  /// From one stage to another: what was sent, and how many receives have started.
  struct Channel {
    std::deque<std::pair<mlir::Operation *, llvm::SmallVector<RuntimeValue>>> sent;
    size_t received = 0;
  };
  /// A collective of all stages: each stage's operands.
  using Joined = std::map<int64_t, std::pair<dist::AllReduceOp, llvm::SmallVector<RuntimeValue>>>;

  int64_t getStages() const { return stages.size(); }
  bool isReady(mlir::Operation *op);
  mlir::LogicalResult advance(Stage &stage);
  mlir::LogicalResult reduce(dist::WaitOp op, const Joined &all, Evaluation &e);
  mlir::LogicalResult receive(dist::WaitOp op, dist::ReceiveOp receive, Evaluation &e);
  /// The rank at the place of `rank` on another stage.
  int64_t getPartner(int64_t rank, int64_t stage) const;
  mlir::LogicalResult reportStuck();

  Interpreter &machine;
  std::deque<Stage> stages;
  int64_t current = 0;
  std::map<std::pair<int64_t, int64_t>, Channel> channels;
  std::deque<Joined> joined;
  /// Of started transfers and collectives: the number on their channel, or of the collective.
  llvm::DenseMap<mlir::Value, size_t> numbers;
};

} // namespace ulsc::interpreter

#endif // ULSC_LIB_INTERPRETER_STAGERUNNER_H
