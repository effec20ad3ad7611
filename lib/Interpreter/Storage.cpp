//===- Storage.cpp - Parameters, inputs and results of a step, global and per rank ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Interpreter.h"
#include "ulsc/Random.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

/// Replicas are computed alike on all ranks; more than this apart is a mistake of the module.
static constexpr double replicaTolerance = 1e-9;

/// A standard normal value from words 0 and 1 (Box and Muller 1958), as the runtime draws it.
static double drawNormal(ulsc_random_stream stream, uint64_t index) {
  uint32_t words[4];
  ulsc_random_words(stream, index, words);
  double u1 = (double(words[0]) + 1.0) * 0x1p-32, u2 = double(words[1]) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u1)) * std::cos(2.0 * 3.14159265358979323846 * u2);
}

Tensor interpreter::drawInitialValue(uls::ParamOp param, uint64_t seed) {
  ArrayRef<int64_t> shape = param.getTensorType().getShape(), unpadded = param.getUnpaddedShape();
  std::vector<double> elements(getNumElements(shape));
  uls::InitAttr init = param.getInit();
  ulsc_random_stream stream =
      ulsc_random_stream_of(seed, ulsc_random_hash_name(param.getSymName().str().c_str()), 0, 0);
  uint64_t logical = 0;
  forEachIndex(unpadded, [&](ArrayRef<int64_t> index) {
    double value = init.getKind() == uls::InitKind::Ones ? 1.0 : 0.0;
    // Parameters start in f32, whatever they are computed in.
    if (init.getKind() == uls::InitKind::Normal)
      value = float(drawNormal(stream, logical) * init.getStd().getValueAsDouble());
    elements[getPosition(shape, index)] = value;
    ++logical;
  });
  return Tensor(shape, std::move(elements));
}

FailureOr<RuntimeValue> Interpreter::distribute(Operation *op, const Tensor &global,
                                                dist::ShardingAttr sharding,
                                                RankedTensorType type) {
  SmallVector<Tensor> ranks;
  for (int64_t rank = 0; rank < numRanks; ++rank)
    ranks.push_back(
        partitioned && sharding ? shardOf(global, sharding.withoutPartials(), mesh, rank) : global);
  if (ranks[0].getShape() != type.getShape()) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "takes a local " << type << ", but the global value has shape [";
    llvm::interleaveComma(global.getShape(), diag);
    return diag << "] and sharding " << Attribute(sharding);
  }
  return RuntimeValue::get(ranks);
}

FailureOr<Tensor> Interpreter::collect(Operation *op, const RuntimeValue &value,
                                       dist::ShardingAttr sharding, ArrayRef<int64_t> globalShape,
                                       StringRef name) {
  SmallVector<Tensor> blocks;
  for (int64_t rank = 0; rank < numRanks; ++rank)
    blocks.push_back(value.getTensor(rank));
  if (!partitioned)
    return blocks[0];
  if (!sharding)
    sharding = dist::ShardingAttr::getReplicated(FlatSymbolRefAttr::get(op->getContext(), "mesh"),
                                                 globalShape.size());
  std::string error;
  std::optional<Tensor> whole =
      assemble(blocks, sharding, mesh, globalShape, replicaTolerance, error);
  if (!whole)
    return op->emitOpError() << "leaves \"" << name << "\" inconsistent: " << error;
  return *whole;
}

LogicalResult Interpreter::setStored(StringRef name, const Tensor &global) {
  auto it = storage.find(name);
  if (it == storage.end())
    return module.emitOpError() << "has no parameter or state \"" << name << "\"";
  Storage &stored = it->second;
  if (global.getShape() != stored.type.getShape())
    return stored.op->emitOpError() << "was given a value of another shape than " << stored.type;
  Tensor value = global;
  if (auto type = llvm::dyn_cast<FloatType>(stored.type.getElementType()); type && options.round)
    value = value.round(type);
  bool isSharded = partitioned && stored.sharding;
  if (isSharded && failed(stored.sharding.verify([&] { return stored.op->emitOpError(); }, mesh,
                                                 global.getShape())))
    return failure();
  stored.ranks.clear();
  for (int64_t rank = 0; rank < numRanks; ++rank)
    stored.ranks.push_back(isSharded ? shardOf(value, stored.sharding, mesh, rank) : value);
  return success();
}

FailureOr<Tensor> Interpreter::getStored(StringRef name) {
  auto it = storage.find(name);
  if (it == storage.end())
    return module.emitOpError() << "has no parameter or state \"" << name << "\"";
  const Storage &stored = it->second;
  SmallVector<Tensor> ranks;
  for (int64_t rank = 0; rank < numRanks; ++rank)
    ranks.push_back(stored.ranks[getHolder(stored.op, rank)]);
  return collect(stored.op, RuntimeValue::get(ranks), stored.sharding, stored.type.getShape(),
                 name);
}

//===---------------------------------------------------------------------------------------===//
// The step
//===---------------------------------------------------------------------------------------===//

/// The argument's own sharding, else rows over the data axes of `uls.batch`.
dist::ShardingAttr Interpreter::getInputSharding(uls::StepOp step, unsigned argument) {
  auto function = llvm::cast<FunctionOpInterface>(step.getOperation());
  if (auto sharding = function.getArgAttrOfType<dist::ShardingAttr>(
          argument, dist::DistDialect::kShardingAttrName))
    return sharding;
  auto batch = module->getAttrOfType<DictionaryAttr>("uls.batch");
  auto axes = batch ? batch.getAs<ArrayAttr>("data_axes") : ArrayAttr();
  auto meshes = module.getOps<dist::MeshOp>();
  if (!axes || meshes.empty())
    return {};
  int64_t rank = llvm::cast<RankedTensorType>(step.getArgumentTypes()[argument]).getRank();
  SmallVector<SmallVector<StringAttr>> dims(rank);
  dims[rank < 3 ? 0 : 1] = llvm::to_vector(axes.getAsRange<StringAttr>());
  return dist::ShardingAttr::getClosed(FlatSymbolRefAttr::get((*meshes.begin()).getSymNameAttr()),
                                       dims);
}

FailureOr<double> Interpreter::getReport(Operation *step, StringRef field) {
  auto it = reports.find(field);
  if (it == reports.end())
    return 0.0;
  for (double value : it->second)
    if (!(std::abs(value - it->second[0]) <= replicaTolerance * std::abs(it->second[0])))
      return step->emitOpError() << "reports different \"" << field
                                 << "\" on different ranks: " << it->second[0] << " and " << value;
  return it->second[0];
}

LogicalResult Interpreter::collectStepResult(uls::StepOp step, StepResult &result) {
  std::pair<StringRef, double *> fields[] = {{"loss", &result.loss},
                                             {"grad_norm", &result.gradNorm},
                                             {"valid_count", &result.validCount},
                                             {"stop_count", &result.stopCount}};
  for (auto [name, target] : fields) {
    FailureOr<double> value = getReport(step, name);
    if (failed(value))
      return failure();
    *target = *value;
  }
  for (auto &entry : storage) {
    FailureOr<Tensor> value = getStored(entry.first());
    if (failed(value))
      return failure();
    bool isParameter = llvm::isa<uls::ParamOp>(entry.second.op);
    (isParameter ? result.parameters : result.states)[entry.first().str()] = *value;
  }
  for (auto &entry : updateGradients) {
    const Storage &stored = storage.find(entry.first())->second;
    dist::ShardingAttr sharding = stored.sharding;
    // A gradient lies as the states of its parameter, where it has any.
    for (auto state : module.getOps<uls::StateOp>())
      if (state.getParameter() == entry.first() && state.getSharding())
        sharding = *state.getSharding();
    SmallVector<Tensor> ranks;
    for (int64_t rank = 0; rank < numRanks; ++rank)
      ranks.push_back(entry.second.getTensor(getHolder(stored.op, rank)));
    FailureOr<Tensor> value =
        collect(step, RuntimeValue::get(ranks), sharding, stored.type.getShape(), entry.first());
    if (failed(value))
      return failure();
    result.gradients[entry.first().str()] = *value;
  }
  return success();
}

FailureOr<SmallVector<RuntimeValue>>
Interpreter::distributeInputs(uls::StepOp step, const Tensor &tokens, const Tensor &targets) {
  if (step.getArgumentTypes().size() != 2)
    return step.emitOpError() << "takes " << step.getArgumentTypes().size()
                              << " arguments, expected tokens and targets";
  SmallVector<RuntimeValue> arguments;
  for (auto [i, input] : llvm::enumerate(SmallVector<Tensor>{tokens, targets})) {
    auto type = llvm::cast<RankedTensorType>(step.getArgumentTypes()[i]);
    FailureOr<RuntimeValue> value = distribute(step, input, getInputSharding(step, i), type);
    if (failed(value))
      return failure();
    arguments.push_back(*value);
  }
  return arguments;
}

FailureOr<StepResult> Interpreter::runStep(const Tensor &tokens, const Tensor &targets) {
  auto steps = module.getOps<uls::StepOp>();
  if (steps.empty())
    return module.emitOpError("has no uls.step to run");
  uls::StepOp step = *steps.begin();
  reports.clear();
  updateGradients.clear();
  if (dist::getStage(step) >= 0) {
    if (failed(runStages(tokens, targets)))
      return failure();
  } else {
    FailureOr<SmallVector<RuntimeValue>> arguments = distributeInputs(step, tokens, targets);
    if (failed(arguments) ||
        failed(call(llvm::cast<FunctionOpInterface>(step.getOperation()), *arguments)))
      return failure();
  }
  StepResult result;
  if (failed(collectStepResult(step, result)))
    return failure();
  ++options.control.step;
  return result;
}
