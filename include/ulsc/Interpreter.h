//===- Interpreter.h - Runs uls and dist modules on simulated ranks ---------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// The first oracle: runs a module of any stage from `graph` to `scheduled` in double precision.
/// Ranks run in lock step in one process, each with data of its own: a value is one tensor per
/// rank, and an op runs on all of them before the next. A module that is not partitioned runs on
/// one rank.
///
/// What each op computes is in a registry, one file per td group; an op without an evaluator is an
/// error naming it. An op of another dialect is taught by `getRegistry().add<Op>(…)`.
///
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_INTERPRETER_H
#define ULSC_INTERPRETER_H

#include "dialects/Uls/Uls.h"
#include "ulsc/Interpreter/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <map>
#include <string>
#include <variant>

namespace ulsc::interpreter {

class Interpreter;
struct Frame;

/// The context of a call (`!uls.context`); seed and step are the control block's.
struct CallContext {
  int64_t firstRow = 0;
  int64_t layer = 0;
};

/// What one rank holds of a value. 64-bit integers are loop indices.
using RankValue = std::variant<std::monostate, Tensor, CallContext, int64_t>;

/// A value on all ranks.
struct RuntimeValue {
  llvm::SmallVector<RankValue, 1> ranks;
  /// Of a `!uls.residuals`: everything the forward part computed.
  std::shared_ptr<Frame> residuals;
  /// Of a `!dist.handle`: the results of the collective.
  std::shared_ptr<std::vector<RuntimeValue>> handle;

  static RuntimeValue get(llvm::ArrayRef<Tensor> tensors);
  static RuntimeValue getContext(int64_t numRanks, CallContext context);
  const Tensor &getTensor(int64_t rank) const;
};

/// The values of one activation of a function.
struct Frame {
  llvm::DenseMap<mlir::Value, RuntimeValue> values;
};

/// What an evaluator sees of the machine.
class Evaluation {
public:
  Evaluation(Interpreter &interpreter, Frame &frame) : interpreter(interpreter), frame(frame) {}
  const Tensor &get(mlir::Value value, int64_t rank) const {
    return getValue(value).getTensor(rank);
  }
  CallContext getContext(mlir::Value value, int64_t rank) const;
  int64_t getIndex(mlir::Value value) const;
  const RuntimeValue &getValue(mlir::Value value) const;
  void set(mlir::Value value, int64_t rank, RankValue result);

  Interpreter &interpreter;
  Frame &frame;
};

/// The same for an op that every rank runs for itself.
class LocalEvaluation {
public:
  LocalEvaluation(Evaluation &evaluation, int64_t rank) : all(evaluation), rank(rank) {}
  const Tensor &get(mlir::Value value) const { return all.get(value, rank); }
  CallContext getContext(mlir::Value value) const { return all.getContext(value, rank); }
  void set(mlir::Value value, RankValue result) { all.set(value, rank, std::move(result)); }
  /// Offsets of this rank's block in the tensor that `shard` describes, and that tensor's shape;
  /// without `shard`, zeros and `localShape`.
  void getPlace(std::optional<dist::ShardAttr> shard, llvm::ArrayRef<int64_t> localShape,
                Shape &offsets, Shape &globalShape) const;

  Evaluation &all;
  int64_t rank;
};

/// What each op computes.
class Registry {
public:
  using Evaluator = std::function<mlir::LogicalResult(mlir::Operation *, Evaluation &)>;

  /// An op that every rank runs for itself.
  template <typename Op>
  void add(std::function<mlir::LogicalResult(Op, LocalEvaluation &)> evaluate) {
    addEvaluator(Op::getOperationName(), [evaluate](mlir::Operation *op, Evaluation &all) {
      return runOnEachRank(
          all, [&](LocalEvaluation &local) { return evaluate(llvm::cast<Op>(op), local); });
    });
  }
  /// An op that sees all ranks at once: a collective, a call.
  template <typename Op>
  void addGlobal(std::function<mlir::LogicalResult(Op, Evaluation &)> evaluate) {
    addEvaluator(Op::getOperationName(), [evaluate](mlir::Operation *op, Evaluation &all) {
      return evaluate(llvm::cast<Op>(op), all);
    });
  }
  void addEvaluator(llvm::StringRef name, Evaluator evaluate) {
    evaluators[name] = std::move(evaluate);
  }
  const Evaluator *find(llvm::StringRef name) const;

private:
  static mlir::LogicalResult
  runOnEachRank(Evaluation &all,
                llvm::function_ref<mlir::LogicalResult(LocalEvaluation &)> evaluate);
  llvm::StringMap<Evaluator> evaluators;
};

/// The registry that all interpreters use, with every uls and dist op.
Registry &getRegistry();

/// The control block (include/ulsc/RuntimeABI.h), in double precision.
struct Control {
  uint64_t seed = 0;
  int64_t step = 0;
  double learningRate = 3e-4, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double weightDecay = 0.1, momentum = 0.9, clipGrad = 1.0;
  /// Negative: each dropout's rate as compiled.
  double dropoutRate = -1.0;
  double lossScale = 1.0, goodSteps = 0.0, lossScaleGrowthInterval = 2000.0;
  /// Per rank; absent ranks are 0.
  llvm::SmallVector<double> stopRequested;
  /// Scales of a parameter's learning rate and weight decay; 1 where absent.
  std::map<std::string, double> parameterLrScale, parameterDecayScale;
};

struct Options {
  Control control;
  /// Rounds each op's results to their declared types; otherwise all is exact double.
  bool round = false;
  /// A NaN in a result is an error that names the op; so is one in a parameter that is read.
  bool rejectNaN = true;
};

/// What a step reports and leaves. Tensors are global.
struct StepResult {
  double loss = 0, gradNorm = 0, validCount = 0, stopCount = 0;
  std::map<std::string, Tensor> gradients, parameters, states;
};

class StageRunner;

class Interpreter {
public:
  /// `module` must outlive the interpreter. Parameters are drawn from the seed as the runtime draws
  /// them.
  static std::unique_ptr<Interpreter> create(mlir::ModuleOp module, const Options &options = {});

  int64_t getNumRanks() const { return numRanks; }
  bool isPartitioned() const { return partitioned; }
  dist::MeshAttr getMesh() const { return mesh; }
  dist::MeshAttr getMesh(mlir::FlatSymbolRefAttr name);
  mlir::ModuleOp getModule() const { return module; }
  mlir::SymbolTable &getSymbols() { return symbols; }

  /// Global values of parameters and states, by name.
  mlir::LogicalResult setStored(llvm::StringRef name, const Tensor &global);
  mlir::FailureOr<Tensor> getStored(llvm::StringRef name);

  /// Runs one step of `uls.step` on global tokens and targets and counts it in `control.step`.
  mlir::FailureOr<StepResult> runStep(const Tensor &tokens, const Tensor &targets);

  /// Runs a block, plain or joint (forward and backward), or a forward function.
  mlir::FailureOr<llvm::SmallVector<RuntimeValue>> call(mlir::FunctionOpInterface function,
                                                        llvm::ArrayRef<RuntimeValue> arguments);

  /// A global tensor as the value of an argument of local type `type` with `sharding` (may be null
  /// where it is whole).
  mlir::FailureOr<RuntimeValue> distribute(mlir::Operation *op, const Tensor &global,
                                           dist::ShardingAttr sharding,
                                           mlir::RankedTensorType type);
  /// The global tensor of a value; partials are combined.
  mlir::FailureOr<Tensor> collect(mlir::Operation *op, const RuntimeValue &value,
                                  dist::ShardingAttr sharding, llvm::ArrayRef<int64_t> globalShape,
                                  llvm::StringRef name);

  Options options;

  //===--- For evaluators
  //-----------------------------------------------------------------------===//

  /// The ranks that run the op: all, or those of one pipeline stage.
  llvm::ArrayRef<int64_t> getActiveRanks() const { return activeRanks; }
  /// Null where all ranks run one step.
  StageRunner *getStages() { return stages; }

  /// Runs the ops from `begin` until `end` or the block's end.
  mlir::LogicalResult runOps(mlir::Block &block, mlir::Block::iterator begin,
                             mlir::Block::iterator end, Frame &frame);
  /// Runs a whole function and gives the operands of its terminator, and of `uls.result` before
  /// them.
  mlir::LogicalResult runFunction(mlir::FunctionOpInterface function,
                                  llvm::ArrayRef<RuntimeValue> arguments, Frame &frame,
                                  llvm::SmallVectorImpl<RuntimeValue> &results);
  /// The stored values, one per rank, of a parameter or a state; null if there is none.
  llvm::SmallVector<Tensor> *findStored(llvm::StringRef name);
  std::optional<double> getControl(llvm::StringRef field, int64_t rank);
  /// Rate of a dropout compiled with `rate`.
  float getDropoutRate(double rate) const;

  /// The parameter that an update rule is running for.
  std::string currentParameter;
  /// Written by `uls.report`, one value per rank.
  llvm::StringMap<llvm::SmallVector<double>> reports;
  /// Gradients that `uls.update` was given.
  llvm::StringMap<RuntimeValue> updateGradients;

private:
  Interpreter(mlir::ModuleOp module, const Options &options);
  mlir::LogicalResult initialize();
  mlir::LogicalResult checkResults(mlir::Operation *op, Frame &frame);
  mlir::FailureOr<double> getReport(mlir::Operation *step, llvm::StringRef field);
  dist::ShardingAttr getInputSharding(uls::StepOp step, unsigned argument);
  mlir::FailureOr<llvm::SmallVector<RuntimeValue>>
  distributeInputs(uls::StepOp step, const Tensor &tokens, const Tensor &targets);
  mlir::LogicalResult runStages(const Tensor &tokens, const Tensor &targets);
  mlir::LogicalResult collectStepResult(uls::StepOp step, StepResult &result);
  /// The rank whose value of `parameter` stands for that of `rank`: of the same place on the first
  /// stage that holds it, where that of `rank` does not.
  int64_t getHolder(mlir::Operation *parameter, int64_t rank);

  struct Storage {
    mlir::Operation *op;
    mlir::RankedTensorType type;
    dist::ShardingAttr sharding;
    llvm::SmallVector<Tensor> ranks;
  };

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  dist::MeshAttr mesh;
  bool partitioned = false;
  int64_t numRanks = 1;
  llvm::SmallVector<int64_t> activeRanks;
  StageRunner *stages = nullptr;
  friend class StageRunner;
  llvm::StringMap<Storage> storage;
};

/// The initial value of a parameter: drawn by name and external flat index (docs/manifest.md),
/// padding zero.
Tensor drawInitialValue(uls::ParamOp param, uint64_t seed);

} // namespace ulsc::interpreter

#endif // ULSC_INTERPRETER_H
