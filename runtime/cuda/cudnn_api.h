// What this project uses of cuDNN's C interface for operation graphs, in our own words: the runtime
// finds the functions in the vendor's library at the first attention that is left to it, the
// simulated device implements them. Values equal those of version 9;
// runtime/simulator/test/libraries/vendor_cudnn_interface_test.cpp holds them against the vendor's
// header where one is installed.
#ifndef ULSC_RUNTIME_CUDA_CUDNN_API_H
#define ULSC_RUNTIME_CUDA_CUDNN_API_H

#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace ulsc::cudnn {

/// The file that programs load.
inline constexpr const char *libraryName = "libcudnn.so.9";

/// major * 10000 + minor * 100 + patch, as cudnnGetVersion says it.
constexpr size_t versionCode(size_t major, size_t minor, size_t patch) {
  return major * 10000 + minor * 100 + patch;
}

enum Status : uint32_t {
  StatusSuccess = 0,
  StatusNotInitialized = 1001,
  StatusBadParam = 2000,
  StatusNullPointer = 2002,
  StatusMisalignedPointer = 2003,
  StatusNotFinalized = 2004,
  StatusOutOfBound = 2005,
  StatusSizeInsufficient = 2006,
  StatusShapeMismatch = 2008,
  StatusDuplicatedEntries = 2009,
  StatusAttributeType = 2010,
  StatusDescriptorType = 2012,
  StatusNotSupported = 3000,
  StatusNotSupportedGraphPattern = 3001,
  StatusNotSupportedShape = 3002,
  StatusNotSupportedDataType = 3003,
  StatusNotSupportedLayout = 3004,
  StatusInternalError = 4000,
  StatusExecutionFailed = 5000,
};

/// Element types of tensors and of what is computed.
enum DataType : uint32_t {
  DataF32 = 0,
  DataF64 = 1,
  DataF16 = 2,
  DataI8 = 3,
  DataI32 = 4,
  DataBf16 = 9,
  DataI64 = 10,
  DataBoolean = 11,
};

enum PointwiseMode : uint32_t {
  PointwiseAdd = 0,
  PointwiseMultiply = 1,
  PointwiseMin = 2,
  PointwiseMax = 3,
  PointwiseDivide = 6,
  PointwiseSubtract = 9,
  PointwiseExp = 13,
  PointwiseLog = 15,
  PointwiseIdentity = 21,
  PointwiseGreaterOrEqual = 303,
  PointwiseLess = 304,
  PointwiseIndex = 501,  // the position along an axis
  PointwiseSelect = 601, // x where t holds, else b
};

enum Reduction : uint32_t { ReductionSum = 0, ReductionMin = 2, ReductionMax = 3 };

enum HeuristicMode : uint32_t {
  HeuristicInstant = 0,
  HeuristicB = 1,
  HeuristicFallback = 2,
  HeuristicA = 3,
};

enum DescriptorType : uint32_t {
  DescriptorPointwise = 0,
  DescriptorEngine = 2,
  DescriptorEngineConfig = 3,
  DescriptorHeuristic = 4,
  DescriptorExecutionPlan = 5,
  DescriptorPointwiseOperation = 13,
  DescriptorOperationGraph = 15,
  DescriptorVariantPack = 16,
  DescriptorTensor = 17,
  DescriptorMatmul = 18,
  DescriptorMatmulOperation = 19,
  DescriptorReduction = 21,
  DescriptorReductionOperation = 22,
  DescriptorReshapeOperation = 31,
  DescriptorDeviceProperties = 38,
};

/// Behind each: how many values of which AttributeType.
enum Attribute : uint32_t {
  AttrPointwiseMode = 0,      // PointwiseMode
  AttrPointwisePrecision = 1, // DataType
  AttrPointwiseAxis = 9,      // Int64; of PointwiseIndex

  AttrHeuristicMode = 200,             // HeuristicMode
  AttrHeuristicGraph = 201,            // Descriptor
  AttrHeuristicResults = 202,          // Descriptors of engine configurations
  AttrHeuristicDeviceProperties = 204, // Descriptor

  AttrConfigWorkspaceBytes = 303, // Int64

  AttrPlanHandle = 400,         // Handle
  AttrPlanEngineConfig = 401,   // Descriptor
  AttrPlanWorkspaceBytes = 402, // Int64

  AttrPointwiseOperation = 750, // Descriptor of the pointwise description
  AttrPointwiseX = 751,         // Descriptors of tensors
  AttrPointwiseB = 752,
  AttrPointwiseY = 753,
  AttrPointwiseT = 758,

  AttrGraphHandle = 800,     // Handle
  AttrGraphOperations = 801, // Descriptors

  AttrTensorAlignment = 900, // Int64, bytes
  AttrTensorDataType = 901,  // DataType
  AttrTensorSizes = 902,     // Int64s
  AttrTensorStrides = 903,   // Int64s, elements
  AttrTensorUniqueId = 906,  // Int64
  AttrTensorIsVirtual = 907, // Boolean
  AttrTensorIsByValue = 908, // Boolean

  AttrPackUniqueIds = 1000, // Int64s
  AttrPackPointers = 1001,  // Pointers
  AttrPackWorkspace = 1003, // Pointer

  AttrMatmulPrecision = 1500, // DataType
  AttrMatmulA = 1520,         // Descriptors of tensors
  AttrMatmulB = 1521,
  AttrMatmulC = 1522,
  AttrMatmulOperation = 1523, // Descriptor of the matmul description

  AttrReductionOperator = 1600,  // Reduction
  AttrReductionPrecision = 1601, // DataType
  AttrReductionX = 1610,         // Descriptors of tensors
  AttrReductionY = 1611,
  AttrReductionOperation = 1612, // Descriptor of the reduction description

  AttrReshapeX = 2200, // Descriptors of tensors
  AttrReshapeY = 2201,

  AttrDevicePropertiesText = 2702, // Chars, JSON
};

enum AttributeType : uint32_t {
  TypeHandle = 0,
  TypeDataType = 1,
  TypeBoolean = 2, // one byte
  TypeInt64 = 3,
  TypePointer = 6,
  TypeHeuristicMode = 8,
  TypePointwiseMode = 14,
  TypeDescriptor = 15,
  TypeReduction = 18,
  TypeInt32 = 23,
  TypeChar = 24,
};

using Handle = struct HandleContents *;
using Descriptor = void *;
using Stream = CUstream_st *;

// clang-format off
/// FUNCTION(name, result, (parameters)) for each function used.
#define ULSC_CUDNN_FUNCTIONS(FUNCTION)                                                             \
  FUNCTION(cudnnGetVersion, size_t, ())                                                            \
  FUNCTION(cudnnGetErrorString, const char *, (Status status))                                     \
  FUNCTION(cudnnGetLastErrorString, void, (char *message, size_t bytes))                           \
  FUNCTION(cudnnCreate, Status, (Handle *handle))                                                  \
  FUNCTION(cudnnDestroy, Status, (Handle handle))                                                  \
  FUNCTION(cudnnSetStream, Status, (Handle handle, Stream stream))                                 \
  FUNCTION(cudnnBackendCreateDescriptor, Status, (DescriptorType type, Descriptor *descriptor))    \
  FUNCTION(cudnnBackendDestroyDescriptor, Status, (Descriptor descriptor))                         \
  FUNCTION(cudnnBackendSetAttribute, Status,                                                       \
           (Descriptor descriptor, Attribute attribute, AttributeType type, int64_t count,         \
            const void *values))                                                                   \
  FUNCTION(cudnnBackendGetAttribute, Status,                                                       \
           (Descriptor descriptor, Attribute attribute, AttributeType type, int64_t requested,     \
            int64_t *count, void *values))                                                         \
  FUNCTION(cudnnBackendFinalize, Status, (Descriptor descriptor))                                  \
  FUNCTION(cudnnBackendExecute, Status, (Handle handle, Descriptor plan, Descriptor variantPack))
// clang-format on

} // namespace ulsc::cudnn

#endif // ULSC_RUNTIME_CUDA_CUDNN_API_H
