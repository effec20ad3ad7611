//===- LossEvaluators.cpp - The loss and its three steps in the interpreter ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Evaluators.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

namespace {
/// A block of columns of the logits.
struct Columns {
  Columns(LocalEvaluation &e, const Tensor &logits, std::optional<dist::ShardAttr> shard,
          int64_t vocabulary)
      : logits(logits), width(logits.getShape().back()),
        rows(getNumElements(logits.getShape().drop_back())), vocabulary(vocabulary) {
    Shape offsets, global;
    e.getPlace(shard, logits.getShape(), offsets, global);
    first = offsets.back();
    valid = std::clamp<int64_t>(vocabulary - first, 0, width);
  }
  double get(int64_t row, int64_t column) const { return logits.getFloats()[row * width + column]; }
  double getMax(int64_t row) const {
    double largest = -INFINITY;
    for (int64_t j = 0; j < valid; ++j)
      largest = std::max(largest, get(row, j));
    return largest;
  }
  double getExpSum(int64_t row, double max) const {
    double sum = 0;
    for (int64_t j = 0; j < valid && max != -INFINITY; ++j)
      sum += std::exp(get(row, j) - max);
    return sum;
  }
  bool has(int64_t column) const { return column >= first && column < first + valid; }

  const Tensor logits;
  int64_t width, rows, vocabulary;
  /// Global index of the first column, and how many are not padding.
  int64_t first, valid;
};
} // namespace

/// Targets are −1 or a column of the vocabulary.
static LogicalResult checkTargets(Operation *op, const Tensor &targets, int64_t vocabulary) {
  for (int64_t target : targets.getIntegers())
    if (target < -1 || target >= vocabulary)
      return op->emitOpError() << "has target " << target << " outside a vocabulary of "
                               << vocabulary;
  return success();
}

static LogicalResult evaluateCrossEntropy(uls::CrossEntropyOp op, LocalEvaluation &e) {
  const Tensor &targets = e.get(op.getTargets());
  Columns columns(e, e.get(op.getLogits()), std::nullopt, op.getVocabulary());
  if (failed(checkTargets(op, targets, op.getVocabulary())))
    return failure();
  std::vector<double> loss(columns.rows), lse(columns.rows);
  for (int64_t i = 0; i < columns.rows; ++i) {
    double max = columns.getMax(i);
    int64_t target = targets.getIntegers()[i];
    lse[i] = max + std::log(columns.getExpSum(i, max));
    loss[i] = target < 0 ? 0.0 : lse[i] - columns.get(i, target);
  }
  e.set(op.getLoss(), Tensor(targets.getShape(), std::move(loss)));
  e.set(op.getLse(), Tensor(targets.getShape(), std::move(lse)));
  return success();
}

static LogicalResult evaluateCrossEntropyGrad(uls::CrossEntropyGradOp op, LocalEvaluation &e) {
  const Tensor &targets = e.get(op.getTargets());
  ArrayRef<double> lse = e.get(op.getLse()).getFloats(),
                   cotangent = e.get(op.getCotangent()).getFloats();
  Columns columns(e, e.get(op.getLogits()), op.getShard(), op.getVocabulary());
  if (failed(checkTargets(op, targets, op.getVocabulary())))
    return failure();
  std::vector<double> output(columns.rows * columns.width);
  for (int64_t i = 0; i < columns.rows; ++i) {
    int64_t target = targets.getIntegers()[i];
    for (int64_t j = 0; j < columns.valid && target >= 0; ++j)
      output[i * columns.width + j] =
          (std::exp(columns.get(i, j) - lse[i]) - (columns.first + j == target)) * cotangent[i];
  }
  e.set(op.getOutput(), Tensor(columns.logits.getShape(), std::move(output)));
  return success();
}

static LogicalResult evaluateLogitsMax(uls::LogitsMaxOp op, LocalEvaluation &e) {
  Columns columns(e, e.get(op.getLogits()), op.getShard(), op.getVocabulary());
  std::vector<double> max;
  for (int64_t i = 0; i < columns.rows; ++i)
    max.push_back(columns.getMax(i));
  e.set(op.getMax(), Tensor(columns.logits.getShape().drop_back(), std::move(max)));
  return success();
}

static LogicalResult evaluateLogitsSums(uls::LogitsSumsOp op, LocalEvaluation &e) {
  const Tensor &targets = e.get(op.getTargets());
  Columns columns(e, e.get(op.getLogits()), op.getShard(), op.getVocabulary());
  if (failed(checkTargets(op, targets, op.getVocabulary())))
    return failure();
  std::vector<double> sums, picked;
  for (int64_t i = 0; i < columns.rows; ++i) {
    int64_t target = targets.getIntegers()[i];
    sums.push_back(columns.getExpSum(i, e.get(op.getMax()).getFloats()[i]));
    picked.push_back(columns.has(target) ? columns.get(i, target - columns.first) : 0.0);
  }
  e.set(op.getExpSum(), Tensor(targets.getShape(), std::move(sums)));
  e.set(op.getTargetLogit(), Tensor(targets.getShape(), std::move(picked)));
  return success();
}

static LogicalResult evaluateLogitsLoss(uls::LogitsLossOp op, LocalEvaluation &e) {
  const Tensor &targets = e.get(op.getTargets());
  Tensor lse = e.get(op.getMax()).zip(e.get(op.getExpSum()), [](double max, double sum) {
    return max + std::log(sum);
  });
  std::vector<double> loss;
  for (int64_t i = 0; i < targets.getNumElements(); ++i)
    loss.push_back(targets.getIntegers()[i] < 0
                       ? 0.0
                       : lse.getFloats()[i] - e.get(op.getTargetLogit()).getFloats()[i]);
  e.set(op.getLoss(), Tensor(targets.getShape(), std::move(loss)));
  e.set(op.getLse(), lse);
  return success();
}

void interpreter::registerLossEvaluators(Registry &registry) {
  registry.add<uls::CrossEntropyOp>(evaluateCrossEntropy);
  registry.add<uls::CrossEntropyGradOp>(evaluateCrossEntropyGrad);
  registry.add<uls::LogitsMaxOp>(evaluateLogitsMax);
  registry.add<uls::LogitsSumsOp>(evaluateLogitsSums);
  registry.add<uls::LogitsLossOp>(evaluateLogitsLoss);
}
