//===- StepReader.cpp - The step of one rank as a flat list -----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "lib/Timeline/StepReader.h"

#include "lib/Report/Parts.h"
#include "ulsc/Cost/OpCost.h"
#include "ulsc/Recompute.h"
#include "ulsc/Report.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::timeline;

LogicalResult StepReader::run() {
  program.stage = dist::getStage(step);
  for (auto &[_, parameter] : costs.parameters)
    if (dist::isOnStage(parameter.op, program.stage)) {
      program.persistent[size_t(Category::Parameters)] += parameter.bytes;
      program.persistent[size_t(Category::Optimizer)] += parameter.stateBytes;
    }
  for (BlockArgument argument : step.getEntry().getArguments())
    program.persistent[size_t(Category::Activations)] += getBytes(argument.getType());
  return visit(step.getEntry());
}

LogicalResult StepReader::visit(Block &body) {
  for (Operation &op : body.without_terminator())
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult StepReader::visit(Operation *op) {
  if (auto loop = llvm::dyn_cast<uls::MicrobatchesOp>(op))
    return repeat(loop);
  if (auto block = llvm::dyn_cast<uls::CallOp>(op))
    return call(block);
  if (llvm::isa<uls::BackwardOp>(op))
    return op->emitOpError("is of a joint block; a timeline is of a module of the stage scheduled");
  if (auto begin = llvm::dyn_cast<dist::StartOp>(op))
    return start(op, begin.getCollective(), handles[begin.getHandle()]);
  if (auto end = llvm::dyn_cast<dist::WaitOp>(op)) {
    auto it = handles.find(end.getHandle());
    if (it == handles.end())
      return op->emitOpError("waits for what no dist.start of the step began");
    wait(it->second, op->getResults());
    return success();
  }
  if (auto collective = llvm::dyn_cast<dist::CollectiveOpInterface>(op)) {
    Started started;
    if (failed(start(op, collective, started)))
      return failure();
    wait(started, op->getResults());
    return success();
  }
  compute(op);
  return success();
}

/// Values of an iteration take the names of the one before.
LogicalResult StepReader::repeat(uls::MicrobatchesOp loop) {
  Block &body = loop.getBody().front();
  SmallVector<std::optional<size_t>> carried;
  for (Value init : loop.getInits())
    carried.push_back(findStorage(init));
  auto bind = [&](ValueRange values) {
    for (auto [value, storage] : llvm::zip_equal(values, carried)) {
      storages.erase(value);
      if (storage)
        storages[value] = *storage;
    }
  };
  for (int64_t i = 0; i < int64_t(loop.getCount()); ++i) {
    indices[body.getArgument(0)] = i;
    bind(body.getArguments().drop_front());
    if (failed(visit(body)))
      return failure();
    carried.clear();
    for (Value value : body.getTerminator()->getOperands())
      carried.push_back(findStorage(value));
  }
  bind(loop.getResults());
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Work
//===---------------------------------------------------------------------------------------===//

static int64_t getInteger(Operation *op, StringRef name) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : -1;
}

static Kind getKind(uls::CallOp call) {
  StringRef name = call.getCallee();
  if (!report::isBackwardPart(name))
    return call->hasAttr(kRepeatedAttr) ? Kind::Recompute : Kind::Forward;
  if (report::isInputHalf(name))
    return Kind::BackwardInput;
  return report::isWeightHalf(name) ? Kind::BackwardWeight : Kind::Backward;
}

size_t StepReader::addAction(Action::Type type, const Label &label, size_t communication) {
  merged.clear();
  program.actions.push_back({type, 0, label, communication});
  return program.actions.size() - 1;
}

/// As the op says, or that of the values it takes.
int64_t StepReader::findMicrobatch(Operation *op) {
  int64_t found = getInteger(op, dist::DistDialect::kMicrobatchAttrName);
  for (Value operand : op->getOperands())
    if (auto it = microbatches.find(operand); found < 0 && it != microbatches.end())
      found = it->second;
  return found;
}

void StepReader::setMicrobatch(ValueRange values, int64_t microbatch) {
  if (microbatch >= 0)
    for (Value value : values)
      microbatches[value] = microbatch;
}

/// The accumulation that alone uses a result: the lowering lets the block do it, so that the result
/// takes no memory of its own.
static uls::AccumulateOp findAccumulation(Value result) {
  auto user = result.hasOneUse() ? llvm::dyn_cast<uls::AccumulateOp>(*result.user_begin())
                                 : uls::AccumulateOp();
  return user && user.getValue() == result ? user : uls::AccumulateOp();
}

LogicalResult StepReader::call(uls::CallOp op) {
  const BlockCosts *block = costs.findBlock(op.getCallee());
  if (!block)
    return op.emitOpError() << "calls @" << op.getCallee()
                            << ", which is no plain block; a timeline is of a module of the stage "
                               "scheduled";
  Label label{getKind(op), costs.getText(op.getCallee())};
  label.source = costs.getText(dist::describeLocation(op.getLoc()));
  label.chunk = getInteger(op, dist::DistDialect::kChunkAttrName);
  label.microbatch = findMicrobatch(op);
  size_t first = addAction(Action::Type::BeginCall, label);
  llvm::DenseMap<Operation *, size_t> started;
  for (const BlockCosts::Part &part : block->parts) {
    if (part.start) {
      started[part.start] = program.communications.size();
      if (failed(addCommunication(op, part.start)))
        return failure();
      addAction(Action::Type::Start, {}, started[part.start]);
    } else if (dist::CollectiveOpInterface awaited = part.wait) {
      addAction(Action::Type::Wait, {}, started.lookup(awaited.getOperation()));
    } else {
      program.actions[addAction(Action::Type::Compute, {})].us = part.us;
    }
  }
  size_t last = addAction(Action::Type::EndCall, {});
  setMicrobatch(op->getResults(), label.microbatch);
  program.allocations.push_back({Category::Temporaries, block->temporaryBytes, first, last});
  for (Value operand : op->getOperands())
    use(operand, last);
  for (Value result : op.getResults()) {
    uls::AccumulateOp accumulation = findAccumulation(result);
    std::optional<size_t> sum =
        accumulation ? findStorage(accumulation.getAccumulator()) : std::nullopt;
    if (sum)
      storages[result] = *sum;
    else
      allocate(result, accumulation ? Category::Gradients : Category::Activations, first);
    use(result, last);
  }
  return success();
}

double StepReader::predict(Operation *op) {
  // The stored value itself, unless it is cast.
  if (auto materialize = llvm::dyn_cast<uls::MaterializeOp>(op)) {
    auto it = costs.parameters.find(materialize.getParameter());
    auto type = llvm::cast<RankedTensorType>(materialize.getType());
    if (it != costs.parameters.end() &&
        it->second.op.getTensorType().getElementType() == type.getElementType())
      return 0;
  }
  double us = cost::predictUs(op, costs.cluster);
  // Beside the gradients, an update reads and writes what is updated.
  if (auto update = llvm::dyn_cast<uls::UpdateOp>(op)) {
    double bytes = 0;
    for (auto name : update.getParameters().getAsRange<StringAttr>())
      if (auto it = costs.parameters.find(name.getValue()); it != costs.parameters.end())
        bytes += 2.0 * double(it->second.bytes + it->second.stateBytes);
    us += bytes / (costs.cluster.memoryBandwidthGBs * 1e3);
  }
  return us;
}

/// Neighbouring ops of the step that are no calls are one span.
void StepReader::compute(Operation *op) {
  if (auto constant = llvm::dyn_cast<arith::ConstantOp>(op)) {
    if (auto value = llvm::dyn_cast<IntegerAttr>(constant.getValue()))
      indices[constant] = value.getInt();
    return;
  }
  for (Value operand : op->getOperands())
    if (auto it = indices.find(operand); it != indices.end())
      setMicrobatch(op->getResults(), it->second);
  if (llvm::isa<uls::MicrobatchOp>(op))
    return;
  if (llvm::isa<uls::ReshapeOp>(op))
    return share(op->getResult(0), op->getOperand(0));
  double us = predict(op);
  if (us == 0)
    return;
  Kind kind = llvm::isa<uls::UpdateOp, uls::AssignOp>(op) ? Kind::Update : Kind::Step;
  StringRef name = op->getName().stripDialect();
  if (merged.empty() || program.actions.back().label.kind != kind) {
    Label label{kind};
    label.microbatch = findMicrobatch(op);
    addAction(Action::Type::Compute, label);
  }
  if (!llvm::is_contained(merged, name))
    merged.push_back(name);
  size_t action = program.actions.size() - 1;
  program.actions[action].us += us;
  program.actions[action].label.name = costs.getText(llvm::join(merged, ", "));
  for (Value operand : op->getOperands())
    use(operand, action);
  if (auto sum = llvm::dyn_cast<uls::AccumulateOp>(op)) {
    Value place = findStorage(sum.getAccumulator()) ? sum.getAccumulator() : sum.getValue();
    if (findStorage(place))
      return share(sum.getOutput(), place);
  }
  bool isGradient = llvm::isa<uls::AccumulateOp>(op);
  for (Value result : op->getResults())
    if (!llvm::isa<uls::ConstantOp, uls::MaterializeOp>(op))
      allocate(result, isGradient ? Category::Gradients : Category::Temporaries, action);
}

//===---------------------------------------------------------------------------------------===//
// Communication
//===---------------------------------------------------------------------------------------===//

unsigned StepReader::getLane(StringRef name) {
  auto [it, isNew] = lanes.try_emplace(name, program.lanes.size());
  if (isNew)
    program.lanes.push_back(name.str());
  return it->second;
}

LogicalResult StepReader::addCommunication(Operation *op, dist::CollectiveOpInterface collective) {
  report::CollectiveRow row = report::describeCollective(collective);
  Communication made;
  made.us = row.predictedUs;
  made.op = collective.getOperation();
  made.label = {Kind::Collective, costs.getText(row.kind), costs.getText(row.source),
                costs.getText(row.cause)};
  made.label.chunk = getInteger(op, dist::DistDialect::kChunkAttrName);
  made.label.microbatch = findMicrobatch(op);
  made.label.bytes = row.bytes;
  auto setPeer = [&](Kind kind, int64_t stage, StringRef direction) -> LogicalResult {
    auto it = ranksOfStages.find(stage);
    if (it == ranksOfStages.end())
      return collective->emitOpError() << "has stage " << stage << " on its other side, which has "
                                       << "no step";
    made.label.kind = kind;
    made.peer = it->second;
    made.lane = getLane((direction + Twine(stage)).str());
    return success();
  };
  LogicalResult result = success();
  if (auto send = llvm::dyn_cast<dist::SendOp>(collective.getOperation())) {
    result = setPeer(Kind::Send, send.getPeer(), "to stage ");
  } else if (auto receive = llvm::dyn_cast<dist::ReceiveOp>(collective.getOperation())) {
    result = setPeer(Kind::Receive, receive.getPeer(), "from stage ");
  } else {
    made.lane = getLane(llvm::join(row.axes, ","));
    made.joinsStages = program.stage >= 0 && llvm::is_contained(row.axes, "pp");
  }
  program.communications.push_back(made);
  return result;
}

/// Operands and results are in use until the wait. An all-reduce of values that nothing else reads
/// leaves its results in their place.
LogicalResult StepReader::start(Operation *op, dist::CollectiveOpInterface collective,
                                Started &started) {
  started = {program.communications.size(), llvm::to_vector(collective.getInputs()), {}};
  if (failed(addCommunication(op, collective)))
    return failure();
  size_t action = addAction(Action::Type::Start, {}, started.communication);
  bool isInPlace = llvm::isa<dist::AllReduceOp>(collective.getOperation());
  for (auto [i, result] : llvm::enumerate(collective.getOutputs())) {
    std::optional<size_t> place;
    if (isInPlace && started.operands[i].hasOneUse())
      place = findStorage(started.operands[i]);
    started.results.push_back(place ? *place : allocate(result, Category::Communication, action));
  }
  return success();
}

void StepReader::wait(const Started &started, ResultRange results) {
  size_t action = addAction(Action::Type::Wait, {}, started.communication);
  for (Value operand : started.operands)
    use(operand, action);
  setMicrobatch(results, program.communications[started.communication].label.microbatch);
  for (auto [result, storage] : llvm::zip(results, started.results)) {
    storages[result] = storage;
    use(result, action);
  }
}

//===---------------------------------------------------------------------------------------===//
// Memory
//===---------------------------------------------------------------------------------------===//

std::optional<size_t> StepReader::findStorage(Value value) const {
  auto it = storages.find(value);
  return it == storages.end() ? std::nullopt : std::optional<size_t>(it->second);
}

size_t StepReader::allocate(Value value, Category category, size_t action) {
  storages[value] = program.allocations.size();
  program.allocations.push_back({category, getBytes(value.getType()), action, action});
  return program.allocations.size() - 1;
}

/// The same bytes under another name.
void StepReader::share(Value value, Value other) {
  storages.erase(value);
  if (std::optional<size_t> storage = findStorage(other))
    storages[value] = *storage;
  if (auto it = microbatches.find(other); it != microbatches.end())
    microbatches[value] = it->second;
}

void StepReader::use(Value value, size_t action) {
  if (std::optional<size_t> storage = findStorage(value))
    program.allocations[*storage].last = std::max(program.allocations[*storage].last, action);
}
