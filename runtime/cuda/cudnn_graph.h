// An operation graph of cuDNN: tensors of four dimensions and the operations between them.
#ifndef ULSC_RUNTIME_CUDA_CUDNN_GRAPH_H
#define ULSC_RUNTIME_CUDA_CUDNN_GRAPH_H

#include "cuda/cudnn_library.h"

#include <array>
#include <deque>

namespace ulsc::runtime {

class CudnnGraph {
public:
  using Sizes = std::array<int64_t, 4>;

  /// Only of the graph that made it.
  struct Tensor {
    Sizes sizes, strides; // elements
    cudnn::Descriptor descriptor;
  };

  explicit CudnnGraph(const CudnnLibrary &library) : library(library) {}

  /// In memory, found as `id` by who executes the graph, aligned to that many bytes.
  Tensor memory(int64_t id, cudnn::DataType type, Sizes sizes, Sizes strides,
                int64_t alignment = 16);
  /// One f32 that the host gives.
  Tensor value(int64_t id);
  /// Between operations, as if row-major, or by `strides`.
  Tensor inner(cudnn::DataType type, Sizes sizes);
  Tensor inner(cudnn::DataType type, Sizes sizes, Sizes strides);

  /// y[…, m, n] = sum over k of a[…, m, k] b[…, k, n]; where y has more heads than b, neighbours
  /// share one of b's.
  void matmul(const Tensor &a, const Tensor &b, const Tensor &y);
  /// y = mode(x), or mode(x, b), in f32; null: there is no b.
  void pointwise(cudnn::PointwiseMode mode, const Tensor &x, const Tensor *b, const Tensor &y,
                 cudnn::DataType precision = cudnn::DataF32);
  /// y = the position along `axis`, of a tensor like x.
  void index(int64_t axis, const Tensor &x, const Tensor &y);
  /// y = x where `condition` holds, else b.
  void select(const Tensor &x, const Tensor &b, const Tensor &condition, const Tensor &y);
  /// Over the dimensions in which y is smaller: all of it, or neighbours.
  void reduce(cudnn::Reduction reduction, const Tensor &x, const Tensor &y);
  /// y = x's elements by y's strides.
  void reshape(const Tensor &x, const Tensor &y);

  /// After the last operation; without a handle for the properties of a device alone.
  void finalize(cudnn::Handle handle);
  cudnn::Descriptor get() const { return descriptors.back().get(); }

private:
  CudnnDescriptor &make(cudnn::DescriptorType type);
  enum class Place { Memory, Host, Nowhere };
  Tensor makeTensor(int64_t id, cudnn::DataType type, Sizes sizes, Sizes strides, Place place,
                    int64_t alignment);
  CudnnDescriptor &describePointwise(cudnn::PointwiseMode mode, cudnn::DataType precision,
                                     const int64_t *axis);
  void finish(CudnnDescriptor &operation);

  const CudnnLibrary &library;
  std::deque<CudnnDescriptor> descriptors; // the graph last
  std::vector<cudnn::Descriptor> operations;
  int64_t nextInnerId = 1000;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_CUDNN_GRAPH_H
