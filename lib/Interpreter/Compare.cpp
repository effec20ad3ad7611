//===- Compare.cpp - Compares what two modules compute ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Interpreter/Compare.h"
#include "ulsc/Random.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

//===---------------------------------------------------------------------------------------===//
// Inputs
//===---------------------------------------------------------------------------------------===//

/// Uniform in [0, 1).
static double drawUniform(ulsc_random_stream stream, uint64_t index) {
  uint32_t words[4];
  ulsc_random_words(stream, index, words);
  return words[0] * 0x1p-32;
}

int64_t interpreter::getVocabulary(ModuleOp module) {
  if (auto model = module->getAttrOfType<DictionaryAttr>("uls.model"))
    if (auto vocabulary = model.getAs<IntegerAttr>("vocabulary"))
      return vocabulary.getInt();
  int64_t smallest = 0;
  for (auto param : module.getOps<uls::ParamOp>())
    for (auto [axis, size] :
         llvm::zip(param.getAxes().getAsValueRange<StringAttr>(), param.getUnpaddedShape()))
      if (axis == "vocab")
        smallest = smallest ? std::min(smallest, size) : size;
  return smallest ? smallest : 2;
}

FailureOr<Shape> interpreter::getGlobalInputShape(ModuleOp module) {
  auto steps = module.getOps<uls::StepOp>();
  if (steps.empty())
    return module.emitOpError("has no uls.step");
  auto type = llvm::dyn_cast<RankedTensorType>((*steps.begin()).getArgumentTypes().front());
  auto meshes = module.getOps<dist::MeshOp>();
  auto batch = module->getAttrOfType<DictionaryAttr>(uls::UlsDialect::kBatchAttrName);
  if (!type)
    return (*steps.begin())->emitOpError("takes no tokens");
  Shape shape(type.getShape());
  if (module->hasAttr(dist::DistDialect::kPartitionedAttrName) && batch && !meshes.empty() &&
      shape.size() == 3)
    if (auto axes = batch.getAs<ArrayAttr>("data_axes"))
      shape[1] *=
          (*meshes.begin()).getMesh().getSize(llvm::to_vector(axes.getAsRange<StringAttr>()));
  return shape;
}

StepInputs interpreter::drawStepInputs(ArrayRef<int64_t> shape, int64_t vocabulary, uint64_t seed,
                                       int64_t step) {
  ulsc_random_stream stream =
      ulsc_random_stream_of(seed, ulsc_random_hash_name("tokens"), 0, uint32_t(step));
  std::vector<int64_t> tokens, targets;
  for (int64_t i = 0; i < getNumElements(shape); ++i) {
    uint32_t words[4];
    ulsc_random_words(stream, i, words);
    tokens.push_back(words[0] % vocabulary);
    targets.push_back(words[2] % 8 == 0 ? -1 : int64_t(words[1] % vocabulary));
  }
  return {Tensor(shape, std::move(tokens)), Tensor(shape, std::move(targets))};
}

StepInputs interpreter::readStepInputs(ArrayRef<uint16_t> file, ArrayRef<int64_t> shape,
                                       int64_t step) {
  std::vector<int64_t> tokens, targets;
  int64_t count = getNumElements(shape);
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(file[(step * count + i) % file.size()]);
    targets.push_back(file[(step * count + i + 1) % file.size()]);
  }
  return {Tensor(shape, std::move(tokens)), Tensor(shape, std::move(targets))};
}

Tensor interpreter::drawArgument(RankedTensorType type, int64_t range, uint64_t seed,
                                 unsigned index) {
  ulsc_random_stream stream =
      ulsc_random_stream_of(seed, ulsc_random_hash_name("argument"), index, 0);
  int64_t count = type.getNumElements();
  if (!llvm::isa<FloatType>(type.getElementType())) {
    std::vector<int64_t> elements;
    for (int64_t i = 0; i < count; ++i)
      elements.push_back(int64_t(drawUniform(stream, i) * range));
    return Tensor(type.getShape(), std::move(elements));
  }
  std::vector<double> elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(2.0 * drawUniform(stream, i) - 1.0);
  return Tensor(type.getShape(), std::move(elements));
}

//===---------------------------------------------------------------------------------------===//
// Steps
//===---------------------------------------------------------------------------------------===//

FailureOr<StepResult> interpreter::runStep(ModuleOp module, const StepInputs &inputs,
                                           const Options &options) {
  std::unique_ptr<Interpreter> machine = Interpreter::create(module, options);
  if (!machine)
    return failure();
  return machine->runStep(inputs.tokens, inputs.targets);
}

static double getLargest(const Tensor &tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    largest = std::max(largest, std::abs(tensor.getAsDouble(i)));
  return largest;
}

static void compareTensors(StringRef what, const std::map<std::string, Tensor> &actual,
                           const std::map<std::string, Tensor> &expected, double floor,
                           double tolerance, std::vector<std::string> &differences) {
  for (const auto &[name, value] : expected) {
    auto it = actual.find(name);
    if (it == actual.end()) {
      differences.push_back(llvm::formatv("{0} of {1} is missing", what, name));
      continue;
    }
    double own = getLargest(value);
    double difference = getRelativeDifference(it->second, value) * own / std::max(own, floor);
    // A tensor of zeros has no own size to be relative to.
    if (own == 0)
      difference = getLargest(it->second) / std::max(floor, 1e-30);
    if (!(difference <= tolerance))
      differences.push_back(llvm::formatv("{0} of {1} differs by {2:e3}", what, name, difference));
  }
  for (const auto &[name, value] : actual)
    if (!expected.count(name))
      differences.push_back(llvm::formatv("{0} of {1} is not expected", what, name));
}

std::vector<std::string> interpreter::compareSteps(const StepResult &actual,
                                                   const StepResult &expected, double tolerance) {
  std::vector<std::string> differences;
  std::tuple<StringRef, double, double> scalars[] = {
      {"loss", actual.loss, expected.loss},
      {"grad_norm", actual.gradNorm, expected.gradNorm},
      {"valid_count", actual.validCount, expected.validCount},
      {"stop_count", actual.stopCount, expected.stopCount}};
  for (auto [name, a, e] : scalars)
    if (!(std::abs(a - e) <= tolerance * std::max(std::abs(e), 1e-30)))
      differences.push_back(llvm::formatv("{0} is {1}, expected {2}", name, a, e));
  compareTensors("gradient", actual.gradients, expected.gradients, 0.01 * expected.gradNorm,
                 tolerance, differences);
  compareTensors("parameter", actual.parameters, expected.parameters, 0.01, tolerance, differences);
  return differences;
}

//===---------------------------------------------------------------------------------------===//
// Single functions
//===---------------------------------------------------------------------------------------===//

/// The sharding of argument or result `index`: `module`'s function says so, else the source's, else
/// null.
static dist::ShardingAttr getSharding(FunctionOpInterface function, FunctionOpInterface source,
                                      unsigned index, bool isResult) {
  for (FunctionOpInterface f : {function, source})
    if (auto attr = isResult ? f.getResultAttrOfType<dist::ShardingAttr>(
                                   index, dist::DistDialect::kShardingAttrName)
                             : f.getArgAttrOfType<dist::ShardingAttr>(
                                   index, dist::DistDialect::kShardingAttrName))
      return attr;
  return {};
}

static FailureOr<SmallVector<RuntimeValue>> drawArguments(Interpreter &machine,
                                                          FunctionOpInterface function,
                                                          FunctionOpInterface source,
                                                          uint64_t seed) {
  SmallVector<RuntimeValue> arguments;
  if (function.getNumArguments() != source.getNumArguments())
    return function.emitOpError() << "takes " << function.getNumArguments()
                                  << " arguments, its source takes " << source.getNumArguments();
  for (auto [i, type] : llvm::enumerate(source.getArgumentTypes())) {
    auto tensor = llvm::dyn_cast<RankedTensorType>(type);
    if (!tensor) {
      arguments.push_back(
          RuntimeValue::getContext(machine.getNumRanks(), {/*firstRow=*/8, /*layer=*/3}));
      continue;
    }
    auto range = source.getArgAttrOfType<IntegerAttr>(i, "uls.range");
    Tensor global = drawArgument(tensor, range ? range.getInt() : 4, seed, i);
    FailureOr<RuntimeValue> value =
        machine.distribute(function, global, getSharding(function, source, i, false),
                           llvm::cast<RankedTensorType>(function.getArgumentTypes()[i]));
    if (failed(value))
      return failure();
    arguments.push_back(*value);
  }
  return arguments;
}

FailureOr<std::vector<Tensor>> interpreter::runEntry(ModuleOp module, ModuleOp source,
                                                     StringRef name, uint64_t inputSeed,
                                                     const Options &options) {
  auto function =
      llvm::dyn_cast_or_null<FunctionOpInterface>(SymbolTable::lookupSymbolIn(module, name));
  auto global =
      llvm::dyn_cast_or_null<FunctionOpInterface>(SymbolTable::lookupSymbolIn(source, name));
  if (!function || !global)
    return (function ? source : module).emitOpError() << "has no function @" << name;
  std::unique_ptr<Interpreter> machine = Interpreter::create(module, options);
  if (!machine)
    return failure();
  FailureOr<SmallVector<RuntimeValue>> arguments =
      drawArguments(*machine, function, global, inputSeed);
  if (failed(arguments))
    return failure();
  FailureOr<SmallVector<RuntimeValue>> results = machine->call(function, *arguments);
  if (failed(results))
    return failure();
  std::vector<Tensor> collected;
  for (auto [i, result] : llvm::enumerate(*results)) {
    auto type = llvm::cast<RankedTensorType>(global.getResultTypes()[i]);
    FailureOr<Tensor> tensor =
        machine->collect(function, result, getSharding(function, global, i, true), type.getShape(),
                         "result " + std::to_string(i));
    if (failed(tensor))
      return failure();
    collected.push_back(*tensor);
  }
  return collected;
}
