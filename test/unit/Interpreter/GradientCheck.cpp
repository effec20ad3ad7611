//===- GradientCheck.cpp - The second oracle: adjoints against finite differences
//----------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "GradientCheck.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

// The first suits most blocks; sharply curved ones need the smaller, at the cost of rounding.
static constexpr double stepSizes[] = {1e-3, 1e-4, 1e-5};
static constexpr int64_t smallArgument = 48;
static constexpr int directionsPerArgument = 3;

/// Numeric value of an argument attribute, integer or float.
static double getBound(uls::BlockOp block, unsigned argument, StringRef name, double otherwise) {
  auto function = llvm::cast<FunctionOpInterface>(block.getOperation());
  Attribute attr = function.getArgAttr(argument, name);
  if (auto integer = llvm::dyn_cast_or_null<IntegerAttr>(attr))
    return integer.getInt();
  if (auto number = llvm::dyn_cast_or_null<FloatAttr>(attr))
    return number.getValueAsDouble();
  return otherwise;
}

static Tensor drawTensor(RankedTensorType type, double low, double high, std::mt19937_64 &random) {
  int64_t count = type.getNumElements();
  if (!llvm::isa<FloatType>(type.getElementType())) {
    std::uniform_int_distribution<int64_t> draw(int64_t(low), int64_t(high) - 1);
    std::vector<int64_t> elements(count);
    for (int64_t &element : elements)
      element = draw(random);
    return Tensor(type.getShape(), std::move(elements));
  }
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<double> elements(count);
  for (double &element : elements)
    element = draw(random);
  return Tensor(type.getShape(), std::move(elements));
}

std::vector<RuntimeValue> interpreter::drawBlockArguments(uls::BlockOp block, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<RuntimeValue> arguments;
  for (auto [i, type] : llvm::enumerate(block.getArgumentTypes())) {
    auto tensor = llvm::dyn_cast<RankedTensorType>(type);
    if (!tensor) {
      arguments.push_back(RuntimeValue::getContext(1, {/*firstRow=*/5, /*layer=*/2}));
      continue;
    }
    bool isFloat = llvm::isa<FloatType>(tensor.getElementType());
    double low = getBound(block, i, "test.low", isFloat ? -1 : 0);
    double high = getBound(block, i, "test.high", isFloat ? 1 : 4);
    arguments.push_back(RuntimeValue::get(drawTensor(tensor, low, high, random)));
  }
  return arguments;
}

namespace {
/// The scalar Σ cotangent · result of a block as a function of its arguments.
class Objective {
public:
  Objective(uls::BlockOp plain, std::vector<RuntimeValue> arguments,
            std::map<int64_t, Tensor> cotangents)
      : plain(plain), arguments(std::move(arguments)), cotangents(std::move(cotangents)),
        machine(Interpreter::create(plain->getParentOfType<ModuleOp>())) {}

  double evaluate(unsigned argument, const Tensor &value) {
    std::vector<RuntimeValue> changed = arguments;
    changed[argument] = RuntimeValue::get(value);
    auto results = machine->call(llvm::cast<FunctionOpInterface>(plain.getOperation()), changed);
    if (failed(results))
      return NAN;
    double sum = 0;
    for (const auto &[index, cotangent] : cotangents) {
      const Tensor &result = (*results)[index].getTensor(0);
      for (int64_t i = 0; i < cotangent.getNumElements(); ++i)
        sum += cotangent.getFloats()[i] * result.getFloats()[i];
    }
    return sum;
  }

  /// The derivative along `direction`.
  double differentiate(unsigned argument, const Tensor &direction, double stepSize) {
    const Tensor &at = arguments[argument].getTensor(0);
    auto along = [&](double distance) {
      return evaluate(argument,
                      at.zip(direction, [&](double x, double d) { return x + distance * d; }));
    };
    return (8.0 * (along(stepSize) - along(-stepSize)) -
            (along(2 * stepSize) - along(-2 * stepSize))) /
           (12.0 * stepSize);
  }

  const Tensor &getArgument(unsigned argument) { return arguments[argument].getTensor(0); }

private:
  uls::BlockOp plain;
  std::vector<RuntimeValue> arguments;
  std::map<int64_t, Tensor> cotangents;
  std::unique_ptr<Interpreter> machine;
};
} // namespace

static double dot(const Tensor &a, const Tensor &b) {
  double sum = 0;
  for (int64_t i = 0; i < a.getNumElements(); ++i)
    sum += a.getFloats()[i] * b.getFloats()[i];
  return sum;
}

/// Random directions, and every element of a small tensor.
static std::vector<Tensor> getDirections(const Tensor &argument, std::mt19937_64 &random) {
  std::vector<Tensor> directions;
  std::normal_distribution<double> draw;
  for (int i = 0; i < directionsPerArgument; ++i) {
    std::vector<double> elements(argument.getNumElements());
    for (double &element : elements)
      element = draw(random) / std::sqrt(double(elements.size()));
    directions.emplace_back(argument.getShape(), std::move(elements));
  }
  for (int64_t i = 0; i < argument.getNumElements() && argument.getNumElements() <= smallArgument;
       ++i) {
    std::vector<double> elements(argument.getNumElements());
    elements[i] = 1.0;
    directions.emplace_back(argument.getShape(), std::move(elements));
  }
  return directions;
}

static double getScale(const Tensor &gradient) {
  double squares = 0;
  for (double element : gradient.getFloats())
    squares += element * element;
  return std::sqrt(squares / std::max<double>(1.0, gradient.getNumElements()));
}

std::vector<std::string> interpreter::checkGradients(uls::BlockOp plain, uls::BlockOp joint,
                                                     uint64_t seed, double tolerance) {
  std::mt19937_64 random(seed + 1);
  std::vector<RuntimeValue> arguments = drawBlockArguments(plain, seed), all = arguments;
  std::map<int64_t, Tensor> cotangents;
  ArrayRef<int64_t> wanted = *joint.getCotangents(), given = *joint.getGradients();
  for (int64_t result : wanted) {
    auto type = llvm::cast<RankedTensorType>(plain.getResultTypes()[result]);
    cotangents[result] = drawTensor(type, -1, 1, random);
    all.push_back(RuntimeValue::get(cotangents[result]));
  }
  std::unique_ptr<Interpreter> machine = Interpreter::create(joint->getParentOfType<ModuleOp>());
  auto results = machine->call(llvm::cast<FunctionOpInterface>(joint.getOperation()), all);
  if (failed(results))
    return {"the joint block does not run"};
  std::vector<std::string> failures;
  Objective objective(plain, arguments, cotangents);
  for (auto [i, argument] : llvm::enumerate(given)) {
    const Tensor &gradient = (*results)[joint.getNumPrimalResults() + i].getTensor(0);
    for (const Tensor &direction : getDirections(objective.getArgument(argument), random)) {
      double actual = dot(gradient, direction), expected = 0;
      bool agrees = false;
      for (double stepSize : stepSizes) {
        expected = objective.differentiate(argument, direction, stepSize);
        double size = std::max({std::abs(expected), getScale(gradient), 1e-3});
        if ((agrees = std::abs(actual - expected) <= tolerance * size))
          break;
      }
      if (!agrees)
        failures.push_back(
            llvm::formatv("gradient of argument {0}: {1:e9}, finite differences give {2:e9}",
                          argument, actual, expected));
    }
  }
  return failures;
}
