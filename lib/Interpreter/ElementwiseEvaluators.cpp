//===- ElementwiseEvaluators.cpp - Elementwise ops in the interpreter ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Evaluators.h"

#include "ulsc/Random.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

static constexpr double pi = 3.14159265358979323846;

static double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
static double siluGrad(double x) { return sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x))); }

static double gelu(uls::Approximation form, double x) {
  if (form == uls::Approximation::None)
    return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / pi) * (x + 0.044715 * x * x * x)));
}

static double geluGrad(uls::Approximation form, double x) {
  if (form == uls::Approximation::None)
    return 0.5 * (1.0 + std::erf(x / std::sqrt(2.0))) +
           x * std::exp(-0.5 * x * x) / std::sqrt(2.0 * pi);
  double inner = std::sqrt(2.0 / pi) * (x + 0.044715 * x * x * x), t = std::tanh(inner);
  double slope = std::sqrt(2.0 / pi) * (1.0 + 3.0 * 0.044715 * x * x);
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope;
}

template <typename Op>
static void addUnary(Registry &registry, double (*function)(double)) {
  registry.add<Op>([function](Op op, LocalEvaluation &e) {
    if (!e.get(op.getInput()).isFloat())
      return op.emitOpError("is interpreted on floating-point tensors only"), failure();
    e.set(op.getOutput(), e.get(op.getInput()).map(function));
    return success();
  });
}

/// Repeats a rank-0 operand over the other's shape.
static Tensor spread(const Tensor &tensor, const Tensor &other) {
  if (tensor.getRank() != 0 || other.getRank() == 0)
    return tensor;
  return tensor.gather(other.getShape(), [](int64_t) { return 0; });
}

template <typename Op>
static void addBinary(Registry &registry, double (*onFloats)(double, double),
                      int64_t (*onIntegers)(int64_t, int64_t)) {
  registry.add<Op>([=](Op op, LocalEvaluation &e) -> LogicalResult {
    Tensor lhs = spread(e.get(op.getLhs()), e.get(op.getRhs()));
    Tensor rhs = spread(e.get(op.getRhs()), e.get(op.getLhs()));
    if (lhs.getShape() != rhs.getShape())
      return op.emitOpError("meets operands of different sizes");
    if (lhs.isFloat()) {
      e.set(op.getOutput(), lhs.zip(rhs, onFloats));
      return success();
    }
    std::vector<int64_t> elements(lhs.getIntegers());
    for (size_t i = 0; i < elements.size(); ++i) {
      if (!onIntegers)
        return op.emitOpError("is interpreted on floating-point tensors only");
      elements[i] = onIntegers(elements[i], rhs.getIntegers()[i]);
    }
    e.set(op.getOutput(), Tensor(lhs.getShape(), std::move(elements)));
    return success();
  });
}

static bool compares(uls::Comparison comparison, double lhs, double rhs) {
  switch (comparison) {
  case uls::Comparison::Lt:
    return lhs < rhs;
  case uls::Comparison::Le:
    return lhs <= rhs;
  case uls::Comparison::Gt:
    return lhs > rhs;
  case uls::Comparison::Ge:
    return lhs >= rhs;
  }
  llvm_unreachable("all comparisons are handled");
}

static LogicalResult evaluateMask(uls::MaskOp op, LocalEvaluation &e) {
  const Tensor &value = e.get(op.getValue());
  Tensor lhs = spread(e.get(op.getLhs()), value), rhs = spread(e.get(op.getRhs()), value);
  if (lhs.getShape() != value.getShape() || rhs.getShape() != value.getShape())
    return op.emitOpError("meets operands of different sizes");
  e.set(op.getOutput(), value.gather(value.getShape(), [&](int64_t i) {
    return compares(op.getComparison(), lhs.getAsDouble(i), rhs.getAsDouble(i)) ? i : -1;
  }));
  return success();
}

static LogicalResult evaluateSelect(uls::SelectOp op, LocalEvaluation &e) {
  bool holds = e.get(op.getCondition()).getAsDouble(0) != 0;
  e.set(op.getOutput(), e.get(holds ? op.getOnTrue() : op.getOnFalse()));
  return success();
}

static LogicalResult evaluateConvert(uls::ConvertOp op, LocalEvaluation &e) {
  const Tensor &input = e.get(op.getInput());
  auto type = llvm::cast<RankedTensorType>(op.getOutput().getType()).getElementType();
  if (input.isFloat() == llvm::isa<FloatType>(type))
    return e.set(op.getOutput(), input), success();
  if (input.isFloat())
    return op.emitOpError("has no rounding from floating point to integers");
  std::vector<double> elements(input.getIntegers().begin(), input.getIntegers().end());
  e.set(op.getOutput(), Tensor(input.getShape(), std::move(elements)));
  return success();
}

static LogicalResult evaluateDropout(uls::DropoutOp op, LocalEvaluation &e) {
  const Tensor &input = e.get(op.getInput());
  Shape offsets, global;
  e.getPlace(op.getShard(), input.getShape(), offsets, global);
  CallContext context = e.getContext(op.getCallContext());
  const Control &control = e.all.interpreter.options.control;
  float rate = e.all.interpreter.getDropoutRate(op.getRate().convertToDouble());
  uint32_t threshold = ulsc_random_drop_threshold(rate);
  ulsc_random_stream stream =
      ulsc_random_stream_of(control.seed, ulsc_random_hash_name(op.getKey().str().c_str()),
                            uint32_t(context.layer), uint32_t(control.step));
  std::vector<double> elements(input.getFloats());
  int64_t local = 0;
  forEachIndex(input.getShape(), [&](ArrayRef<int64_t> index) {
    uint64_t position = 0;
    for (size_t dim = 0; dim < index.size(); ++dim)
      position = position * (dim == 0 ? 1 : global[dim]) + offsets[dim] + index[dim] +
                 (dim == 0 ? context.firstRow : 0);
    uint32_t words[4];
    ulsc_random_words(stream, position, words);
    elements[local] = words[0] >= threshold ? elements[local] / (1.0 - double(rate)) : 0.0;
    ++local;
  });
  e.set(op.getOutput(), Tensor(input.getShape(), std::move(elements)));
  return success();
}

void interpreter::registerElementwiseEvaluators(Registry &registry) {
  addUnary<uls::NegOp>(registry, [](double x) { return -x; });
  addUnary<uls::ExpOp>(registry, [](double x) { return std::exp(x); });
  addUnary<uls::LogOp>(registry, [](double x) { return std::log(x); });
  addUnary<uls::SqrtOp>(registry, [](double x) { return std::sqrt(x); });
  addUnary<uls::RsqrtOp>(registry, [](double x) { return 1.0 / std::sqrt(x); });
  addUnary<uls::TanhOp>(registry, [](double x) { return std::tanh(x); });
  addUnary<uls::SiluOp>(registry, [](double x) { return x * sigmoid(x); });
  registry.add<uls::GeluOp>([](uls::GeluOp op, LocalEvaluation &e) {
    uls::Approximation form = op.getApproximation();
    e.set(op.getOutput(), e.get(op.getInput()).map([&](double x) { return gelu(form, x); }));
    return success();
  });
  registry.add<uls::GeluGradOp>([](uls::GeluGradOp op, LocalEvaluation &e) {
    uls::Approximation form = op.getApproximation();
    e.set(op.getOutput(),
          e.get(op.getInput()).zip(e.get(op.getCotangent()), [&](double x, double dy) {
            return geluGrad(form, x) * dy;
          }));
    return success();
  });
  registry.add<uls::SiluGradOp>([](uls::SiluGradOp op, LocalEvaluation &e) {
    e.set(op.getOutput(),
          e.get(op.getInput()).zip(e.get(op.getCotangent()), [](double x, double dy) {
            return siluGrad(x) * dy;
          }));
    return success();
  });
  using Int = int64_t;
  addBinary<uls::AddOp>(
      registry, [](double a, double b) { return a + b; }, [](Int a, Int b) { return a + b; });
  addBinary<uls::SubOp>(
      registry, [](double a, double b) { return a - b; }, [](Int a, Int b) { return a - b; });
  addBinary<uls::MulOp>(
      registry, [](double a, double b) { return a * b; }, [](Int a, Int b) { return a * b; });
  addBinary<uls::DivOp>(registry, [](double a, double b) { return a / b; }, nullptr);
  addBinary<uls::MaximumOp>(
      registry, [](double a, double b) { return std::max(a, b); },
      [](Int a, Int b) { return std::max(a, b); });
  addBinary<uls::MinimumOp>(
      registry, [](double a, double b) { return std::min(a, b); },
      [](Int a, Int b) { return std::min(a, b); });
  registry.add<uls::MaskOp>(evaluateMask);
  registry.add<uls::SelectOp>(evaluateSelect);
  registry.add<uls::ConvertOp>(evaluateConvert);
  registry.add<uls::ConstantOp>([](uls::ConstantOp op, LocalEvaluation &e) {
    e.set(op.getOutput(), Tensor::fromAttribute(op.getValue()));
    return success();
  });
  registry.add<uls::DropoutOp>(evaluateDropout);
}
