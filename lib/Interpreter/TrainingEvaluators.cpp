//===- TrainingEvaluators.cpp - The step, its loop and the optimizer in the interpreter ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Evaluators.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

static LogicalResult evaluateMicrobatches(uls::MicrobatchesOp op, Evaluation &e) {
  SmallVector<RuntimeValue> carried;
  for (Value init : op.getInits())
    carried.push_back(e.getValue(init));
  Block &body = op.getBody().front();
  for (int64_t m = 0; m < int64_t(op.getCount()); ++m) {
    RuntimeValue index;
    index.ranks.assign(e.interpreter.getNumRanks(), RankValue(m));
    e.frame.values[body.getArgument(0)] = index;
    for (auto [argument, value] : llvm::zip(body.getArguments().drop_front(), carried))
      e.frame.values[argument] = value;
    if (failed(
            e.interpreter.runOps(body, body.begin(), body.getTerminator()->getIterator(), e.frame)))
      return failure();
    for (auto [value, yielded] : llvm::zip(carried, body.getTerminator()->getOperands()))
      value = e.getValue(yielded);
  }
  for (auto [result, value] : llvm::zip(op.getResults(), carried))
    e.frame.values[result] = value;
  return success();
}

/// The index of an iteration that was peeled off the loop. By name: the dialect's header is long.
static LogicalResult evaluateIndexConstant(Operation *op, Evaluation &e) {
  auto value = op->getAttrOfType<IntegerAttr>("value");
  if (!value)
    return op->emitOpError("is interpreted for integers only");
  for (int64_t rank : e.interpreter.getActiveRanks())
    e.set(op->getResult(0), rank, value.getInt());
  return success();
}

static LogicalResult evaluateMicrobatch(uls::MicrobatchOp op, LocalEvaluation &e) {
  const Tensor &input = e.get(op.getInput());
  int64_t index = e.all.getIndex(op.getIndex());
  if (index < 0 || index >= input.getShape()[0])
    return op.emitOpError() << "takes microbatch " << index << " of " << input.getShape()[0];
  ArrayRef<int64_t> shape = input.getShape().drop_front();
  int64_t size = getNumElements(shape);
  e.set(op.getOutput(), input.gather(shape, [&](int64_t i) { return index * size + i; }));
  return success();
}

static LogicalResult evaluateCountValid(uls::CountValidOp op, LocalEvaluation &e) {
  ArrayRef<int64_t> targets = e.get(op.getTargets()).getIntegers();
  e.set(op.getCount(), Tensor::scalar(llvm::count_if(targets, [](int64_t t) { return t != -1; })));
  return success();
}

static LogicalResult evaluateSumRanks(uls::SumRanksOp op, Evaluation &e) {
  Tensor sum = e.get(op.getInput(), 0);
  for (int64_t rank = 1; rank < e.interpreter.getNumRanks(); ++rank)
    sum = sum.zip(e.get(op.getInput(), rank), [](double a, double b) { return a + b; });
  for (int64_t rank = 0; rank < e.interpreter.getNumRanks(); ++rank)
    e.set(op.getOutput(), rank, sum);
  return success();
}

static double sumOfSquares(LocalEvaluation &e, ValueRange tensors) {
  double sum = 0;
  for (Value value : tensors)
    for (double element : e.get(value).getFloats())
      sum += element * element;
  return sum;
}

static LogicalResult evaluateControl(uls::ControlOp op, LocalEvaluation &e) {
  std::optional<double> value = e.all.interpreter.getControl(op.getField(), e.rank);
  if (!value)
    return op.emitOpError() << "reads \"" << op.getField() << "\", which has no value here";
  e.set(op.getOutput(), Tensor::scalar(*value));
  return success();
}

static LogicalResult evaluateReport(uls::ReportOp op, LocalEvaluation &e) {
  SmallVector<double> &values = e.all.interpreter.reports[op.getField()];
  values.resize(e.all.interpreter.getNumRanks());
  values[e.rank] = e.get(op.getValue()).getFloats()[0];
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Update
//===---------------------------------------------------------------------------------------===//

namespace {
/// Runs one update rule on one parameter after another.
class Updater {
public:
  Updater(uls::UpdateOp op, uls::UpdateRuleOp rule, Evaluation &e) : op(op), rule(rule), e(e) {}

  LogicalResult update(unsigned index) {
    StringRef parameter = llvm::cast<StringAttr>(op.getParameters()[index]).getValue();
    SmallVector<RuntimeValue> arguments, results;
    for (auto role : rule.getRoles().getAsValueRange<StringAttr>()) {
      if (role == "gradient" || (role == "parameter" && !op.getValues().empty())) {
        Value operand = role == "gradient" ? op.getGradients()[index] : op.getValues()[index];
        arguments.push_back(flatten(e.getValue(operand)));
        continue;
      }
      SmallVector<Tensor> *stored = find(parameter, role);
      if (!stored)
        return op.emitOpError() << "finds no \"" << role << "\" of parameter \"" << parameter
                                << "\"";
      arguments.push_back(flatten(RuntimeValue::get(*stored)));
    }
    for (Value scalar : op.getScalars())
      arguments.push_back(e.getValue(scalar));
    if (failed(checkSizes(parameter, arguments)))
      return failure();
    if (Value condition = op.getCondition(); condition && isZero(condition))
      return keep(index, parameter, arguments);
    Frame frame;
    e.interpreter.currentParameter = parameter.str();
    LogicalResult ran = e.interpreter.runFunction(rule, arguments, frame, results);
    e.interpreter.currentParameter.clear();
    if (failed(ran))
      return failure();
    for (auto [role, result] : llvm::zip(rule.getUpdates().getAsValueRange<StringAttr>(), results))
      if (failed(store(index, parameter, role, result)))
        return failure();
    return success();
  }

private:
  /// Alike on all ranks, as what an update depends on has to be.
  bool isZero(Value condition) const {
    return e.get(condition, e.interpreter.getActiveRanks().front()).getAsDouble(0) == 0;
  }

  /// Nothing is written; a result is the stored value of what was.
  LogicalResult keep(unsigned index, StringRef parameter, ArrayRef<RuntimeValue> arguments) {
    if (op.getResults().empty())
      return success();
    auto roles = rule.getRoles().getAsValueRange<StringAttr>();
    const RuntimeValue &old = arguments[llvm::find(roles, "parameter") - roles.begin()];
    auto shape = llvm::cast<RankedTensorType>(op.getResult(index).getType()).getShape();
    for (int64_t rank : e.interpreter.getActiveRanks())
      e.set(op.getResult(index), rank, round(parameter, old.getTensor(rank).reshape(shape)));
    return success();
  }

  /// The parameter's own role is its master value where there is one.
  SmallVector<Tensor> *find(StringRef parameter, StringRef role) {
    if (role != "parameter")
      return e.interpreter.findStored((parameter + "." + role).str());
    SmallVector<Tensor> *master = e.interpreter.findStored((parameter + ".master").str());
    return master ? master : e.interpreter.findStored(parameter);
  }

  static RuntimeValue flatten(RuntimeValue value) {
    for (RankValue &rank : value.ranks)
      if (auto *tensor = std::get_if<Tensor>(&rank))
        rank = tensor->reshape({tensor->getNumElements()});
    return value;
  }

  LogicalResult checkSizes(StringRef parameter, ArrayRef<RuntimeValue> arguments) {
    int64_t rank = e.interpreter.getActiveRanks().front();
    int64_t expected = arguments[0].getTensor(rank).getNumElements();
    for (const RuntimeValue &argument : arguments.take_front(rule.getRoles().size()))
      if (int64_t found = argument.getTensor(rank).getNumElements(); found != expected)
        return op.emitOpError() << "updates parameter \"" << parameter << "\" of " << expected
                                << " elements with a tensor of " << found;
    return success();
  }

  Tensor round(RankedTensorType type, const Tensor &value) const {
    auto element = llvm::dyn_cast<FloatType>(type.getElementType());
    return e.interpreter.options.round && element ? value.round(element) : value;
  }

  /// The stored value of a master that just changed, for its dtype.
  Tensor round(StringRef parameter, const Tensor &master) const {
    auto param = e.interpreter.getSymbols().lookup<uls::ParamOp>(parameter);
    return round(param.getTensorType(), master);
  }

  /// A role's new value, for the dtype in which it is kept.
  Tensor round(StringRef parameter, StringRef role, const Tensor &value) const {
    std::string name = (parameter + "." + (role == "parameter" ? "master" : role)).str();
    if (auto state = e.interpreter.getSymbols().lookup<uls::StateOp>(name))
      return round(llvm::cast<RankedTensorType>(state.getType()), value);
    return round(parameter, value);
  }

  LogicalResult store(unsigned index, StringRef parameter, StringRef role,
                      const RuntimeValue &value) {
    if (role == "parameter" && !op.getResults().empty()) {
      auto shape = llvm::cast<RankedTensorType>(op.getResult(index).getType()).getShape();
      for (int64_t rank : e.interpreter.getActiveRanks())
        e.set(op.getResult(index), rank, round(parameter, value.getTensor(rank).reshape(shape)));
      if (!op.getValues().empty())
        return success();
    }
    SmallVector<Tensor> *stored = find(parameter, role);
    if (!stored)
      return op.emitOpError() << "finds no \"" << role << "\" of parameter \"" << parameter << "\"";
    SmallVector<Tensor> *compute = e.interpreter.findStored(parameter);
    for (int64_t rank : e.interpreter.getActiveRanks()) {
      Tensor &tensor = (*stored)[rank];
      tensor = round(parameter, role, value.getTensor(rank).reshape(tensor.getShape()));
      if (role == "parameter" && compute != stored && op.getResults().empty())
        (*compute)[rank] = round(parameter, tensor);
    }
    return success();
  }

  uls::UpdateOp op;
  uls::UpdateRuleOp rule;
  Evaluation &e;
};
} // namespace

static LogicalResult evaluateUpdate(uls::UpdateOp op, Evaluation &e) {
  auto rule = e.interpreter.getSymbols().lookup<uls::UpdateRuleOp>(op.getRule());
  if (!rule)
    return op.emitOpError() << "names " << op.getRuleAttr() << ", which is not a uls.update_rule";
  Updater updater(op, rule, e);
  for (auto [i, name] : llvm::enumerate(op.getParameters().getAsValueRange<StringAttr>())) {
    // Of a parameter that two stages hold, each notes its own ranks'.
    RuntimeValue &noted = e.interpreter.updateGradients[name];
    noted.ranks.resize(e.interpreter.getNumRanks());
    for (int64_t rank : e.interpreter.getActiveRanks())
      noted.ranks[rank] = e.getValue(op.getGradients()[i]).ranks[rank];
    if (failed(updater.update(i)))
      return failure();
  }
  return success();
}

static LogicalResult evaluateAssign(uls::AssignOp op, Evaluation &e) {
  SmallVector<Tensor> *stored = e.interpreter.findStored(op.getParameter());
  if (!stored)
    return op.emitOpError() << "names " << op.getParameterAttr() << ", which has no stored value";
  for (int64_t rank : e.interpreter.getActiveRanks()) {
    Tensor &tensor = (*stored)[rank];
    const Tensor &value = e.get(op.getValue(), rank);
    if (value.getShape() != tensor.getShape())
      return op.emitOpError() << "gives a block of another shape than the stored one on rank "
                              << rank;
    tensor = value;
  }
  return success();
}

void interpreter::registerTrainingEvaluators(Registry &registry) {
  registry.addGlobal<uls::MicrobatchesOp>(evaluateMicrobatches);
  registry.addEvaluator("arith.constant", evaluateIndexConstant);
  registry.add<uls::MicrobatchOp>(evaluateMicrobatch);
  registry.add<uls::MakeContextOp>([](uls::MakeContextOp op, LocalEvaluation &e) {
    e.set(op.getOutput(), CallContext{e.all.getIndex(op.getIndex()) * int64_t(op.getRows()), 0});
    return success();
  });
  registry.add<uls::AccumulateOp>([](uls::AccumulateOp op, LocalEvaluation &e) {
    e.set(op.getOutput(),
          e.get(op.getAccumulator()).zip(e.get(op.getValue()), [](double a, double b) {
            return a + b;
          }));
    return success();
  });
  registry.add<uls::CountValidOp>(evaluateCountValid);
  registry.addGlobal<uls::SumRanksOp>(evaluateSumRanks);
  registry.add<uls::GlobalNormOp>([](uls::GlobalNormOp op, LocalEvaluation &e) {
    e.set(op.getNorm(), Tensor::scalar(std::sqrt(sumOfSquares(e, op.getGradients()))));
    return success();
  });
  registry.add<uls::SquareSumOp>([](uls::SquareSumOp op, LocalEvaluation &e) {
    e.set(op.getOutput(), Tensor::scalar(sumOfSquares(e, op.getInputs())));
    return success();
  });
  registry.add<uls::ClipCoefficientOp>([](uls::ClipCoefficientOp op, LocalEvaluation &e) {
    double norm = e.get(op.getNorm()).getFloats()[0], limit = e.get(op.getLimit()).getFloats()[0];
    e.set(op.getOutput(), Tensor::scalar(limit == 0 ? 1.0 : std::min(1.0, limit / (norm + 1e-6))));
    return success();
  });
  registry.add<uls::ControlOp>(evaluateControl);
  registry.add<uls::ReportOp>(evaluateReport);
  registry.addGlobal<uls::UpdateOp>(evaluateUpdate);
  registry.addGlobal<uls::AssignOp>(evaluateAssign);
}
