//===- RankStep.cpp - Writes the step of one rank of the pipeline
//------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Stage/RankStep.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::stage;
using dist::DistDialect;
using pipeline::Event;
using pipeline::Work;

/// How a value lies, as propagation decided; null for what has no sharding.
static Attribute getSharding(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto list = result ? result.getOwner()->getAttrOfType<ArrayAttr>(DistDialect::kShardingsAttrName)
                     : ArrayAttr();
  return list && result.getResultNumber() < list.size() ? list[result.getResultNumber()]
                                                        : Attribute();
}

RankStep::RankStep(StepSource &source, int64_t rank)
    : source(source), rank(rank), builder(source.step), carried(source.loop.getNumResults()) {}

void RankStep::open() {
  uls::StepOp old = source.step;
  OperationState state(old.getLoc(), old->getName());
  state.addAttributes(old->getAttrs());
  state.attributes.set("sym_name", builder.getStringAttr(old.getSymName() + "." + Twine(rank)));
  state.attributes.set(DistDialect::kStageAttrName, builder.getI64IntegerAttr(rank));
  state.addRegion();
  step = cast<uls::StepOp>(builder.create(state));
  Block *body = builder.createBlock(&step.getBody());
  for (BlockArgument argument : old.getEntry().getArguments())
    outer.map(argument, body->addArgument(argument.getType(), argument.getLoc()));
  for (Operation &op : old.getEntry()) {
    if (&op == source.loop)
      break;
    if (isa<uls::ReportOp>(op))
      copyOuter(&op);
  }
}

Value RankStep::getOuter(Value value) {
  if (Value known = outer.lookupOrNull(value))
    return known;
  auto result = cast<OpResult>(value);
  if (result.getOwner() == source.loop) {
    Value &sum = carried[result.getResultNumber()];
    return sum ? sum : getOuter(source.loop.getInits()[result.getResultNumber()]);
  }
  if (auto materialize = dyn_cast<uls::MaterializeOp>(result.getOwner()))
    parameters.insert(materialize.getParameterAttr().getAttr());
  return copyOuter(result.getOwner())->getResult(result.getResultNumber());
}

Operation *RankStep::copyOuter(Operation *op) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, getOuter(operand));
  Operation *clone = builder.clone(*op, mapping);
  outer.map(op->getResults(), clone->getResults());
  return clone;
}

/// A value of a microbatch. What depends on no chunk is made here if it is not there yet.
Value RankStep::get(Value value, int64_t microbatch) {
  Block &body = source.loop.getBody().front();
  if (value.getParentBlock() != &body)
    return getOuter(value);
  if (std::optional<unsigned> index = source.parts.getCarried(value)) {
    Value &sum = carried[*index];
    return sum ? sum : sum = getOuter(source.loop.getInits()[*index]);
  }
  Value &known = inner[{value, microbatch}];
  if (known)
    return known;
  if (isa<BlockArgument>(value))
    return known = arith::ConstantOp::create(builder, value.getLoc(),
                                             builder.getI64IntegerAttr(microbatch));
  Operation *op = value.getDefiningOp();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, get(operand, microbatch));
  Operation *clone = builder.clone(*op, mapping);
  for (auto [before, after] : llvm::zip_equal(op->getResults(), clone->getResults()))
    inner[{before, microbatch}] = after;
  return inner[{value, microbatch}];
}

Operation *RankStep::copy(Operation *op, int64_t microbatch) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, get(operand, microbatch));
  return builder.clone(*op, mapping);
}

void RankStep::set(Value value, int64_t microbatch, Value made) {
  if (std::optional<unsigned> index = source.parts.getCarried(value))
    carried[*index] = made;
  else
    inner[{value, microbatch}] = made;
}

/// One half of a backward call: the gradients of weights, or the others, which come first.
void RankStep::computeHalf(uls::BackwardOp op, int64_t microbatch, bool isWeight) {
  SmallVector<Type> types;
  SmallVector<int64_t> gives;
  for (OpResult result : op->getResults())
    if (source.parts.isOfWeights(result) == isWeight) {
      types.push_back(result.getType());
      gives.push_back(result.getResultNumber());
    }
  bool hasOther = gives.size() < op->getNumResults();
  if (gives.empty())
    return;
  if (!hasOther) {
    Operation *whole = copy(op, microbatch);
    for (auto [before, after] : llvm::zip_equal(op->getResults(), whole->getResults()))
      set(before, microbatch, after);
    return;
  }
  if (!isWeight)
    types.push_back(op.getResiduals().getType());
  Value residuals = isWeight ? left[{op, microbatch}] : get(op.getResiduals(), microbatch);
  SmallVector<Value> cotangents;
  if (!isWeight)
    for (Value cotangent : op.getCotangents())
      cotangents.push_back(get(cotangent, microbatch));
  auto half = uls::BackwardOp::create(builder, op.getLoc(), types, op.getCalleeAttr(), residuals,
                                      cotangents, builder.getDenseI64ArrayAttr(gives));
  half->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (StringRef name : {"dist.shardings", "dist.origins", "dist.causes"})
    if (auto list = op->getAttrOfType<ArrayAttr>(name)) {
      SmallVector<Attribute> own;
      for (int64_t number : gives)
        own.push_back(list[number]);
      half->setAttr(name, builder.getArrayAttr(own));
    }
  for (auto [number, made] : llvm::zip(gives, half.getResults()))
    set(op->getResult(number), microbatch, made);
  if (!isWeight)
    left[{op, microbatch}] = half.getLeft();
}

void RankStep::compute(const pipeline::Entry &entry) {
  Work part = entry.work == Work::Forward ? Work::Forward : Work::BackwardInput;
  bool isHalf = entry.work == Work::BackwardInput || entry.work == Work::BackwardWeight;
  bool isWeight = entry.work == Work::BackwardWeight;
  for (Operation *op : source.parts.getOps(part, entry.chunk)) {
    if (auto backward = dyn_cast<uls::BackwardOp>(op); backward && isHalf) {
      computeHalf(backward, entry.microbatch, isWeight);
      continue;
    }
    if (isHalf && source.parts.isOfWeights(op->getResult(0)) != isWeight)
      continue;
    Operation *clone = copy(op, entry.microbatch);
    for (auto [before, after] : llvm::zip_equal(op->getResults(), clone->getResults()))
      set(before, entry.microbatch, after);
  }
}

//===---------------------------------------------------------------------------------------===//
// Transfers
//===---------------------------------------------------------------------------------------===//

ArrayAttr RankStep::getPipelineAxes() { return builder.getStrArrayAttr({kPipelineAxis}); }

/// "activations of model.layers.3 for stage 1".
static std::string describe(Value value, int64_t stage, bool isSend) {
  bool isBackward = isa_and_nonnull<uls::BackwardOp, uls::AccumulateOp>(value.getDefiningOp());
  return ((isBackward ? "gradient" : "activation") + Twine(" at ") +
          dist::describeLocation(value.getLoc()) + (isSend ? " for stage " : " from stage ") +
          Twine(stage))
      .str();
}

static void setSharding(Operation *op, Attribute sharding) {
  if (sharding)
    op->setAttr(DistDialect::kShardingsAttrName, ArrayAttr::get(op->getContext(), sharding));
}

static dist::StartOp createStart(OpBuilder &builder, Location loc, TypeRange types,
                                 function_ref<ValueRange(OpBuilder &)> build) {
  auto start = dist::StartOp::create(
      builder, loc, dist::HandleType::get(builder.getContext(), llvm::to_vector(types)));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&start.getBody());
  ValueRange results = build(builder);
  dist::YieldOp::create(builder, loc, results);
  return start;
}

dist::StartOp RankStep::startSend(Value source, Value value, int64_t peer, Attribute sharding) {
  auto start = createStart(builder, source.getLoc(), {}, [&](OpBuilder &inside) -> ValueRange {
    dist::SendOp::create(inside, source.getLoc(), value, peer, this->source.mesh, getPipelineAxes(),
                         inside.getStringAttr(describe(source, peer, /*isSend=*/true)));
    return {};
  });
  setSharding(start, sharding);
  return start;
}

dist::StartOp RankStep::startReceive(Value source, int64_t peer, Attribute sharding) {
  Type type = source.getType();
  auto start = createStart(builder, source.getLoc(), type, [&](OpBuilder &inside) -> ValueRange {
    return dist::ReceiveOp::create(inside, source.getLoc(), type, peer, this->source.mesh,
                                   getPipelineAxes(),
                                   inside.getStringAttr(describe(source, peer, /*isSend=*/false)))
        .getOutputs();
  });
  setSharding(start, sharding);
  return start;
}

Value RankStep::wait(dist::StartOp start, Attribute sharding) {
  auto wait = dist::WaitOp::create(builder, start.getLoc(),
                                   start.getHandle().getType().getResults(), start.getHandle());
  setSharding(wait, sharding);
  return wait->getNumResults() ? wait->getResult(0) : Value();
}

/// Whose value travels, for who reads the program.
void RankStep::note(dist::StartOp start, const Event &event) {
  const pipeline::Flow &flow = source.flows[event.flow].second;
  start->setAttr(DistDialect::kChunkAttrName, builder.getI64IntegerAttr(flow.from.chunk));
  start->setAttr(DistDialect::kMicrobatchAttrName, builder.getI64IntegerAttr(event.microbatch));
}

/// The sharding of what travels: complete, for ranks along other axes are summed before.
static Attribute completed(Attribute sharding) {
  auto attr = dyn_cast_or_null<dist::ShardingAttr>(sharding);
  return attr ? Attribute(attr.withoutPartials()) : sharding;
}

void RankStep::add(const Event &event) {
  if (event.kind == Event::Kind::Compute)
    return compute(event.entry);
  const auto &[value, flow] = source.flows[event.flow];
  Attribute sharding = completed(getSharding(value));
  Handle key{event.flow, event.microbatch};
  switch (event.kind) {
  case Event::Kind::StartSend:
    handles[key] = startSend(value, get(value, event.microbatch),
                             source.schedule.rankOf[flow.to.front().chunk], sharding);
    return note(handles[key], event);
  case Event::Kind::StartReceive:
    handles[key] = startReceive(value, source.schedule.rankOf[flow.from.chunk], sharding);
    return note(handles[key], event);
  case Event::Kind::WaitSend:
    wait(handles[key], {});
    return;
  case Event::Kind::WaitReceive:
    inner[{value, event.microbatch}] = wait(handles[key], sharding);
    return;
  case Event::Kind::Compute:
    return;
  }
}

/// The two ranks give each other their sums and add them in the order of ranks, so that both have
/// the same bits.
void RankStep::exchangeCarried(ArrayRef<SmallVector<int64_t, 2>> owners) {
  for (auto [i, ranks] : llvm::enumerate(owners)) {
    if (ranks.size() < 2 || !llvm::is_contained(ranks, rank))
      continue;
    int64_t peer = ranks[0] == rank ? ranks[1] : ranks[0];
    Value last = source.loop.getBody().front().getTerminator()->getOperand(i);
    Attribute sharding = getSharding(last);
    dist::StartOp send = startSend(last, carried[i], peer, sharding);
    dist::StartOp receive = startReceive(last, peer, sharding);
    wait(send, {});
    Value other = wait(receive, sharding), own = carried[i];
    if (rank > peer)
      std::swap(own, other);
    auto sum = uls::AccumulateOp::create(builder, last.getLoc(), own, other);
    setSharding(sum, sharding);
    carried[i] = sum;
  }
}

//===---------------------------------------------------------------------------------------===//
// The end of the step
//===---------------------------------------------------------------------------------------===//

/// The ranks that have a gradient. Between the sum over microbatches and its use it may be laid out
/// or cast anew.
static ArrayRef<int64_t> getOwners(const StepSource &source,
                                   ArrayRef<SmallVector<int64_t, 2>> owners, Value gradient) {
  auto sum = cast<OpResult>(gradient);
  while (sum.getOwner() != source.loop)
    sum = cast<OpResult>(sum.getOwner()->getOperand(0));
  return owners[sum.getResultNumber()];
}

/// Each gradient counts on the first rank that has it. The norm, the loss and the stop flags are
/// summed over the stages in one collective, which all stages have, whatever they hold.
void RankStep::addNorm(uls::GlobalNormOp norm, ArrayRef<SmallVector<int64_t, 2>> owners) {
  SmallVector<Value> gradients;
  for (Value gradient : norm.getGradients())
    if (getOwners(source, owners, gradient).front() == rank)
      gradients.push_back(getOuter(gradient));
  auto own = uls::GlobalNormOp::create(builder, norm.getLoc(), norm.getType(), gradients);
  own->setDiscardableAttrs(norm->getDiscardableAttrDictionary());
  SmallVector<Value> sums = {uls::MulOp::create(builder, norm.getLoc(), own, own)};
  SmallVector<Value> sources;
  for (auto report : source.step.getEntry().getOps<uls::ReportOp>()) {
    if (report.getField() != "loss" && report.getField() != "stop_count")
      continue;
    sources.push_back(report.getValue());
    if (auto flags = report.getValue().getDefiningOp<uls::SumRanksOp>())
      sums.push_back(uls::SumRanksOp::create(builder, flags.getLoc(), flags.getType(),
                                             getOuter(flags.getInput()), source.otherAxes));
    else
      sums.push_back(getOuter(report.getValue()));
  }
  TypeRange types = ValueRange(sums).getTypes();
  auto start = createStart(builder, norm.getLoc(), types, [&](OpBuilder &inside) -> ValueRange {
    return dist::AllReduceOp::create(
               inside, norm.getLoc(), types, dist::Reduction::Sum, sums, source.mesh,
               getPipelineAxes(), inside.getStringAttr("norm, loss and stop flags of all stages"))
        .getOutputs();
  });
  auto total = dist::WaitOp::create(builder, norm.getLoc(), types, start.getHandle());
  outer.map(norm.getResult(),
            uls::SqrtOp::create(builder, norm.getLoc(), total.getResult(0)).getResult());
  for (auto [value, sum] : llvm::zip_equal(sources, total.getResults().drop_front()))
    outer.map(value, sum);
}

void RankStep::addUpdate(uls::UpdateOp update, ArrayRef<SmallVector<int64_t, 2>> owners) {
  SmallVector<Value> gradients, scalars;
  SmallVector<Attribute> names;
  for (auto [gradient, name] : llvm::zip_equal(update.getGradients(), update.getParameters())) {
    if (!llvm::is_contained(getOwners(source, owners, gradient), rank))
      continue;
    gradients.push_back(getOuter(gradient));
    names.push_back(name);
  }
  if (gradients.empty())
    return;
  for (Value scalar : update.getScalars())
    scalars.push_back(getOuter(scalar));
  Value condition = update.getCondition() ? getOuter(update.getCondition()) : Value();
  auto own = uls::UpdateOp::create(builder, update.getLoc(), TypeRange(), update.getRuleAttr(),
                                   gradients, ValueRange(), scalars, condition,
                                   builder.getArrayAttr(names), update.getStochasticAttr());
  own->setDiscardableAttrs(update->getDiscardableAttrDictionary());
}

void RankStep::close(ArrayRef<SmallVector<int64_t, 2>> owners) {
  for (Operation *op = source.loop->getNextNode(); op; op = op->getNextNode()) {
    if (auto norm = dyn_cast<uls::GlobalNormOp>(op)) {
      addNorm(norm, owners);
    } else if (auto update = dyn_cast<uls::UpdateOp>(op)) {
      addUpdate(update, owners);
    } else if (isa<uls::ReportOp>(op) || op->hasTrait<OpTrait::IsTerminator>()) {
      copyOuter(op);
    }
  }
}
