// Our declarations of cuBLASLt and NCCL against the vendors' headers, at compile time. Built only
// where those are installed; running it says nothing more.
#include "vendor_signatures.h"

#include "cuda/cublaslt_api.h"
#include "cuda/nccl_api.h"

#include <cublasLt.h>
#include <nccl.h>

namespace {

namespace lt = ulsc::cublaslt;
namespace ours = ulsc::nccl;

} // namespace

namespace ulsc::cublaslt {
ULSC_CUBLASLT_FUNCTIONS(ULSC_CHECK)
} // namespace ulsc::cublaslt

namespace ulsc::nccl {
ULSC_NCCL_FUNCTIONS(ULSC_CHECK)
} // namespace ulsc::nccl

ULSC_SAME(lt::StatusSuccess, CUBLAS_STATUS_SUCCESS);
ULSC_SAME(lt::StatusNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
ULSC_SAME(lt::StatusAllocFailed, CUBLAS_STATUS_ALLOC_FAILED);
ULSC_SAME(lt::StatusInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
ULSC_SAME(lt::StatusArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
ULSC_SAME(lt::StatusExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
ULSC_SAME(lt::StatusInternalError, CUBLAS_STATUS_INTERNAL_ERROR);
ULSC_SAME(lt::StatusNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);

ULSC_SAME(lt::TypeF32, CUDA_R_32F);
ULSC_SAME(lt::TypeF16, CUDA_R_16F);
ULSC_SAME(lt::TypeBf16, CUDA_R_16BF);
ULSC_SAME(lt::TypeF64, CUDA_R_64F);
ULSC_SAME(lt::TypeI8, CUDA_R_8I);
ULSC_SAME(lt::TypeI32, CUDA_R_32I);
ULSC_SAME(lt::TypeF8E4M3, CUDA_R_8F_E4M3);
ULSC_SAME(lt::TypeF8E5M2, CUDA_R_8F_E5M2);

ULSC_SAME(lt::Compute16F, CUBLAS_COMPUTE_16F);
ULSC_SAME(lt::Compute32F, CUBLAS_COMPUTE_32F);
ULSC_SAME(lt::Compute32FPedantic, CUBLAS_COMPUTE_32F_PEDANTIC);
ULSC_SAME(lt::Compute64F, CUBLAS_COMPUTE_64F);
ULSC_SAME(lt::Compute32I, CUBLAS_COMPUTE_32I);
ULSC_SAME(lt::Compute32FFast16F, CUBLAS_COMPUTE_32F_FAST_16F);
ULSC_SAME(lt::Compute32FFast16BF, CUBLAS_COMPUTE_32F_FAST_16BF);
ULSC_SAME(lt::Compute32FFastTF32, CUBLAS_COMPUTE_32F_FAST_TF32);

ULSC_SAME(lt::TransposeNo, CUBLAS_OP_N);
ULSC_SAME(lt::TransposeYes, CUBLAS_OP_T);
ULSC_SAME(lt::TransposeConjugate, CUBLAS_OP_C);
ULSC_SAME(lt::FillLower, CUBLAS_FILL_MODE_LOWER);
ULSC_SAME(lt::FillUpper, CUBLAS_FILL_MODE_UPPER);
ULSC_SAME(lt::FillFull, CUBLAS_FILL_MODE_FULL);
ULSC_SAME(lt::OrderColumn, CUBLASLT_ORDER_COL);
ULSC_SAME(lt::OrderRow, CUBLASLT_ORDER_ROW);
ULSC_SAME(lt::PointerModeHost, CUBLASLT_POINTER_MODE_HOST);
ULSC_SAME(lt::PointerModeDevice, CUBLASLT_POINTER_MODE_DEVICE);
ULSC_SAME(lt::PointerModeDeviceVector, CUBLASLT_POINTER_MODE_DEVICE_VECTOR);
ULSC_SAME(lt::BatchStrided, CUBLASLT_BATCH_MODE_STRIDED);
ULSC_SAME(lt::BatchPointerArray, CUBLASLT_BATCH_MODE_POINTER_ARRAY);

ULSC_SAME(lt::EpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT);
ULSC_SAME(lt::EpilogueRelu, CUBLASLT_EPILOGUE_RELU);
ULSC_SAME(lt::EpilogueBias, CUBLASLT_EPILOGUE_BIAS);
ULSC_SAME(lt::EpilogueReluBias, CUBLASLT_EPILOGUE_RELU_BIAS);
ULSC_SAME(lt::EpilogueReluAux, CUBLASLT_EPILOGUE_RELU_AUX);
ULSC_SAME(lt::EpilogueReluAuxBias, CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
ULSC_SAME(lt::EpilogueDRelu, CUBLASLT_EPILOGUE_DRELU);
ULSC_SAME(lt::EpilogueDReluBGrad, CUBLASLT_EPILOGUE_DRELU_BGRAD);
ULSC_SAME(lt::EpilogueGelu, CUBLASLT_EPILOGUE_GELU);
ULSC_SAME(lt::EpilogueGeluBias, CUBLASLT_EPILOGUE_GELU_BIAS);
ULSC_SAME(lt::EpilogueGeluAux, CUBLASLT_EPILOGUE_GELU_AUX);
ULSC_SAME(lt::EpilogueGeluAuxBias, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
ULSC_SAME(lt::EpilogueDGelu, CUBLASLT_EPILOGUE_DGELU);
ULSC_SAME(lt::EpilogueDGeluBGrad, CUBLASLT_EPILOGUE_DGELU_BGRAD);
ULSC_SAME(lt::EpilogueBGradA, CUBLASLT_EPILOGUE_BGRADA);
ULSC_SAME(lt::EpilogueBGradB, CUBLASLT_EPILOGUE_BGRADB);

ULSC_SAME(lt::LayoutType, CUBLASLT_MATRIX_LAYOUT_TYPE);
ULSC_SAME(lt::LayoutOrder, CUBLASLT_MATRIX_LAYOUT_ORDER);
ULSC_SAME(lt::LayoutRows, CUBLASLT_MATRIX_LAYOUT_ROWS);
ULSC_SAME(lt::LayoutColumns, CUBLASLT_MATRIX_LAYOUT_COLS);
ULSC_SAME(lt::LayoutLeadingDimension, CUBLASLT_MATRIX_LAYOUT_LD);
ULSC_SAME(lt::LayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
ULSC_SAME(lt::LayoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
ULSC_SAME(lt::LayoutPlaneOffset, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET);
ULSC_SAME(lt::LayoutBatchMode, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE);

ULSC_SAME(lt::MatmulComputeType, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
ULSC_SAME(lt::MatmulScaleType, CUBLASLT_MATMUL_DESC_SCALE_TYPE);
ULSC_SAME(lt::MatmulPointerMode, CUBLASLT_MATMUL_DESC_POINTER_MODE);
ULSC_SAME(lt::MatmulTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
ULSC_SAME(lt::MatmulTransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
ULSC_SAME(lt::MatmulTransposeC, CUBLASLT_MATMUL_DESC_TRANSC);
ULSC_SAME(lt::MatmulFillMode, CUBLASLT_MATMUL_DESC_FILL_MODE);
ULSC_SAME(lt::MatmulEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
ULSC_SAME(lt::MatmulBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
ULSC_SAME(lt::MatmulBiasBatchStride, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
ULSC_SAME(lt::MatmulAuxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
ULSC_SAME(lt::MatmulAuxLeadingDimension, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
ULSC_SAME(lt::MatmulAuxBatchStride, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE);
ULSC_SAME(lt::MatmulAlphaBatchStride, CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE);
ULSC_SAME(lt::MatmulSmCountTarget, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET);
ULSC_SAME(lt::MatmulScaleA, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
ULSC_SAME(lt::MatmulScaleB, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
ULSC_SAME(lt::MatmulScaleC, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER);
ULSC_SAME(lt::MatmulScaleD, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER);
ULSC_SAME(lt::MatmulAmaxD, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER);
ULSC_SAME(lt::MatmulAuxType, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE);
ULSC_SAME(lt::MatmulAuxScale, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER);
ULSC_SAME(lt::MatmulAuxAmax, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER);
ULSC_SAME(lt::MatmulFastAccumulation, CUBLASLT_MATMUL_DESC_FAST_ACCUM);
ULSC_SAME(lt::MatmulBiasType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);

ULSC_SAME(lt::PreferenceSearchMode, CUBLASLT_MATMUL_PREF_SEARCH_MODE);
ULSC_SAME(lt::PreferenceMaxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
ULSC_SAME(lt::PreferenceReductionMask, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
ULSC_SAME(lt::PreferenceAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
ULSC_SAME(lt::PreferenceAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
ULSC_SAME(lt::PreferenceAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
ULSC_SAME(lt::PreferenceAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
ULSC_SAME(lt::PreferenceMaxWaves, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT);
ULSC_SAME(lt::PreferenceImplementationMask, CUBLASLT_MATMUL_PREF_IMPL_MASK);

static_assert(sizeof(lt::MatrixLayoutDescription) == sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(lt::MatmulDescription) == sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(lt::PreferenceDescription) == sizeof(cublasLtMatmulPreferenceOpaque_t));
static_assert(sizeof(lt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(lt::HeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(lt::HeuristicResult, workspaceBytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(lt::HeuristicResult, state) ==
              offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(lt::HeuristicResult, waves) ==
              offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

ULSC_SAME(ours::Success, ncclSuccess);
ULSC_SAME(ours::UnhandledCudaError, ncclUnhandledCudaError);
ULSC_SAME(ours::SystemError, ncclSystemError);
ULSC_SAME(ours::InternalError, ncclInternalError);
ULSC_SAME(ours::InvalidArgument, ncclInvalidArgument);
ULSC_SAME(ours::InvalidUsage, ncclInvalidUsage);
ULSC_SAME(ours::RemoteError, ncclRemoteError);
ULSC_SAME(ours::InProgress, ncclInProgress);

ULSC_SAME(ours::TypeInt8, ncclInt8);
ULSC_SAME(ours::TypeUint8, ncclUint8);
ULSC_SAME(ours::TypeInt32, ncclInt32);
ULSC_SAME(ours::TypeUint32, ncclUint32);
ULSC_SAME(ours::TypeInt64, ncclInt64);
ULSC_SAME(ours::TypeUint64, ncclUint64);
ULSC_SAME(ours::TypeFloat16, ncclFloat16);
ULSC_SAME(ours::TypeFloat32, ncclFloat32);
ULSC_SAME(ours::TypeFloat64, ncclFloat64);
ULSC_SAME(ours::TypeBfloat16, ncclBfloat16);
ULSC_SAME(ours::TypeFloat8E4M3, ncclFloat8e4m3);
ULSC_SAME(ours::TypeFloat8E5M2, ncclFloat8e5m2);

ULSC_SAME(ours::Sum, ncclSum);
ULSC_SAME(ours::Product, ncclProd);
ULSC_SAME(ours::Max, ncclMax);
ULSC_SAME(ours::Min, ncclMin);
ULSC_SAME(ours::Average, ncclAvg);
ULSC_SAME(ours::splitNoColor, NCCL_SPLIT_NOCOLOR);
ULSC_SAME(ours::undefinedInt, NCCL_CONFIG_UNDEF_INT);
ULSC_SAME(ours::versionCode, NCCL_VERSION_CODE);

static_assert(sizeof(ours::UniqueId) == sizeof(ncclUniqueId));
static_assert(sizeof(ours::Config) == sizeof(ncclConfig_t));
static_assert(offsetof(ours::Config, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(ours::Config, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(ours::Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(ours::Config, netName) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(ours::Config, splitShare) == offsetof(ncclConfig_t, splitShare));
static_assert(offsetof(ours::Config, commName) == offsetof(ncclConfig_t, commName));
static_assert(offsetof(ours::Config, nvlinkCentricSched) ==
              offsetof(ncclConfig_t, nvlinkCentricSched));

constexpr ncclConfig_t vendorConfig = NCCL_CONFIG_INITIALIZER;
static_assert(vendorConfig.magic == ours::configMagic && vendorConfig.size == sizeof(ours::Config));

int main() { return 0; }
