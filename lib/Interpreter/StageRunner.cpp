//===- StageRunner.cpp - Steps of pipeline stages side by side --------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "StageRunner.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

static constexpr StringLiteral kAxis = "pp";

bool interpreter::isBetweenStages(dist::CollectiveOpInterface op) {
  if (isa<dist::SendOp, dist::ReceiveOp>(op.getOperation()))
    return true;
  auto step = op->getParentOfType<uls::StepOp>();
  return step && dist::getStage(step) >= 0 &&
         llvm::is_contained(op.getAxes().getAsValueRange<StringAttr>(), kAxis);
}

int64_t StageRunner::getPartner(int64_t rank, int64_t stage) const {
  SmallVector<StringAttr> axis = {StringAttr::get(machine.getModule().getContext(), kAxis)};
  return machine.getMesh().getGroup(rank, axis)[stage];
}

/// "receive from stage 1 of tensor<2x16xf32> at model.layers.0, chunk 1, microbatch 0".
static std::string describe(dist::StartOp start) {
  dist::CollectiveOpInterface collective = start.getCollective();
  std::string text = collective.getKind().str();
  llvm::raw_string_ostream stream(text);
  if (auto send = dyn_cast<dist::SendOp>(collective.getOperation()))
    stream << " to stage " << send.getPeer();
  if (auto receive = dyn_cast<dist::ReceiveOp>(collective.getOperation()))
    stream << " from stage " << receive.getPeer();
  stream << " of ";
  llvm::interleaveComma(collective.getTravellingTypes(), stream);
  stream << " at " << dist::describeLocation(start.getLoc());
  for (StringRef owner : {"chunk", "microbatch"})
    if (auto number = start->getAttrOfType<IntegerAttr>(("dist." + owner).str()))
      stream << ", " << owner << " " << number.getInt();
  return text;
}

/// Whether what an op waits for has been done. Outside a start, a collective of all stages starts
/// and waits at once.
bool StageRunner::isReady(Operation *op) {
  auto wait = dyn_cast<dist::WaitOp>(op);
  auto start = wait ? wait.getHandle().getDefiningOp<dist::StartOp>() : dist::StartOp();
  if (!start || !isBetweenStages(start.getCollective()))
    return true;
  size_t number = numbers.lookup(start.getHandle());
  Operation *collective = start.getCollective();
  if (auto send = dyn_cast<dist::SendOp>(collective))
    return channels[{current, send.getPeer()}].received > number;
  if (auto receive = dyn_cast<dist::ReceiveOp>(collective))
    return channels[{receive.getPeer(), current}].sent.size() > number;
  return int64_t(joined[number].size()) == getStages();
}

LogicalResult StageRunner::start(dist::StartOp op, Evaluation &e) {
  Operation *collective = op.getCollective();
  SmallVector<RuntimeValue> values;
  for (Value operand : collective->getOperands())
    values.push_back(e.getValue(operand));
  size_t &number = numbers[op.getHandle()];
  if (auto send = dyn_cast<dist::SendOp>(collective)) {
    Channel &channel = channels[{current, send.getPeer()}];
    number = channel.sent.size();
    channel.sent.emplace_back(op, std::move(values));
  } else if (auto receive = dyn_cast<dist::ReceiveOp>(collective)) {
    number = channels[{receive.getPeer(), current}].received++;
  } else if (auto reduce = dyn_cast<dist::AllReduceOp>(collective);
             reduce && reduce.getReduction() == dist::Reduction::Sum &&
             reduce.getAxes().size() == 1) {
    number = stages[current].joined++;
    if (number == joined.size())
      joined.emplace_back();
    joined[number][current] = {reduce, std::move(values)};
  } else {
    return collective->emitOpError("is no collective that the interpreter runs between stages");
  }
  return success();
}

LogicalResult StageRunner::receive(dist::WaitOp op, dist::ReceiveOp receive, Evaluation &e) {
  auto &[source, values] =
      channels[{receive.getPeer(), current}].sent[numbers.lookup(op.getHandle())];
  auto sent = cast<dist::StartOp>(source);
  if (sent.getCollective().getTravellingTypes() != SmallVector<Type>(op.getResultTypes()))
    return receive.emitOpError() << "gets another value than it expects: stage " << current
                                 << " waits for its "
                                 << describe(op.getHandle().getDefiningOp<dist::StartOp>())
                                 << ", but next of stage " << receive.getPeer() << " is its "
                                 << describe(sent);
  for (auto [result, value] : llvm::zip_equal(op.getResults(), values))
    for (int64_t rank : machine.getActiveRanks())
      e.set(result, rank, value.getTensor(getPartner(rank, receive.getPeer())));
  return success();
}

LogicalResult StageRunner::reduce(dist::WaitOp op, const Joined &all, Evaluation &e) {
  for (auto &[stage, entry] : all)
    if (auto other = entry.first; other.getResultTypes() != op.getResultTypes())
      return op.emitOpError() << "meets another collective than it expects: stage " << current
                              << " waits for its "
                              << describe(op.getHandle().getDefiningOp<dist::StartOp>())
                              << ", but stage " << stage << " is at its "
                              << describe(other->getParentOfType<dist::StartOp>());
  for (OpResult result : op->getResults())
    for (int64_t rank : machine.getActiveRanks()) {
      std::optional<Tensor> sum;
      for (auto &[stage, entry] : all) {
        const Tensor &tensor =
            entry.second[result.getResultNumber()].getTensor(getPartner(rank, stage));
        sum = sum ? sum->zip(tensor, [](double a, double b) { return a + b; }) : tensor;
      }
      e.set(result, rank, *sum);
    }
  return success();
}

LogicalResult StageRunner::wait(dist::WaitOp op, Evaluation &e) {
  Operation *collective = op.getHandle().getDefiningOp<dist::StartOp>().getCollective();
  if (isa<dist::SendOp>(collective))
    return success();
  if (auto source = dyn_cast<dist::ReceiveOp>(collective))
    return receive(op, source, e);
  return reduce(op, joined[numbers.lookup(op.getHandle())], e);
}

LogicalResult StageRunner::advance(Stage &stage) {
  Block &body = stage.step.getEntry();
  while (stage.next && isReady(stage.next)) {
    Operation *op = stage.next;
    if (failed(machine.runOps(body, op->getIterator(), std::next(op->getIterator()), stage.frame)))
      return failure();
    stage.next = op->getNextNode();
  }
  return success();
}

/// No stage can go on: each waits for another.
LogicalResult StageRunner::reportStuck() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (auto [index, stage] : llvm::enumerate(stages)) {
    stream << (index ? "; stage " : "stage ") << index;
    auto wait = cast_or_null<dist::WaitOp>(stage.next);
    if (wait)
      stream << " waits for its " << describe(wait.getHandle().getDefiningOp<dist::StartOp>());
    else
      stream << " is at its end";
  }
  return machine.getModule().emitError("pipeline stages wait for each other: ") << text;
}

LogicalResult StageRunner::run(ArrayRef<uls::StepOp> steps,
                               ArrayRef<SmallVector<RuntimeValue>> arguments) {
  for (auto [step, values] : llvm::zip_equal(steps, arguments)) {
    Stage &stage = stages.emplace_back();
    stage.step = step;
    Block &body = stage.step.getEntry();
    stage.next = &body.front();
    for (auto [argument, value] : llvm::zip_equal(body.getArguments(), values))
      stage.frame.values[argument] = value;
  }
  for (int64_t rank = 0; rank < machine.getNumRanks(); ++rank)
    for (int64_t stage = 0; stage < getStages(); ++stage)
      if (getPartner(rank, stage) == rank)
        stages[stage].ranks.push_back(rank);
  bool isDone = false;
  while (!isDone) {
    bool progresses = false;
    isDone = true;
    for (current = 0; current < getStages(); ++current) {
      Stage &stage = stages[current];
      Operation *before = stage.next;
      machine.activeRanks = stage.ranks;
      if (failed(advance(stage)))
        return failure();
      progresses |= stage.next != before;
      isDone &= !stage.next;
    }
    if (!isDone && !progresses)
      return reportStuck();
  }
  return success();
}

LogicalResult Interpreter::runStages(const Tensor &tokens, const Tensor &targets) {
  SmallVector<uls::StepOp> steps(module.getOps<uls::StepOp>());
  llvm::sort(steps,
             [](uls::StepOp a, uls::StepOp b) { return dist::getStage(a) < dist::getStage(b); });
  std::vector<SmallVector<RuntimeValue>> arguments;
  for (uls::StepOp step : steps) {
    FailureOr<SmallVector<RuntimeValue>> values = distributeInputs(step, tokens, targets);
    if (failed(values))
      return failure();
    arguments.push_back(std::move(*values));
  }
  StageRunner runner(*this);
  stages = &runner;
  SmallVector<int64_t> all = activeRanks;
  LogicalResult result = runner.run(steps, arguments);
  activeRanks = all;
  stages = nullptr;
  return result;
}

int64_t Interpreter::getHolder(Operation *parameter, int64_t rank) {
  if (auto state = dyn_cast<uls::StateOp>(parameter))
    parameter = symbols.lookup(state.getParameter());
  auto held = parameter
                  ? parameter->getAttrOfType<DenseI64ArrayAttr>(dist::DistDialect::kStagesAttrName)
                  : DenseI64ArrayAttr();
  if (!held || held.empty() || !partitioned)
    return rank;
  SmallVector<StringAttr> axis = {StringAttr::get(module.getContext(), kAxis)};
  if (llvm::is_contained(held.asArrayRef(), mesh.getPosition(rank, axis)))
    return rank;
  return mesh.getGroup(rank, axis)[held.asArrayRef().front()];
}
