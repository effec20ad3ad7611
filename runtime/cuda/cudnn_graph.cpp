#include "cuda/cudnn_graph.h"

namespace ulsc::runtime {

using namespace cudnn;

namespace {

/// What the library is promised of values and of tensors that have no address.
constexpr int64_t noAlignment = 16;

CudnnGraph::Sizes rowMajor(const CudnnGraph::Sizes &sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

} // namespace

CudnnDescriptor &CudnnGraph::make(DescriptorType type) {
  return descriptors.emplace_back(library, type);
}

CudnnGraph::Tensor CudnnGraph::makeTensor(int64_t id, DataType type, Sizes sizes, Sizes strides,
                                          Place place, int64_t alignment) {
  CudnnDescriptor &tensor = make(DescriptorTensor);
  tensor.set(AttrTensorUniqueId, TypeInt64, id);
  tensor.set(AttrTensorDataType, TypeDataType, type);
  tensor.set(AttrTensorSizes, TypeInt64, std::vector<int64_t>(sizes.begin(), sizes.end()));
  tensor.set(AttrTensorStrides, TypeInt64, std::vector<int64_t>(strides.begin(), strides.end()));
  tensor.set(AttrTensorAlignment, TypeInt64, alignment);
  tensor.set(AttrTensorIsVirtual, TypeBoolean, place == Place::Nowhere);
  tensor.set(AttrTensorIsByValue, TypeBoolean, place == Place::Host);
  tensor.finalize();
  return {sizes, strides, tensor.get()};
}

CudnnGraph::Tensor CudnnGraph::memory(int64_t id, DataType type, Sizes sizes, Sizes strides,
                                      int64_t alignment) {
  return makeTensor(id, type, sizes, strides, Place::Memory, alignment);
}

CudnnGraph::Tensor CudnnGraph::value(int64_t id) {
  return makeTensor(id, DataF32, {1, 1, 1, 1}, {1, 1, 1, 1}, Place::Host, noAlignment);
}

CudnnGraph::Tensor CudnnGraph::inner(DataType type, Sizes sizes) {
  return inner(type, sizes, rowMajor(sizes));
}

CudnnGraph::Tensor CudnnGraph::inner(DataType type, Sizes sizes, Sizes strides) {
  return makeTensor(nextInnerId++, type, sizes, strides, Place::Nowhere, noAlignment);
}

void CudnnGraph::finish(CudnnDescriptor &operation) {
  operation.finalize();
  operations.push_back(operation.get());
}

void CudnnGraph::matmul(const Tensor &a, const Tensor &b, const Tensor &y) {
  CudnnDescriptor &description = make(DescriptorMatmul);
  description.set(AttrMatmulPrecision, TypeDataType, DataF32);
  description.finalize();
  CudnnDescriptor &operation = make(DescriptorMatmulOperation);
  operation.set(AttrMatmulA, TypeDescriptor, a.descriptor);
  operation.set(AttrMatmulB, TypeDescriptor, b.descriptor);
  operation.set(AttrMatmulC, TypeDescriptor, y.descriptor);
  operation.set(AttrMatmulOperation, description);
  finish(operation);
}

CudnnDescriptor &CudnnGraph::describePointwise(PointwiseMode mode, DataType precision,
                                               const int64_t *axis) {
  CudnnDescriptor &description = make(DescriptorPointwise);
  description.set(AttrPointwiseMode, TypePointwiseMode, mode);
  description.set(AttrPointwisePrecision, TypeDataType, precision);
  if (axis)
    description.set(AttrPointwiseAxis, TypeInt64, *axis);
  description.finalize();
  CudnnDescriptor &operation = make(DescriptorPointwiseOperation);
  operation.set(AttrPointwiseOperation, description);
  return operation;
}

void CudnnGraph::pointwise(PointwiseMode mode, const Tensor &x, const Tensor *b, const Tensor &y,
                           DataType precision) {
  CudnnDescriptor &operation = describePointwise(mode, precision, nullptr);
  operation.set(AttrPointwiseX, TypeDescriptor, x.descriptor);
  if (b)
    operation.set(AttrPointwiseB, TypeDescriptor, b->descriptor);
  operation.set(AttrPointwiseY, TypeDescriptor, y.descriptor);
  finish(operation);
}

void CudnnGraph::index(int64_t axis, const Tensor &x, const Tensor &y) {
  CudnnDescriptor &operation = describePointwise(PointwiseIndex, DataF32, &axis);
  operation.set(AttrPointwiseX, TypeDescriptor, x.descriptor);
  operation.set(AttrPointwiseY, TypeDescriptor, y.descriptor);
  finish(operation);
}

void CudnnGraph::select(const Tensor &x, const Tensor &b, const Tensor &condition,
                        const Tensor &y) {
  CudnnDescriptor &operation = describePointwise(PointwiseSelect, DataF32, nullptr);
  operation.set(AttrPointwiseX, TypeDescriptor, x.descriptor);
  operation.set(AttrPointwiseB, TypeDescriptor, b.descriptor);
  operation.set(AttrPointwiseT, TypeDescriptor, condition.descriptor);
  operation.set(AttrPointwiseY, TypeDescriptor, y.descriptor);
  finish(operation);
}

void CudnnGraph::reduce(Reduction reduction, const Tensor &x, const Tensor &y) {
  CudnnDescriptor &description = make(DescriptorReduction);
  description.set(AttrReductionOperator, TypeReduction, reduction);
  description.set(AttrReductionPrecision, TypeDataType, DataF32);
  description.finalize();
  CudnnDescriptor &operation = make(DescriptorReductionOperation);
  operation.set(AttrReductionX, TypeDescriptor, x.descriptor);
  operation.set(AttrReductionY, TypeDescriptor, y.descriptor);
  operation.set(AttrReductionOperation, description);
  finish(operation);
}

void CudnnGraph::reshape(const Tensor &x, const Tensor &y) {
  CudnnDescriptor &operation = make(DescriptorReshapeOperation);
  operation.set(AttrReshapeX, TypeDescriptor, x.descriptor);
  operation.set(AttrReshapeY, TypeDescriptor, y.descriptor);
  finish(operation);
}

void CudnnGraph::finalize(Handle handle) {
  CudnnDescriptor &graph = make(DescriptorOperationGraph);
  graph.set(AttrGraphOperations, TypeDescriptor, operations);
  if (handle)
    graph.set(AttrGraphHandle, TypeHandle, handle);
  graph.finalize();
}

} // namespace ulsc::runtime
