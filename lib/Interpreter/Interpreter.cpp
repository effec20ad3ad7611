//===- Interpreter.cpp - Runs functions on simulated ranks ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Interpreter.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

//===---------------------------------------------------------------------------------------===//
// Values
//===---------------------------------------------------------------------------------------===//

RuntimeValue RuntimeValue::get(ArrayRef<Tensor> tensors) {
  RuntimeValue value;
  for (const Tensor &tensor : tensors)
    value.ranks.push_back(tensor);
  return value;
}

RuntimeValue RuntimeValue::getContext(int64_t numRanks, CallContext context) {
  RuntimeValue value;
  value.ranks.assign(numRanks, RankValue(context));
  return value;
}

const Tensor &RuntimeValue::getTensor(int64_t rank) const {
  auto *tensor = rank < int64_t(ranks.size()) ? std::get_if<Tensor>(&ranks[rank]) : nullptr;
  if (!tensor)
    llvm::report_fatal_error("the interpreter reads a tensor that was never computed");
  return *tensor;
}

const RuntimeValue &Evaluation::getValue(Value value) const {
  auto it = frame.values.find(value);
  if (it == frame.values.end())
    llvm::report_fatal_error("the interpreter reads a value that was never computed");
  return it->second;
}

CallContext Evaluation::getContext(Value value, int64_t rank) const {
  auto *context = std::get_if<CallContext>(&getValue(value).ranks[rank]);
  if (!context)
    llvm::report_fatal_error("the interpreter reads a context that was never made");
  return *context;
}

int64_t Evaluation::getIndex(Value value) const {
  auto *index = std::get_if<int64_t>(&getValue(value).ranks[interpreter.getActiveRanks().front()]);
  if (!index)
    llvm::report_fatal_error("the interpreter reads an index that was never set");
  return *index;
}

void Evaluation::set(Value value, int64_t rank, RankValue result) {
  auto *tensor = std::get_if<Tensor>(&result);
  if (tensor && tensor->isFloat() && interpreter.options.round)
    if (auto type = llvm::dyn_cast<FloatType>(
            llvm::cast<RankedTensorType>(value.getType()).getElementType()))
      *tensor = tensor->round(type);
  RuntimeValue &slot = frame.values[value];
  if (int64_t(slot.ranks.size()) < interpreter.getNumRanks())
    slot.ranks.resize(interpreter.getNumRanks());
  slot.ranks[rank] = std::move(result);
}

void LocalEvaluation::getPlace(std::optional<dist::ShardAttr> shard, ArrayRef<int64_t> localShape,
                               Shape &offsets, Shape &globalShape) const {
  if (!shard) {
    offsets.assign(localShape.size(), 0);
    globalShape.assign(localShape.begin(), localShape.end());
    return;
  }
  globalShape.assign(shard->getGlobalShape().begin(), shard->getGlobalShape().end());
  dist::MeshAttr mesh = all.interpreter.getMesh(shard->getSharding().getMesh());
  offsets = Shape(shard->getSharding().getOffsets(mesh, rank, globalShape));
}

//===---------------------------------------------------------------------------------------===//
// The machine
//===---------------------------------------------------------------------------------------===//

Interpreter::Interpreter(ModuleOp module, const Options &options)
    : options(options), module(module), symbols(module) {}

std::unique_ptr<Interpreter> Interpreter::create(ModuleOp module, const Options &options) {
  std::unique_ptr<Interpreter> result(new Interpreter(module, options));
  return failed(result->initialize()) ? nullptr : std::move(result);
}

dist::MeshAttr Interpreter::getMesh(FlatSymbolRefAttr name) {
  auto op = symbols.lookup<dist::MeshOp>(name.getValue());
  return op ? op.getMesh() : dist::MeshAttr();
}

LogicalResult Interpreter::initialize() {
  partitioned = module->hasAttr(dist::DistDialect::kPartitionedAttrName);
  for (auto op : module.getOps<dist::MeshOp>()) {
    if (mesh && mesh.getDeviceCount() != op.getMesh().getDeviceCount())
      return op.emitOpError("has another number of devices than the module's other mesh");
    mesh = op.getMesh();
  }
  // Collectives run on as many ranks as the mesh has, also in a module that the partitioner did not
  // make.
  bool communicates = false;
  module.walk([&](Operation *op) {
    communicates |=
        llvm::isa<dist::CollectiveOpInterface, dist::AxisIndexOp, dist::LocalSliceOp>(op);
  });
  partitioned |= communicates;
  if (partitioned && !mesh)
    return module.emitOpError("is partitioned but has no dist.mesh");
  numRanks = partitioned ? mesh.getDeviceCount() : 1;
  activeRanks = llvm::to_vector(llvm::seq<int64_t>(0, numRanks));
  for (auto op : module.getOps<uls::ParamOp>()) {
    storage[op.getSymName()] = {op, op.getTensorType(), op.getSharding().value_or(nullptr), {}};
    if (failed(setStored(op.getSymName(), drawInitialValue(op, options.control.seed))))
      return failure();
  }
  for (auto op : module.getOps<uls::StateOp>()) {
    auto type = llvm::cast<RankedTensorType>(op.getType());
    auto param = symbols.lookup<uls::ParamOp>(op.getParameter());
    // A state without a sharding of its own lies as its parameter.
    dist::ShardingAttr sharding = op.getSharding().value_or(nullptr);
    if (!sharding && param)
      sharding = param.getSharding().value_or(nullptr);
    storage[op.getSymName()] = {op, type, sharding, {}};
    bool isMaster = op.getRole() == "master" && param;
    Tensor initial =
        isMaster ? drawInitialValue(param, options.control.seed) : Tensor::zeros(type.getShape());
    if (failed(setStored(op.getSymName(), initial)))
      return failure();
  }
  return success();
}

SmallVector<Tensor> *Interpreter::findStored(StringRef name) {
  auto it = storage.find(name);
  return it == storage.end() ? nullptr : &it->second.ranks;
}

std::optional<double> Interpreter::getControl(StringRef field, int64_t rank) {
  const Control &c = options.control;
  auto scale = [&](const std::map<std::string, double> &scales) -> std::optional<double> {
    if (currentParameter.empty())
      return std::nullopt;
    auto it = scales.find(currentParameter);
    return it == scales.end() ? 1.0 : it->second;
  };
  if (field == "parameter_lr_scale")
    return scale(c.parameterLrScale);
  if (field == "parameter_decay_scale")
    return scale(c.parameterDecayScale);
  if (field == "stop_requested")
    return rank < int64_t(c.stopRequested.size()) ? c.stopRequested[rank] : 0.0;
  std::pair<StringRef, double> fields[] = {
      {"learning_rate", c.learningRate},
      {"beta1", c.beta1},
      {"beta2", c.beta2},
      {"epsilon", c.epsilon},
      {"bias_correction1", 1.0 - std::pow(c.beta1, double(c.step + 1))},
      {"bias_correction2", 1.0 - std::pow(c.beta2, double(c.step + 1))},
      {"weight_decay", c.weightDecay},
      {"momentum", c.momentum},
      {"clip_grad", c.clipGrad},
      {"loss_scale", c.lossScale},
      {"good_steps", c.goodSteps},
      {"loss_scale_growth_interval", c.lossScaleGrowthInterval}};
  for (auto [name, value] : fields)
    if (name == field)
      return value;
  return std::nullopt;
}

float Interpreter::getDropoutRate(double rate) const {
  return float(options.control.dropoutRate < 0 ? rate : options.control.dropoutRate);
}

//===---------------------------------------------------------------------------------------===//
// Running
//===---------------------------------------------------------------------------------------===//

LogicalResult Interpreter::checkResults(Operation *op, Frame &frame) {
  for (OpResult result : op->getResults())
    for (auto [rank, value] : llvm::enumerate(frame.values[result].ranks)) {
      auto *tensor = std::get_if<Tensor>(&value);
      auto type = llvm::dyn_cast<RankedTensorType>(result.getType());
      if (!tensor || !type)
        continue;
      if (tensor->isFloat() != llvm::isa<FloatType>(type.getElementType()) ||
          failed(verifyCompatibleShape(tensor->getShape(), type.getShape())))
        return op->emitOpError() << "computed another type than " << type << " in the interpreter";
      if (options.rejectNaN && tensor->hasNaN())
        return op->emitOpError() << "gives a NaN in result " << result.getResultNumber()
                                 << " on rank " << rank;
    }
  return success();
}

LogicalResult Interpreter::runOps(Block &block, Block::iterator begin, Block::iterator end,
                                  Frame &frame) {
  Evaluation evaluation(*this, frame);
  for (Operation &op : llvm::make_range(begin, end)) {
    const Registry::Evaluator *evaluate = getRegistry().find(op.getName().getStringRef());
    if (!evaluate)
      return op.emitOpError("has no evaluator in the interpreter");
    // Evaluators hold references into the frame: no entry is added while one runs.
    for (Value result : op.getResults()) {
      RuntimeValue &slot = frame.values[result];
      slot = RuntimeValue();
      slot.ranks.resize(numRanks);
    }
    if (failed((*evaluate)(&op, evaluation)) || failed(checkResults(&op, frame)))
      return failure();
  }
  return success();
}

LogicalResult Interpreter::runFunction(FunctionOpInterface function,
                                       ArrayRef<RuntimeValue> arguments, Frame &frame,
                                       SmallVectorImpl<RuntimeValue> &results) {
  Block &body = function.getFunctionBody().front();
  if (arguments.size() != body.getNumArguments())
    return function.emitOpError() << "takes " << body.getNumArguments() << " arguments, was given "
                                  << arguments.size();
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
    frame.values[argument] = value;
  if (failed(runOps(body, body.begin(), body.end(), frame)))
    return failure();
  for (Operation &op : body)
    if (llvm::isa<uls::ResultOp, uls::YieldOp>(op))
      for (Value operand : op.getOperands())
        results.push_back(frame.values[operand]);
  return success();
}

FailureOr<SmallVector<RuntimeValue>> Interpreter::call(FunctionOpInterface function,
                                                       ArrayRef<RuntimeValue> arguments) {
  Frame frame;
  SmallVector<RuntimeValue> results;
  if (failed(runFunction(function, arguments, frame, results)))
    return failure();
  return results;
}
