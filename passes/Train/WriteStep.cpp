//===- WriteStep.cpp - Writes down one optimizer step
//--------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Train/ForwardActivity.h"
#include "passes/Train/LossScaling.h"
#include "passes/Train/Passes.h"
#include "passes/Train/StatePrecision.h"
#include "passes/Train/StepBuilder.h"

#include "llvm/ADT/STLExtras.h"

namespace ulsc {
#define GEN_PASS_DEF_WRITESTEPPASS
#include "passes/Train/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {

/// Writes the step of one module. Every part is linear in the number of calls and parameters.
class StepWriter {
public:
  StepWriter(ForwardOp forward, UpdateRuleOp rule, const StatePrecision &precision)
      : module(forward->getParentOfType<ModuleOp>()), forward(forward), rule(rule),
        precision(precision), symbols(module), step(forward) {}

  LogicalResult run();

private:
  void collectParameters();
  LogicalResult addStates();
  LogicalResult addState(ParamOp param, StringRef role, Type element);
  LogicalResult checkRounding();
  void runForward();
  LogicalResult runBackward();
  LogicalResult runBackward(CallOp call);
  void handOver(Value operand, Value gradient, Location loc);
  void writeUpdate();

  ModuleOp module;
  ForwardOp forward;
  UpdateRuleOp rule;
  StatePrecision precision;
  SymbolTable symbols;
  StepBuilder step;
  llvm::MapVector<CallOp, JointRequest> requests;
  /// Trained parameters in the module's order; their accumulators' values, next to come.
  llvm::MapVector<ParamOp, Value> accumulators;
  /// Of the forward's calls with a backward part.
  llvm::DenseMap<CallOp, Value> residuals;
  /// Cotangents of the forward's values.
  llvm::DenseMap<Value, Value> cotangents;
  std::optional<LossScaling> scaling;
};

struct WriteStepPass : ulsc::impl::WriteStepPassBase<WriteStepPass> {
  using WriteStepPassBase::WriteStepPassBase;

  void runOnOperation() override;
};

} // namespace

/// Trained is what some backward call gives a gradient of.
void StepWriter::collectParameters() {
  llvm::DenseSet<ParamOp> withGradient;
  for (auto &[call, request] : requests)
    for (int64_t index : request.gradients)
      if (auto materialize = call.getArguments()[index].getDefiningOp<MaterializeOp>())
        withGradient.insert(symbols.lookup<ParamOp>(materialize.getParameter()));
  for (auto param : module.getOps<ParamOp>()) {
    if (withGradient.contains(param)) {
      accumulators.insert({param, Value()});
    } else if (!param.getFrozen()) {
      param.emitWarning() << "the loss does not depend on parameter " << param.getSymNameAttr()
                          << "; it stays as it is";
      param.setFrozen(true);
    }
  }
}

LogicalResult StepWriter::addState(ParamOp param, StringRef role, Type element) {
  std::string name = (param.getSymName() + "." + role).str();
  if (Operation *other = symbols.lookup(name))
    return other->emitError() << "@" << name << " is taken; the state of parameter @"
                              << param.getSymName() << " needs this name";
  RankedTensorType type = param.getTensorType().clone(element);
  OpBuilder builder(module.getContext());
  auto state = StateOp::create(builder, param.getLoc(), name, param.getSymName(), role, type,
                               param.getShardingAttr());
  symbols.insert(state, std::next(Block::iterator(param)));
  return success();
}

/// States follow their parameter, in the order of the rule's roles, the master value first.
LogicalResult StepWriter::addStates() {
  Type f32 = Float32Type::get(module.getContext());
  for (auto &[param, accumulator] : accumulators) {
    for (Attribute attr : llvm::reverse(rule.getRoles())) {
      StringRef role = llvm::cast<StringAttr>(attr).getValue();
      if (role != "parameter" && role != "gradient" &&
          failed(addState(param, role, precision.moment)))
        return failure();
    }
    if (precision.hasMaster && !param.getTensorType().getElementType().isF32() &&
        failed(addState(param, "master", f32)))
      return failure();
  }
  return checkRounding();
}

/// State that is rounded: nothing else could be rounded stochastically.
LogicalResult StepWriter::checkRounding() {
  if (!precision.isStochastic || precision.moment.isBF16())
    return success();
  bool hasNarrow = llvm::any_of(accumulators, [](auto &entry) {
    return entry.first.getTensorType().getElementType().isBF16();
  });
  if (hasNarrow && !precision.hasMaster)
    return success();
  return module.emitError(
      "stochastic rounding is of state in bf16, and there is none: every state is f32; keep "
      "moments in bf16 (--moment-dtype bf16), or parameters in bf16 without a master value "
      "(--dtype bf16 --master-dtype none)");
}

void StepWriter::runForward() {
  for (Operation &op : forward.getEntry().without_terminator()) {
    auto call = llvm::dyn_cast<CallOp>(op);
    if (!call || !requests.contains(call)) {
      if (!llvm::isa<MaterializeOp>(op))
        step.cloneForward(op);
      continue;
    }
    SmallVector<Value> arguments;
    for (Value argument : call.getArguments())
      arguments.push_back(step.lookup(argument));
    SmallVector<Type> results(call.getResultTypes());
    results.push_back(ResidualsType::get(module.getContext()));
    auto forwardCall = CallOp::create(step.builder, call.getLoc(), results, call.getCalleeAttr(),
                                      arguments, call.getLayerAttr());
    step.map(call.getResults(), forwardCall.getResults().drop_back());
    residuals[call] = forwardCall.getResults().back();
  }
}

/// A parameter's gradient is accumulated at once, another value's is one of its cotangents.
void StepWriter::handOver(Value operand, Value gradient, Location loc) {
  if (auto materialize = operand.getDefiningOp<MaterializeOp>()) {
    Value &accumulator = accumulators[symbols.lookup<ParamOp>(materialize.getParameter())];
    accumulator = AccumulateOp::create(step.builder, loc, accumulator, gradient);
    return;
  }
  Value &sum = cotangents[operand];
  sum = sum ? AddOp::create(step.builder, loc, sum, gradient).getResult() : gradient;
}

LogicalResult StepWriter::runBackward(CallOp call) {
  auto block = symbols.lookup<BlockOp>(call.getCallee());
  if (!block.isJoint())
    return call.emitOpError() << "needs gradients of @" << call.getCallee()
                              << ", which is not joint; run ulsc-make-joint-blocks first";
  SmallVector<Value> arguments;
  ArrayRef<int64_t> cotangentIndices = *block.getCotangents(),
                    gradientIndices = *block.getGradients();
  for (int64_t index : cotangentIndices) {
    Value result = call.getResults()[index], cotangent = cotangents.lookup(result);
    if (!cotangent) {
      auto type = llvm::cast<RankedTensorType>(result.getType());
      cotangent = ConstantOp::create(step.builder, call.getLoc(), type,
                                     llvm::cast<ElementsAttr>(step.builder.getZeroAttr(type)));
    }
    arguments.push_back(cotangent);
  }
  ArrayRef<Type> results = block.getResultTypes().drop_front(block.getNumPrimalResults());
  auto backward =
      BackwardOp::create(step.builder, call.getLoc(), results, call.getCalleeAttr(),
                         residuals.lookup(call), arguments, /*gives=*/DenseI64ArrayAttr());
  ArrayRef<int64_t> wanted = requests.find(call)->second.gradients;
  for (auto [gradient, index] : llvm::zip_equal(backward.getResults(), gradientIndices))
    if (llvm::is_contained(wanted, index))
      handOver(call.getArguments()[index], gradient, call.getLoc());
  return success();
}

LogicalResult StepWriter::runBackward() {
  Value loss = forward.getEntry().back().getOperand(0);
  Value cotangent = scaling ? scaling->getCotangent() : step.scale;
  if (loss.getType() != cotangent.getType())
    cotangent = ConvertOp::create(step.builder, step.loc, loss.getType(), cotangent);
  cotangents[loss] = cotangent;
  for (auto &[call, request] : llvm::reverse(requests))
    if (failed(runBackward(call)))
      return failure();
  return success();
}

void StepWriter::writeUpdate() {
  SmallVector<Value> gradients;
  SmallVector<StringRef> names;
  for (auto &[param, accumulator] : accumulators) {
    gradients.push_back(accumulator);
    names.push_back(param.getSymName());
  }
  OpBuilder &builder = step.builder;
  Value norm = GlobalNormOp::create(builder, step.loc, step.getScalarType(), gradients);
  if (scaling)
    norm = scaling->unscale(norm);
  Value clip = ClipCoefficientOp::create(builder, step.loc, norm, step.control("clip_grad"));
  Value condition;
  if (scaling) {
    clip = scaling->unscale(clip);
    condition = scaling->isFinite(norm);
  }
  UpdateOp::create(builder, step.loc, TypeRange(), rule.getSymName(), gradients,
                   /*values=*/ValueRange(), ValueRange(clip), condition,
                   builder.getStrArrayAttr(names), precision.isStochastic);
  step.report("grad_norm", norm);
  if (scaling)
    scaling->reportNext(condition);
}

LogicalResult StepWriter::run() {
  requests = findJointRequests(forward, symbols);
  collectParameters();
  if (failed(step.check()))
    return failure();
  if (accumulators.empty())
    return forward.emitOpError("has no parameter to train; unfreeze one");
  if (failed(addStates()))
    return failure();

  step.open();
  // The loss's cotangent needs the count before the first backward.
  step.countTargets();
  if (LossScaling::isNeeded(forward))
    scaling.emplace(step);
  SmallVector<Value> inits{step.zero};
  for (auto &[param, accumulator] : accumulators) {
    RankedTensorType type = param.getTensorType().clone(getGradientDtype(module));
    inits.push_back(ConstantOp::create(step.builder, param.getLoc(), type,
                                       llvm::cast<ElementsAttr>(step.builder.getZeroAttr(type))));
  }
  MicrobatchesOp loop = step.openLoop(inits);
  ValueRange carried = loop.getBody().getArguments().drop_front();
  for (auto [entry, value] : llvm::zip_equal(accumulators, carried.drop_front()))
    entry.second = value;
  runForward();
  SmallVector<Value> next{step.addLoss(carried.front())};
  if (failed(runBackward()))
    return failure();
  for (auto &[param, accumulator] : accumulators)
    next.push_back(accumulator);
  step.closeLoop(next);
  for (auto [entry, value] : llvm::zip_equal(accumulators, loop.getResults().drop_front()))
    entry.second = value;
  writeUpdate();
  step.reportLoss(loop.getResult(0));
  step.close();
  return success();
}

void WriteStepPass::runOnOperation() {
  ForwardOp forward = getForward(getOperation());
  if (!forward)
    return signalPassFailure();
  auto rules = llvm::to_vector(getOperation().getOps<UpdateRuleOp>());
  if (rules.size() != 1) {
    getOperation().emitError() << "has " << rules.size()
                               << " uls.update_rule ops, expected one; run ulsc-write-update-rule";
    return signalPassFailure();
  }
  for (auto step : getOperation().getOps<StepOp>()) {
    step.emitOpError("is there already");
    return signalPassFailure();
  }
  FailureOr<StatePrecision> precision =
      StatePrecision::read(getOperation(), masterDtype, momentDtype, stochasticRounding);
  if (failed(precision) || failed(StepWriter(forward, rules[0], *precision).run()))
    signalPassFailure();
}
