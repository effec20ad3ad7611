//===- AttentionEvaluators.cpp - Attention and its adjoint in the interpreter ===//
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

namespace {
/// What attention and its adjoint share: sizes, the mask, and the dropped probabilities. Works on
/// one rank's operands.
template <typename Op>
class Attention {
public:
  Attention(Op op, LocalEvaluation &e)
      : op(op), query(e.get(op.getQuery())), key(e.get(op.getKey())), value(e.get(op.getValue())),
        queryPositions(e.get(op.getQueryPositions())), keyPositions(e.get(op.getKeyPositions())) {
    ArrayRef<int64_t> shape = query.getShape();
    batch = shape[0], seq = shape[1], heads = shape[2], group = shape[3], size = shape[4];
    keys = key.getShape()[1];
    if (op.getQuerySegments()) {
      querySegments = e.get(op.getQuerySegments());
      keySegments = e.get(op.getKeySegments());
    }
    e.getPlace(op.getShard(), shape, offsets, global);
    if (op.getDropoutKey())
      setDropout(e);
  }

  int64_t queryRow(int64_t b, int64_t s, int64_t k, int64_t g) const {
    return ((b * seq + s) * heads + k) * group + g;
  }
  int64_t keyRow(int64_t b, int64_t t, int64_t k) const { return (b * keys + t) * heads + k; }

  bool isVisible(int64_t b, int64_t s, int64_t t) const {
    if (op.getCausal() &&
        keyPositions.getIntegers()[b * keys + t] > queryPositions.getIntegers()[b * seq + s])
      return false;
    return !op.getQuerySegments() ||
           querySegments.getIntegers()[b * seq + s] == keySegments.getIntegers()[b * keys + t];
  }

  /// `scale · q·k`.
  double getScore(int64_t queryAt, int64_t keyAt) const {
    double sum = 0;
    for (int64_t d = 0; d < size; ++d)
      sum += query.getFloats()[queryAt * size + d] * key.getFloats()[keyAt * size + d];
    return sum * op.getScale().convertToDouble();
  }

  /// The factor of a probability: 1 without dropout, 0 where dropped.
  double getKeepFactor(int64_t b, int64_t s, int64_t k, int64_t g, int64_t t) const {
    if (!op.getDropoutKey())
      return 1.0;
    int64_t row = firstRow + offsets[0] + b, head = (offsets[2] + k) * global[3] + offsets[3] + g;
    uint64_t index = ((row * global[2] * global[3] + head) * global[1] + offsets[1] + s) * keys + t;
    uint32_t words[4];
    ulsc_random_words(stream, index, words);
    return words[0] >= threshold ? 1.0 / (1.0 - rate) : 0.0;
  }

  mutable Op op; // generated accessors are not const
  Tensor query, key, value, queryPositions, keyPositions, querySegments, keySegments;
  int64_t batch, seq, heads, group, size, keys;

private:
  void setDropout(LocalEvaluation &e) {
    const Control &control = e.all.interpreter.options.control;
    CallContext context = e.getContext(op.getCallContext());
    firstRow = context.firstRow;
    float compiled = e.all.interpreter.getDropoutRate(op.getDropoutRate()->convertToDouble());
    rate = compiled;
    threshold = ulsc_random_drop_threshold(compiled);
    stream = ulsc_random_stream_of(control.seed,
                                   ulsc_random_hash_name(op.getDropoutKey()->str().c_str()),
                                   uint32_t(context.layer), uint32_t(control.step));
  }

  Shape offsets, global;
  int64_t firstRow = 0;
  double rate = 0;
  uint32_t threshold = 0;
  ulsc_random_stream stream{};
};
} // namespace

/// Scores of one query against all keys, −∞ where masked.
template <typename Op>
static std::vector<double> getScores(const Attention<Op> &a, int64_t b, int64_t s, int64_t k,
                                     int64_t g) {
  std::vector<double> scores(a.keys, -INFINITY);
  for (int64_t t = 0; t < a.keys; ++t)
    if (a.isVisible(b, s, t))
      scores[t] = a.getScore(a.queryRow(b, s, k, g), a.keyRow(b, t, k));
  return scores;
}

static double getLogSumExp(ArrayRef<double> scores) {
  double largest = -INFINITY, sum = 0;
  for (double score : scores)
    largest = std::max(largest, score);
  if (largest == -INFINITY)
    return -INFINITY;
  for (double score : scores)
    sum += std::exp(score - largest);
  return largest + std::log(sum);
}

static LogicalResult evaluateAttention(uls::AttentionOp op, LocalEvaluation &e) {
  Attention<uls::AttentionOp> a(op, e);
  std::vector<double> output(a.query.getNumElements()), lse(output.size() / a.size);
  forEachIndex({a.batch, a.seq, a.heads, a.group}, [&](ArrayRef<int64_t> i) {
    int64_t row = a.queryRow(i[0], i[1], i[2], i[3]);
    std::vector<double> scores = getScores(a, i[0], i[1], i[2], i[3]);
    lse[row] = getLogSumExp(scores);
    for (int64_t t = 0; t < a.keys; ++t) {
      if (scores[t] == -INFINITY)
        continue;
      double p = std::exp(scores[t] - lse[row]) * a.getKeepFactor(i[0], i[1], i[2], i[3], t);
      for (int64_t d = 0; d < a.size; ++d)
        output[row * a.size + d] += p * a.value.getFloats()[a.keyRow(i[0], t, i[2]) * a.size + d];
    }
  });
  e.set(op.getOutput(), Tensor(a.query.getShape(), std::move(output)));
  e.set(op.getLse(), Tensor(a.query.getShape().drop_back(), std::move(lse)));
  return success();
}

static LogicalResult evaluateAttentionGrad(uls::AttentionGradOp op, LocalEvaluation &e) {
  Attention<uls::AttentionGradOp> a(op, e);
  ArrayRef<double> output = e.get(op.getOutput()).getFloats(), lse = e.get(op.getLse()).getFloats();
  ArrayRef<double> cotangent = e.get(op.getCotangent()).getFloats();
  ArrayRef<double> q = a.query.getFloats(), k = a.key.getFloats(), v = a.value.getFloats();
  std::vector<double> dq(q.size()), dk(k.size()), dv(v.size());
  double scale = op.getScale().convertToDouble();
  forEachIndex({a.batch, a.seq, a.heads, a.group}, [&](ArrayRef<int64_t> i) {
    int64_t row = a.queryRow(i[0], i[1], i[2], i[3]) * a.size;
    std::vector<double> scores = getScores(a, i[0], i[1], i[2], i[3]);
    double mean = 0;
    for (int64_t d = 0; d < a.size; ++d)
      mean += cotangent[row + d] * output[row + d];
    for (int64_t t = 0; t < a.keys; ++t) {
      if (scores[t] == -INFINITY)
        continue;
      int64_t keyAt = a.keyRow(i[0], t, i[2]) * a.size;
      double p = std::exp(scores[t] - lse[row / a.size]),
             keep = a.getKeepFactor(i[0], i[1], i[2], i[3], t);
      double dp = 0;
      for (int64_t d = 0; d < a.size; ++d) {
        dp += cotangent[row + d] * v[keyAt + d];
        dv[keyAt + d] += p * keep * cotangent[row + d];
      }
      double ds = p * (dp * keep - mean) * scale;
      for (int64_t d = 0; d < a.size; ++d) {
        dq[row + d] += ds * k[keyAt + d];
        dk[keyAt + d] += ds * q[row + d];
      }
    }
  });
  e.set(op.getQueryGrad(), Tensor(a.query.getShape(), std::move(dq)));
  e.set(op.getKeyGrad(), Tensor(a.key.getShape(), std::move(dk)));
  e.set(op.getValueGrad(), Tensor(a.value.getShape(), std::move(dv)));
  return success();
}

void interpreter::registerAttentionEvaluators(Registry &registry) {
  registry.add<uls::AttentionOp>(evaluateAttention);
  registry.add<uls::AttentionGradOp>(evaluateAttentionGrad);
}
