// What this project uses of cuBLASLt's C interface, in our own words: the runtime finds the
// functions in the vendor's library when a program starts, the simulated device implements them.
// Values and layouts equal those of version 13;
// runtime/simulator/test/libraries/vendor_interfaces_test.cpp holds them against the vendor's
// header where one is installed.
#ifndef ULSC_RUNTIME_CUDA_CUBLASLT_API_H
#define ULSC_RUNTIME_CUDA_CUBLASLT_API_H

#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace ulsc::cublaslt {

/// The file that programs load.
inline constexpr const char *libraryName = "libcublasLt.so.13";

enum Status : uint32_t {
  StatusSuccess = 0,
  StatusNotInitialized = 1,
  StatusAllocFailed = 3,
  StatusInvalidValue = 7,
  StatusArchMismatch = 8,
  StatusExecutionFailed = 13,
  StatusInternalError = 14,
  StatusNotSupported = 15,
};

/// Element types. The simulated device multiplies the first three.
enum DataType : uint32_t {
  TypeF32 = 0,
  TypeF16 = 2,
  TypeBf16 = 14,
  TypeF64 = 1,
  TypeI8 = 3,
  TypeI32 = 10,
  TypeF8E4M3 = 28,
  TypeF8E5M2 = 29,
};

enum ComputeType : uint32_t {
  Compute16F = 64,
  Compute32F = 68,
  Compute32FPedantic = 69,
  Compute64F = 70,
  Compute32I = 72,
  Compute32FFast16F = 74,
  Compute32FFast16BF = 75,
  Compute32FFastTF32 = 77,
};

enum Transpose : uint32_t { TransposeNo = 0, TransposeYes = 1, TransposeConjugate = 2 };

enum FillMode : uint32_t { FillLower = 0, FillUpper = 1, FillFull = 2 };

/// Which of a matrix's dimensions is contiguous. Both descriptions use the leading dimension for
/// the other.
enum Order : uint32_t { OrderColumn = 0, OrderRow = 1 };

enum PointerMode : uint32_t {
  PointerModeHost = 0,
  PointerModeDevice = 1,
  PointerModeDeviceVector = 2,
};

enum BatchMode : uint32_t { BatchStrided = 0, BatchPointerArray = 1 };

/// What happens to a product before it is stored. Bits: the combinations are the library's.
enum Epilogue : uint32_t {
  EpilogueDefault = 1,
  EpilogueRelu = 2,
  EpilogueBias = 4,
  EpilogueReluBias = 6,
  EpilogueReluAux = 130,
  EpilogueReluAuxBias = 134,
  EpilogueDRelu = 136,
  EpilogueDReluBGrad = 152,
  EpilogueGelu = 32,
  EpilogueGeluBias = 36,
  EpilogueGeluAux = 160,
  EpilogueGeluAuxBias = 164,
  EpilogueDGelu = 192,
  EpilogueDGeluBGrad = 208,
  EpilogueBGradA = 256,
  EpilogueBGradB = 512,
};

enum LayoutAttribute : uint32_t {
  LayoutType = 0,             // uint32_t, DataType
  LayoutOrder = 1,            // int32_t, Order
  LayoutRows = 2,             // uint64_t
  LayoutColumns = 3,          // uint64_t
  LayoutLeadingDimension = 4, // int64_t, elements
  LayoutBatchCount = 5,       // int32_t
  LayoutBatchStride = 6,      // int64_t, elements
  LayoutPlaneOffset = 7,      // int64_t, bytes; complex numbers only
  LayoutBatchMode = 8,        // uint32_t, BatchMode
};

enum MatmulAttribute : uint32_t {
  MatmulComputeType = 0,          // int32_t
  MatmulScaleType = 1,            // int32_t, DataType of alpha and beta
  MatmulPointerMode = 2,          // int32_t
  MatmulTransposeA = 3,           // int32_t
  MatmulTransposeB = 4,           // int32_t
  MatmulTransposeC = 5,           // int32_t
  MatmulFillMode = 6,             // int32_t
  MatmulEpilogue = 7,             // uint32_t
  MatmulBiasPointer = 8,          // void *: bias, or gradient of the bias
  MatmulBiasBatchStride = 10,     // int64_t, elements
  MatmulAuxPointer = 11,          // void *: values before the activation
  MatmulAuxLeadingDimension = 12, // int64_t, elements
  MatmulAuxBatchStride = 13,      // int64_t, elements
  MatmulAlphaBatchStride = 14,    // int64_t
  MatmulSmCountTarget = 15,       // int32_t
  MatmulScaleA = 17,              // device pointers of scales, 8-bit types only
  MatmulScaleB = 18,
  MatmulScaleC = 19,
  MatmulScaleD = 20,
  MatmulAmaxD = 21,
  MatmulAuxType = 22, // int32_t, DataType or -1
  MatmulAuxScale = 23,
  MatmulAuxAmax = 24,
  MatmulFastAccumulation = 25, // int8_t
  MatmulBiasType = 26,         // int32_t, DataType or -1
};

enum PreferenceAttribute : uint32_t {
  PreferenceSearchMode = 0,    // uint32_t
  PreferenceMaxWorkspace = 1,  // uint64_t, bytes
  PreferenceReductionMask = 3, // uint32_t
  PreferenceAlignmentA = 5,    // uint32_t, bytes
  PreferenceAlignmentB = 6,
  PreferenceAlignmentC = 7,
  PreferenceAlignmentD = 8,
  PreferenceMaxWaves = 9,            // float
  PreferenceImplementationMask = 12, // uint64_t
};

// Descriptors. Their contents are the library's business, their sizes are part of the interface.
struct MatrixLayoutDescription {
  uint64_t data[8];
};
struct MatmulDescription {
  uint64_t data[32];
};
struct PreferenceDescription {
  uint64_t data[8];
};
struct Algorithm {
  uint64_t data[8];
};

/// One proposal of the heuristic. `workspaceBytes` must be passed to the product.
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspaceBytes;
  Status state;
  float waves;
  int reserved[4];
};

using Handle = struct HandleContents *;
using MatrixLayout = MatrixLayoutDescription *;
using Matmul = MatmulDescription *;
using Preference = PreferenceDescription *;
using Stream = CUstream_st *;

// clang-format off
/// FUNCTION(name, result, (parameters)) for each function used.
#define ULSC_CUBLASLT_FUNCTIONS(FUNCTION)                                                          \
  FUNCTION(cublasLtCreate, Status, (Handle *handle))                                               \
  FUNCTION(cublasLtDestroy, Status, (Handle handle))                                               \
  FUNCTION(cublasLtGetVersion, size_t, ())                                                         \
  FUNCTION(cublasLtGetStatusName, const char *, (Status status))                                   \
  FUNCTION(cublasLtGetStatusString, const char *, (Status status))                                 \
  FUNCTION(cublasLtMatmulDescCreate, Status,                                                       \
           (Matmul *matmul, ComputeType compute, DataType scale))                                  \
  FUNCTION(cublasLtMatmulDescDestroy, Status, (Matmul matmul))                                     \
  FUNCTION(cublasLtMatmulDescSetAttribute, Status,                                                 \
           (Matmul matmul, MatmulAttribute attribute, const void *value, size_t bytes))            \
  FUNCTION(cublasLtMatmulDescGetAttribute, Status,                                                 \
           (Matmul matmul, MatmulAttribute attribute, void *value, size_t bytes, size_t *written)) \
  FUNCTION(cublasLtMatrixLayoutCreate, Status,                                                     \
           (MatrixLayout *layout, DataType type, uint64_t rows, uint64_t columns,                  \
            int64_t leadingDimension))                                                             \
  FUNCTION(cublasLtMatrixLayoutDestroy, Status, (MatrixLayout layout))                             \
  FUNCTION(cublasLtMatrixLayoutSetAttribute, Status,                                               \
           (MatrixLayout layout, LayoutAttribute attribute, const void *value, size_t bytes))      \
  FUNCTION(cublasLtMatrixLayoutGetAttribute, Status,                                               \
           (MatrixLayout layout, LayoutAttribute attribute, void *value, size_t bytes,             \
            size_t *written))                                                                      \
  FUNCTION(cublasLtMatmulPreferenceCreate, Status, (Preference *preference))                       \
  FUNCTION(cublasLtMatmulPreferenceDestroy, Status, (Preference preference))                       \
  FUNCTION(cublasLtMatmulPreferenceSetAttribute, Status,                                           \
           (Preference preference, PreferenceAttribute attribute, const void *value,               \
            size_t bytes))                                                                         \
  FUNCTION(cublasLtMatmulAlgoGetHeuristic, Status,                                                 \
           (Handle handle, Matmul matmul, MatrixLayout a, MatrixLayout b, MatrixLayout c,          \
            MatrixLayout d, Preference preference, int requested, HeuristicResult *results,        \
            int *returned))                                                                        \
  FUNCTION(cublasLtMatmul, Status,                                                                 \
           (Handle handle, Matmul matmul, const void *alpha, const void *a, MatrixLayout aLayout,  \
            const void *b, MatrixLayout bLayout, const void *beta, const void *c,                  \
            MatrixLayout cLayout, void *d, MatrixLayout dLayout, const Algorithm *algorithm,       \
            void *workspace, size_t workspaceBytes, Stream stream))
// clang-format on

} // namespace ulsc::cublaslt

#endif // ULSC_RUNTIME_CUDA_CUBLASLT_API_H
