#include "cuda/attention_graph.h"

// The library recognises these compositions by their operations and their order; each tensor
// between them stays in registers. Sizes are batch, heads, rows, columns throughout, whatever the
// memory's order.

namespace ulsc::runtime {

using namespace cudnn;

namespace {

using Tensor = CudnnGraph::Tensor;
using Sizes = CudnnGraph::Sizes;

class AttentionBuilder {
public:
  AttentionBuilder(CudnnGraph &graph, const ulsc_attention_desc &desc)
      : graph(graph), desc(desc), type(desc.dtype == ULSC_BF16 ? DataBf16 : DataF16),
        heads(desc.kv_heads * desc.group), scoreSizes{desc.batch, heads, desc.queries, desc.keys},
        rowSizes{desc.batch, heads, desc.queries, 1},
        scale(graph.value(int64_t(AttentionTensor::Scale))) {}

  void buildForward() {
    Tensor q = queryTensor(AttentionTensor::Q);
    Tensor v = keyTensor(AttentionTensor::V), out = queryTensor(AttentionTensor::Out);
    Tensor scores = masked(scaledScores(q, transposed(AttentionTensor::K)));
    Tensor max = graph.inner(DataF32, rowSizes);
    graph.reduce(ReductionMax, scores, max);
    Tensor powers = apply(PointwiseExp, apply(PointwiseSubtract, scores, &max), nullptr);
    Tensor sum = graph.inner(DataF32, rowSizes), log = graph.inner(DataF32, rowSizes);
    graph.reduce(ReductionSum, powers, sum);
    graph.pointwise(PointwiseLog, sum, nullptr, log);
    graph.pointwise(PointwiseAdd, max, &log, lseTensor(LseOrder::Queries));
    // The second product takes what the memory's tensors are of.
    Tensor probabilities = graph.inner(type, scoreSizes);
    graph.pointwise(PointwiseDivide, powers, &sum, probabilities);
    graph.matmul(probabilities, v, out);
  }

  void buildGradient(LseOrder order) {
    Tensor q = queryTensor(AttentionTensor::Q), outGrad = queryTensor(AttentionTensor::OutGrad);
    Tensor keys = transposed(AttentionTensor::K), values = transposed(AttentionTensor::V);
    Tensor rowSums = sumRows(outGrad, queryTensor(AttentionTensor::Out));
    Tensor lse = lseTensor(order);
    Tensor scores = apply(PointwiseSubtract, scaledScores(q, keys), &lse);
    Tensor probabilities = apply(PointwiseExp, masked(scores), nullptr);
    multiplyTransposed(probabilities, outGrad, keyTensor(AttentionTensor::VGrad));

    Tensor change = graph.inner(DataF32, scoreSizes);
    graph.matmul(outGrad, values, change);
    change = apply(PointwiseSubtract, change, &rowSums);
    change = apply(PointwiseMultiply, change, &probabilities);
    change = apply(PointwiseMultiply, change, &scale);
    multiplyTransposed(change, q, keyTensor(AttentionTensor::KGrad));
    multiplyByKeys(change, keys);
  }

  /// The library's kernels for elements take a matrix by rows or by columns, but no batch of them.
  void buildLseCopy() {
    Sizes sizes{desc.queries, heads, 1, 1};
    Sizes byQueries{heads, 1, heads, heads}, byHeads{1, desc.queries, desc.queries, desc.queries};
    Tensor from = graph.memory(int64_t(AttentionTensor::Lse), DataF32, sizes, byQueries, 4);
    Tensor to = graph.memory(int64_t(AttentionTensor::RowSums), DataF32, sizes, byHeads, 4);
    graph.pointwise(PointwiseIdentity, from, nullptr, to);
  }

private:
  /// Of q's shape.
  Tensor queryTensor(AttentionTensor id) {
    int64_t row = heads * desc.head_size;
    return graph.memory(int64_t(id), type, {desc.batch, heads, desc.queries, desc.head_size},
                        {desc.queries * row, desc.head_size, row, 1});
  }
  /// Of k's shape.
  Tensor keyTensor(AttentionTensor id) {
    int64_t row = desc.kv_heads * desc.head_size;
    return graph.memory(int64_t(id), type, {desc.batch, desc.kv_heads, desc.keys, desc.head_size},
                        {desc.keys * row, desc.head_size, row, 1});
  }
  Tensor transposed(AttentionTensor id) {
    int64_t row = desc.kv_heads * desc.head_size;
    return graph.memory(int64_t(id), type, {desc.batch, desc.kv_heads, desc.head_size, desc.keys},
                        {desc.keys * row, desc.head_size, 1, row});
  }
  Sizes headByHead() const { return {heads * desc.queries, desc.queries, 1, 1}; }
  Tensor lseTensor(LseOrder order) {
    Sizes byQueries{heads * desc.queries, 1, heads, 1};
    return graph.memory(int64_t(AttentionTensor::Lse), DataF32, rowSizes,
                        order == LseOrder::Queries ? byQueries : headByHead());
  }
  Tensor rowSumTensor() {
    return graph.memory(int64_t(AttentionTensor::RowSums), DataF32, rowSizes, headByHead());
  }

  /// A tensor of scores, f32.
  Tensor apply(PointwiseMode mode, const Tensor &x, const Tensor *b) {
    Tensor y = graph.inner(DataF32, scoreSizes);
    graph.pointwise(mode, x, b, y);
    return y;
  }

  Tensor scaledScores(const Tensor &q, const Tensor &keys) {
    Tensor scores = graph.inner(DataF32, scoreSizes);
    graph.matmul(q, keys, scores);
    return apply(PointwiseMultiply, scores, &scale);
  }

  /// With `causal`, nothing of the keys behind a query.
  Tensor masked(const Tensor &scores) {
    if (!desc.causal)
      return scores;
    Tensor query = graph.inner(DataI32, scoreSizes), key = graph.inner(DataI32, scoreSizes);
    graph.index(2, scores, query);
    graph.index(3, scores, key);
    Tensor isSeen = graph.inner(DataBoolean, scoreSizes), result = graph.inner(DataF32, scoreSizes);
    graph.pointwise(PointwiseGreaterOrEqual, query, &key, isSeen, DataBoolean);
    graph.select(scores, graph.value(int64_t(AttentionTensor::Masked)), isSeen, result);
    return result;
  }

  Tensor sumRows(const Tensor &outGrad, const Tensor &out) {
    Tensor products = graph.inner(DataF32, out.sizes), sums = graph.inner(DataF32, rowSizes);
    graph.pointwise(PointwiseMultiply, outGrad, &out, products);
    graph.reduce(ReductionSum, products, sums);
    // Where dropout would be undone; the library's kernels expect the multiplication.
    Tensor one = graph.value(int64_t(AttentionTensor::One)), result = rowSumTensor();
    graph.pointwise(PointwiseMultiply, sums, &one, result);
    return result;
  }

  /// result = scores^T rows, and its sum over the query heads of each key head.
  void multiplyTransposed(const Tensor &scores, const Tensor &rows, const Tensor &result) {
    Tensor turned = graph.inner(type, {desc.batch, heads, desc.keys, desc.queries},
                                {scores.strides[0], scores.strides[1], 1, desc.keys});
    graph.reshape(scores, turned);
    if (desc.group == 1)
      return graph.matmul(turned, rows, result);
    Tensor ofHeads = graph.inner(type, {desc.batch, heads, desc.keys, desc.head_size});
    graph.matmul(turned, rows, ofHeads);
    graph.reduce(ReductionSum, ofHeads, result);
  }

  /// dq, whose blocks are added in f32 before it is rounded.
  void multiplyByKeys(const Tensor &change, const Tensor &keys) {
    Tensor rows = graph.inner(type, {keys.sizes[0], keys.sizes[1], keys.sizes[3], keys.sizes[2]},
                              {keys.strides[0], keys.strides[1], keys.strides[3], keys.strides[2]});
    graph.reshape(keys, rows);
    Sizes sizes{desc.batch, heads, desc.queries, desc.head_size};
    int64_t head = desc.queries * desc.head_size;
    Tensor sums = graph.memory(int64_t(AttentionTensor::QGradSums), DataF32, sizes,
                               {heads * head, head, desc.head_size, 1});
    graph.matmul(change, rows, sums);
    graph.pointwise(PointwiseIdentity, sums, nullptr, queryTensor(AttentionTensor::QGrad));
  }

  CudnnGraph &graph;
  const ulsc_attention_desc &desc;
  DataType type;
  int64_t heads;
  Sizes scoreSizes, rowSizes;
  Tensor scale;
};

} // namespace

void buildAttention(CudnnGraph &graph, const ulsc_attention_desc &desc) {
  AttentionBuilder(graph, desc).buildForward();
}

void buildAttentionGrad(CudnnGraph &graph, const ulsc_attention_desc &desc, LseOrder order) {
  AttentionBuilder(graph, desc).buildGradient(order);
}

void buildLseCopy(CudnnGraph &graph, const ulsc_attention_desc &desc) {
  AttentionBuilder(graph, desc).buildLseCopy();
}

} // namespace ulsc::runtime
