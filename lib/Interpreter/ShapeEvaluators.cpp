//===- ShapeEvaluators.cpp - Contractions, reductions and changes of shape in the interpreter ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Evaluators.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

static ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<RankedTensorType>(value.getType()).getShape();
}

//===---------------------------------------------------------------------------------------===//
// Einsum
//===---------------------------------------------------------------------------------------===//

namespace {
/// The letters of an equation by what happens to them, so that every einsum is a batch of matrix
/// products.
struct EinsumLetters {
  std::string batch, lhsOnly, rhsOnly, summed;

  explicit EinsumLetters(uls::EinsumOp op) {
    StringRef lhs = op.getLhsLetters(), rhs = op.getRhsLetters(), result = op.getResultLetters();
    for (char letter : result)
      (lhs.contains(letter) ? rhs.contains(letter) ? batch : lhsOnly : rhsOnly).push_back(letter);
    for (char letter : lhs)
      if (!result.contains(letter))
        summed.push_back(letter);
  }
};
} // namespace

/// `tensor`, whose dimensions are `letters`, with its dimensions in the order of `wanted`.
static Tensor arrange(const Tensor &tensor, StringRef letters, StringRef wanted) {
  if (letters == wanted)
    return tensor;
  Shape strides = getStrides(tensor.getShape()), shape, steps;
  for (char letter : wanted) {
    shape.push_back(tensor.getShape()[letters.find(letter)]);
    steps.push_back(strides[letters.find(letter)]);
  }
  std::vector<int64_t> sources;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    int64_t source = 0;
    for (auto [i, step] : llvm::zip_equal(index, steps))
      source += i * step;
    sources.push_back(source);
  });
  return tensor.gather(shape, [&](int64_t i) { return sources[i]; });
}

static void multiply(const double *a, const double *b, double *c, int64_t m, int64_t k, int64_t n) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      double scale = a[i * k + p];
      for (int64_t j = 0; j < n; ++j)
        c[i * n + j] += scale * b[p * n + j];
    }
}

static LogicalResult evaluateEinsum(uls::EinsumOp op, LocalEvaluation &e) {
  const Tensor &lhs = e.get(op.getLhs()), &rhs = e.get(op.getRhs());
  if (!lhs.isFloat() || !rhs.isFloat())
    return op.emitOpError("is interpreted on floating-point tensors only");
  EinsumLetters letters(op);
  auto sizeOf = [&](StringRef names) {
    int64_t size = 1;
    for (char letter : names)
      size *= op.getSize(letter);
    return size;
  };
  Tensor a = arrange(lhs, op.getLhsLetters(), letters.batch + letters.lhsOnly + letters.summed);
  Tensor b = arrange(rhs, op.getRhsLetters(), letters.batch + letters.summed + letters.rhsOnly);
  int64_t batch = sizeOf(letters.batch), m = sizeOf(letters.lhsOnly), n = sizeOf(letters.rhsOnly);
  int64_t k = sizeOf(letters.summed);
  std::vector<double> c(batch * m * n);
  for (int64_t i = 0; i < batch; ++i)
    multiply(a.getFloats().data() + i * m * k, b.getFloats().data() + i * k * n,
             c.data() + i * m * n, m, k, n);
  std::string order = letters.batch + letters.lhsOnly + letters.rhsOnly;
  Shape shape;
  for (char letter : order)
    shape.push_back(op.getSize(letter));
  e.set(op.getOutput(), arrange(Tensor(shape, std::move(c)), order, op.getResultLetters()));
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Reductions and changes of shape
//===---------------------------------------------------------------------------------------===//

/// For each element of `shape` row-major, its position in a tensor of `targetShape` whose dimension
/// i is dimension `dims[i]`.
static std::vector<int64_t> projections(ArrayRef<int64_t> shape, ArrayRef<int64_t> targetShape,
                                        ArrayRef<int64_t> dims) {
  std::vector<int64_t> positions;
  Shape place(dims.size());
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    for (auto [to, dim] : llvm::zip_equal(place, dims))
      to = index[dim];
    positions.push_back(getPosition(targetShape, place));
  });
  return positions;
}

template <typename Element>
static std::vector<Element> reduceElements(ArrayRef<Element> input, ArrayRef<int64_t> targets,
                                           int64_t count, bool isMax) {
  std::vector<Element> result(count);
  std::vector<bool> seen(count);
  for (size_t i = 0; i < input.size(); ++i) {
    Element &to = result[targets[i]];
    if (isMax)
      to = seen[targets[i]] ? std::max(to, input[i]) : input[i];
    else
      to += input[i];
    seen[targets[i]] = true;
  }
  return result;
}

static LogicalResult evaluateReduce(uls::ReduceOp op, LocalEvaluation &e) {
  const Tensor &input = e.get(op.getInput());
  ArrayRef<int64_t> shape = shapeOf(op.getOutput());
  Shape kept;
  for (int64_t dim = 0; dim < input.getRank(); ++dim)
    if (!llvm::is_contained(op.getDims(), dim))
      kept.push_back(dim);
  std::vector<int64_t> targets = projections(input.getShape(), shape, kept);
  bool isMax = op.getKind() == uls::ReduceKind::Max;
  int64_t count = getNumElements(shape);
  e.set(op.getOutput(),
        input.isFloat()
            ? Tensor(shape, reduceElements<double>(input.getFloats(), targets, count, isMax))
            : Tensor(shape, reduceElements<int64_t>(input.getIntegers(), targets, count, isMax)));
  return success();
}

static LogicalResult evaluateReduceMaxGrad(uls::ReduceMaxGradOp op, LocalEvaluation &e) {
  const Tensor &input = e.get(op.getInput()), &max = e.get(op.getMax()),
               &cotangent = e.get(op.getCotangent());
  Shape kept;
  for (int64_t dim = 0; dim < input.getRank(); ++dim)
    if (!llvm::is_contained(op.getDims(), dim))
      kept.push_back(dim);
  std::vector<int64_t> groups = projections(input.getShape(), max.getShape(), kept);
  std::vector<bool> given(max.getNumElements());
  std::vector<double> elements(input.getNumElements());
  for (size_t i = 0; i < elements.size(); ++i)
    if (!given[groups[i]] && input.getFloats()[i] == max.getFloats()[groups[i]]) {
      given[groups[i]] = true;
      elements[i] = cotangent.getFloats()[groups[i]];
    }
  e.set(op.getOutput(), Tensor(input.getShape(), std::move(elements)));
  return success();
}

static LogicalResult evaluateBroadcast(uls::BroadcastOp op, LocalEvaluation &e) {
  const Tensor &input = e.get(op.getInput());
  ArrayRef<int64_t> shape = shapeOf(op.getOutput());
  std::vector<int64_t> sources = projections(shape, input.getShape(), op.getDims());
  e.set(op.getOutput(), input.gather(shape, [&](int64_t i) { return sources[i]; }));
  return success();
}

static LogicalResult evaluateTranspose(uls::TransposeOp op, LocalEvaluation &e) {
  const Tensor &input = e.get(op.getInput());
  ArrayRef<int64_t> shape = shapeOf(op.getOutput());
  // Operand dimension permutation[i] is result dimension i.
  Shape inverse(shape.size());
  for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
    inverse[dim] = i;
  std::vector<int64_t> sources = projections(shape, input.getShape(), inverse);
  e.set(op.getOutput(), input.gather(shape, [&](int64_t i) { return sources[i]; }));
  return success();
}

/// Places `input` at `offset` of dimension `dim` of a zero tensor.
static Tensor placeAt(const Tensor &input, ArrayRef<int64_t> shape, int64_t dim, int64_t offset) {
  std::vector<int64_t> sources;
  Shape place(shape.size());
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    place.assign(index.begin(), index.end());
    place[dim] -= offset;
    bool inside = place[dim] >= 0 && place[dim] < input.getShape()[dim];
    sources.push_back(inside ? getPosition(input.getShape(), place) : -1);
  });
  return input.gather(shape, [&](int64_t i) { return sources[i]; });
}

static LogicalResult evaluateSlice(uls::SliceOp op, LocalEvaluation &e) {
  ArrayRef<int64_t> shape = shapeOf(op.getOutput());
  Shape offsets(shape.size(), 0);
  offsets[op.getDim()] = op.getOffset();
  e.set(op.getOutput(), e.get(op.getInput()).block(offsets, shape));
  return success();
}

static LogicalResult evaluatePad(uls::PadOp op, LocalEvaluation &e) {
  e.set(op.getOutput(),
        placeAt(e.get(op.getInput()), shapeOf(op.getOutput()), op.getDim(), op.getLow()));
  return success();
}

static LogicalResult evaluateConcat(uls::ConcatOp op, LocalEvaluation &e) {
  ArrayRef<int64_t> shape = shapeOf(op.getOutput());
  int64_t inner = getNumElements(shape.drop_front(op.getDim() + 1));
  int64_t outer = getNumElements(shape.take_front(op.getDim()));
  std::vector<double> floats;
  std::vector<int64_t> integers;
  for (int64_t i = 0; i < outer; ++i)
    for (mlir::Value operand : op.getInputs()) {
      const Tensor &input = e.get(operand);
      int64_t run = input.getShape()[op.getDim()] * inner;
      if (input.isFloat())
        llvm::append_range(floats, input.getFloats().slice(i * run, run));
      else
        llvm::append_range(integers, input.getIntegers().slice(i * run, run));
    }
  e.set(op.getOutput(), e.get(op.getInputs().front()).isFloat()
                            ? Tensor(shape, std::move(floats))
                            : Tensor(shape, std::move(integers)));
  return success();
}

static LogicalResult evaluateIota(uls::IotaOp op, LocalEvaluation &e) {
  ArrayRef<int64_t> shape = shapeOf(op.getOutput());
  Shape offsets, global;
  e.getPlace(op.getShard(), shape, offsets, global);
  std::vector<int64_t> elements;
  int64_t dim = op.getDim();
  forEachIndex(shape,
               [&](ArrayRef<int64_t> index) { elements.push_back(offsets[dim] + index[dim]); });
  Tensor result(shape, elements);
  if (llvm::isa<FloatType>(llvm::cast<RankedTensorType>(op.getOutput().getType()).getElementType()))
    result = Tensor(shape, std::vector<double>(elements.begin(), elements.end()));
  e.set(op.getOutput(), result);
  return success();
}

void interpreter::registerShapeEvaluators(Registry &registry) {
  registry.add<uls::EinsumOp>(evaluateEinsum);
  registry.add<uls::ReduceOp>(evaluateReduce);
  registry.add<uls::ReduceMaxGradOp>(evaluateReduceMaxGrad);
  registry.add<uls::BroadcastOp>(evaluateBroadcast);
  registry.add<uls::ReshapeOp>([](uls::ReshapeOp op, LocalEvaluation &e) {
    e.set(op.getOutput(), e.get(op.getInput()).reshape(shapeOf(op.getOutput())));
    return success();
  });
  registry.add<uls::TransposeOp>(evaluateTranspose);
  registry.add<uls::SliceOp>(evaluateSlice);
  registry.add<uls::PadOp>(evaluatePad);
  registry.add<uls::ConcatOp>(evaluateConcat);
  registry.add<uls::IotaOp>(evaluateIota);
}
