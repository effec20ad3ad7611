// The contents of cuBLASLt's descriptors, as their attributes set them, and the handles that live.
#ifndef ULSC_RUNTIME_SIMULATOR_CUBLASLT_DESCRIPTORS_H
#define ULSC_RUNTIME_SIMULATOR_CUBLASLT_DESCRIPTORS_H

#include "simulator/cublaslt/refusal.h"

#include "cuda/cublaslt_api.h"

namespace ulsc::simulator {

/// A matrix in memory. Strides are elements.
struct LayoutState {
  uint32_t type = 0;
  int32_t order = cublaslt::OrderColumn;
  uint64_t rows = 0, columns = 0;
  int64_t leadingDimension = 0;
  int32_t batch = 1;
  int64_t batchStride = 0;
};

/// A product D = epilogue(alpha * op(A) * op(B) + beta * C).
struct MatmulState {
  int32_t compute = cublaslt::Compute32F;
  int32_t scaleType = cublaslt::TypeF32;
  int32_t pointerMode = cublaslt::PointerModeHost;
  int32_t transposeA = cublaslt::TransposeNo;
  int32_t transposeB = cublaslt::TransposeNo;
  uint32_t epilogue = cublaslt::EpilogueDefault;
  void *bias = nullptr;
  int64_t biasBatchStride = 0;
  int32_t biasType = -1;
  void *aux = nullptr;
  int64_t auxLeadingDimension = 0;
  int64_t auxBatchStride = 0;
  int32_t auxType = -1;
  int32_t smCountTarget = 0; // a hint about speed: nothing to simulate
};

struct PreferenceState {
  uint64_t maxWorkspaceBytes = 0;
  uint32_t reductionMask = 7;
  uint32_t alignment[4] = {256, 256, 256, 256}; // A, B, C, D; bytes
};

/// Handles and descriptors: created and found by their address, so that one which was destroyed or
/// never created is reported, not read.
cublaslt::Handle createHandle();
bool destroyHandle(cublaslt::Handle handle);
bool isHandle(cublaslt::Handle handle);

cublaslt::MatrixLayout createLayout(const LayoutState &state);
cublaslt::Matmul createMatmul(const MatmulState &state);
cublaslt::Preference createPreference();

/// The state behind a descriptor. Null for a null pointer; a destroyed one is reported.
LayoutState *find(cublaslt::MatrixLayout layout);
MatmulState *find(cublaslt::Matmul matmul);
PreferenceState *find(cublaslt::Preference preference);

/// False for a null pointer; what isn't alive is reported.
bool destroy(cublaslt::MatrixLayout layout);
bool destroy(cublaslt::Matmul matmul);
bool destroy(cublaslt::Preference preference);

Outcome setAttribute(LayoutState &state, cublaslt::LayoutAttribute attribute, const void *value,
                     size_t bytes);
Outcome setAttribute(MatmulState &state, cublaslt::MatmulAttribute attribute, const void *value,
                     size_t bytes);
Outcome setAttribute(PreferenceState &state, cublaslt::PreferenceAttribute attribute,
                     const void *value, size_t bytes);
/// `bytes` 0 asks for the size alone, in `written`.
Outcome getAttribute(LayoutState &state, cublaslt::LayoutAttribute attribute, void *value,
                     size_t bytes, size_t *written);
Outcome getAttribute(MatmulState &state, cublaslt::MatmulAttribute attribute, void *value,
                     size_t bytes, size_t *written);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUBLASLT_DESCRIPTORS_H
