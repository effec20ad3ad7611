//===- ModelEvaluators.cpp - Lookup, norms, softmax and rope in the interpreter ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Evaluators.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

static ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<RankedTensorType>(value.getType()).getShape();
}

/// Rows of the last dimension.
static int64_t getRows(const Tensor &tensor) {
  return getNumElements(tensor.getShape().drop_back());
}

//===---------------------------------------------------------------------------------------===//
// Lookup
//===---------------------------------------------------------------------------------------===//

/// Local row of `index` in a block of rows of a table, or −1 where another rank has it. Fails where
/// the table has no such row.
static FailureOr<int64_t> findRow(Operation *op, int64_t index, int64_t offset, int64_t rows,
                                  int64_t globalRows) {
  if (index < 0 || index >= globalRows)
    return op->emitOpError() << "looks up row " << index << " of a table of " << globalRows;
  int64_t row = index - offset;
  return row >= 0 && row < rows ? row : -1;
}

static LogicalResult evaluateEmbedding(uls::EmbeddingOp op, LocalEvaluation &e) {
  const Tensor &indices = e.get(op.getIndices()), &table = e.get(op.getTable());
  Shape offsets, global;
  e.getPlace(op.getShard(), table.getShape(), offsets, global);
  int64_t width = table.getShape()[1];
  std::vector<double> elements(indices.getNumElements() * width);
  for (int64_t i = 0; i < indices.getNumElements(); ++i) {
    FailureOr<int64_t> row =
        findRow(op, indices.getIntegers()[i], offsets[0], table.getShape()[0], global[0]);
    if (failed(row))
      return failure();
    if (*row >= 0)
      llvm::copy(table.getFloats().slice(*row * width, width), elements.begin() + i * width);
  }
  e.set(op.getOutput(), Tensor(shapeOf(op.getOutput()), std::move(elements)));
  return success();
}

static LogicalResult evaluateEmbeddingGrad(uls::EmbeddingGradOp op, LocalEvaluation &e) {
  const Tensor &indices = e.get(op.getIndices()), &cotangent = e.get(op.getCotangent());
  ArrayRef<int64_t> shape = shapeOf(op.getOutput());
  Shape offsets, global;
  e.getPlace(op.getShard(), shape, offsets, global);
  std::vector<double> elements(getNumElements(shape));
  for (int64_t i = 0; i < indices.getNumElements(); ++i) {
    FailureOr<int64_t> row = findRow(op, indices.getIntegers()[i], offsets[0], shape[0], global[0]);
    if (failed(row))
      return failure();
    for (int64_t j = 0; *row >= 0 && j < shape[1]; ++j)
      elements[*row * shape[1] + j] += cotangent.getFloats()[i * shape[1] + j];
  }
  e.set(op.getOutput(), Tensor(shape, std::move(elements)));
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Normalisation
//===---------------------------------------------------------------------------------------===//

static LogicalResult evaluateRmsNorm(uls::RmsNormOp op, LocalEvaluation &e) {
  const Tensor &input = e.get(op.getInput());
  ArrayRef<double> x = input.getFloats(), weight = e.get(op.getWeight()).getFloats();
  int64_t rows = getRows(input), width = weight.size();
  std::vector<double> output(x.size()), rstd(rows);
  for (int64_t i = 0; i < rows; ++i) {
    double squares = 0;
    for (double value : x.slice(i * width, width))
      squares += value * value;
    rstd[i] = 1.0 / std::sqrt(squares / width + op.getEpsilon().convertToDouble());
    for (int64_t j = 0; j < width; ++j)
      output[i * width + j] = x[i * width + j] * rstd[i] * weight[j];
  }
  e.set(op.getOutput(), Tensor(input.getShape(), std::move(output)));
  e.set(op.getRstd(), Tensor(input.getShape().drop_back(), std::move(rstd)));
  return success();
}

static LogicalResult evaluateRmsNormGrad(uls::RmsNormGradOp op, LocalEvaluation &e) {
  const Tensor &input = e.get(op.getInput());
  ArrayRef<double> x = input.getFloats(), weight = e.get(op.getWeight()).getFloats();
  ArrayRef<double> rstd = e.get(op.getRstd()).getFloats(),
                   dy = e.get(op.getCotangent()).getFloats();
  int64_t rows = getRows(input), width = weight.size();
  std::vector<double> dx(x.size()), dw(width);
  for (int64_t i = 0; i < rows; ++i) {
    double mean = 0;
    for (int64_t j = 0, at = i * width; j < width; ++j, ++at) {
      mean += dy[at] * weight[j] * x[at] * rstd[i] / width;
      dw[j] += dy[at] * x[at] * rstd[i];
    }
    for (int64_t j = 0, at = i * width; j < width; ++j, ++at)
      dx[at] = rstd[i] * (dy[at] * weight[j] - x[at] * rstd[i] * mean);
  }
  e.set(op.getInputGrad(), Tensor(input.getShape(), std::move(dx)));
  e.set(op.getWeightGrad(), Tensor({width}, std::move(dw)));
  return success();
}

static LogicalResult evaluateLayerNorm(uls::LayerNormOp op, LocalEvaluation &e) {
  const Tensor &input = e.get(op.getInput());
  ArrayRef<double> x = input.getFloats(), weight = e.get(op.getWeight()).getFloats();
  ArrayRef<double> bias = e.get(op.getBias()).getFloats();
  int64_t rows = getRows(input), width = weight.size();
  std::vector<double> output(x.size()), means(rows), rstd(rows);
  for (int64_t i = 0; i < rows; ++i) {
    double squares = 0;
    for (double value : x.slice(i * width, width))
      means[i] += value / width;
    for (double value : x.slice(i * width, width))
      squares += (value - means[i]) * (value - means[i]);
    rstd[i] = 1.0 / std::sqrt(squares / width + op.getEpsilon().convertToDouble());
    for (int64_t j = 0, at = i * width; j < width; ++j, ++at)
      output[at] = (x[at] - means[i]) * rstd[i] * weight[j] + bias[j];
  }
  e.set(op.getOutput(), Tensor(input.getShape(), std::move(output)));
  e.set(op.getMean(), Tensor(input.getShape().drop_back(), std::move(means)));
  e.set(op.getRstd(), Tensor(input.getShape().drop_back(), std::move(rstd)));
  return success();
}

static LogicalResult evaluateLayerNormGrad(uls::LayerNormGradOp op, LocalEvaluation &e) {
  const Tensor &input = e.get(op.getInput());
  ArrayRef<double> x = input.getFloats(), weight = e.get(op.getWeight()).getFloats();
  ArrayRef<double> mean = e.get(op.getMean()).getFloats(), rstd = e.get(op.getRstd()).getFloats();
  ArrayRef<double> dy = e.get(op.getCotangent()).getFloats();
  int64_t rows = getRows(input), width = weight.size();
  std::vector<double> dx(x.size()), dw(width), db(width);
  for (int64_t i = 0; i < rows; ++i) {
    double meanG = 0, meanGN = 0;
    auto n = [&](int64_t at) { return (x[at] - mean[i]) * rstd[i]; };
    for (int64_t j = 0, at = i * width; j < width; ++j, ++at) {
      meanG += dy[at] * weight[j] / width;
      meanGN += dy[at] * weight[j] * n(at) / width;
      dw[j] += dy[at] * n(at);
      db[j] += dy[at];
    }
    for (int64_t j = 0, at = i * width; j < width; ++j, ++at)
      dx[at] = rstd[i] * (dy[at] * weight[j] - meanG - n(at) * meanGN);
  }
  e.set(op.getInputGrad(), Tensor(input.getShape(), std::move(dx)));
  e.set(op.getWeightGrad(), Tensor({width}, std::move(dw)));
  e.set(op.getBiasGrad(), Tensor({width}, std::move(db)));
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Softmax and rope
//===---------------------------------------------------------------------------------------===//

static LogicalResult evaluateSoftmax(uls::SoftmaxOp op, LocalEvaluation &e) {
  const Tensor &input = e.get(op.getInput());
  std::vector<double> output(input.getFloats());
  int64_t width = input.getShape().back();
  for (int64_t i = 0; i < getRows(input); ++i) {
    MutableArrayRef<double> row = MutableArrayRef<double>(output).slice(i * width, width);
    double largest = -INFINITY, sum = 0;
    for (double value : row)
      largest = std::max(largest, value);
    for (double &value : row)
      sum += value = largest == -INFINITY ? 0.0 : std::exp(value - largest);
    for (double &value : row)
      value = sum == 0 ? 0.0 : value / sum;
  }
  e.set(op.getOutput(), Tensor(input.getShape(), std::move(output)));
  return success();
}

static LogicalResult evaluateSoftmaxGrad(uls::SoftmaxGradOp op, LocalEvaluation &e) {
  const Tensor &result = e.get(op.getResult());
  ArrayRef<double> y = result.getFloats(), dy = e.get(op.getCotangent()).getFloats();
  int64_t width = result.getShape().back();
  std::vector<double> output(y.size());
  for (int64_t i = 0; i < getRows(result); ++i) {
    double sum = 0;
    for (int64_t at = i * width; at < (i + 1) * width; ++at)
      sum += y[at] * dy[at];
    for (int64_t at = i * width; at < (i + 1) * width; ++at)
      output[at] = y[at] * (dy[at] - sum);
  }
  e.set(op.getOutput(), Tensor(result.getShape(), std::move(output)));
  return success();
}

static LogicalResult evaluateRope(uls::RopeOp op, LocalEvaluation &e) {
  const Tensor &input = e.get(op.getInput());
  ArrayRef<int64_t> positions = e.get(op.getPositions()).getIntegers();
  ArrayRef<double> x = input.getFloats();
  int64_t width = input.getShape().back(), half = width / 2;
  int64_t rowsPerPosition = getRows(input) / int64_t(positions.size());
  std::vector<double> output(x.size());
  for (int64_t row = 0; row < getRows(input); ++row)
    for (int64_t i = 0; i < half; ++i) {
      double angle =
          positions[row / rowsPerPosition] * op.getFrequencies()[i] * (op.getInverse() ? -1 : 1);
      double a = x[row * width + i], b = x[row * width + half + i];
      output[row * width + i] = a * std::cos(angle) - b * std::sin(angle);
      output[row * width + half + i] = b * std::cos(angle) + a * std::sin(angle);
    }
  e.set(op.getOutput(), Tensor(input.getShape(), std::move(output)));
  return success();
}

void interpreter::registerModelEvaluators(Registry &registry) {
  registry.add<uls::EmbeddingOp>(evaluateEmbedding);
  registry.add<uls::EmbeddingGradOp>(evaluateEmbeddingGrad);
  registry.add<uls::RmsNormOp>(evaluateRmsNorm);
  registry.add<uls::RmsNormGradOp>(evaluateRmsNormGrad);
  registry.add<uls::LayerNormOp>(evaluateLayerNorm);
  registry.add<uls::LayerNormGradOp>(evaluateLayerNormGrad);
  registry.add<uls::SoftmaxOp>(evaluateSoftmax);
  registry.add<uls::SoftmaxGradOp>(evaluateSoftmaxGrad);
  registry.add<uls::RopeOp>(evaluateRope);
}
