// Attributes of descriptors: which there are, their sizes, and which values the simulated library
// knows. An attribute that it doesn't know ends the process: ignoring it could change a result.
#include "simulator/cublaslt/descriptors.h"

#include "simulator/core/report.h"

#include <cstring>

namespace ulsc::simulator {

namespace {

using namespace cublaslt;

/// One attribute: where its value is kept. `storage` is null for an attribute that has one legal
/// value, its default, which is `bytes` zeros or ones.
struct Field {
  void *storage = nullptr;
  size_t bytes = 0;
  const char *name = "";
  uint64_t onlyValue = 0;
};

Outcome copyIn(const Field &field, const void *value, size_t bytes) {
  if (!value || bytes != field.bytes)
    return invalid(text(field.name, " takes ", field.bytes, " bytes, given ",
                        value ? text(bytes) : std::string("a null pointer")));
  if (field.storage) {
    std::memcpy(field.storage, value, bytes);
    return {};
  }
  uint64_t given = 0;
  std::memcpy(&given, value, bytes);
  if (given != field.onlyValue)
    endUnsupported(text(field.name, " = ", given), text("its default, ", field.onlyValue));
  return {};
}

Outcome copyOut(const Field &field, void *value, size_t bytes, size_t *written) {
  if (bytes == 0) {
    if (!written)
      return invalid("no place for the size");
    *written = field.bytes;
    return {};
  }
  if (!value || bytes != field.bytes)
    return invalid(text(field.name, " has ", field.bytes, " bytes, given ",
                        value ? text(bytes) : std::string("a null pointer")));
  std::memcpy(value, field.storage ? field.storage : &field.onlyValue, bytes);
  if (written)
    *written = bytes;
  return {};
}

template <typename Value>
Field kept(Value &storage, const char *name) {
  return {&storage, sizeof(storage), name, 0};
}

Field fieldOf(LayoutState &state, LayoutAttribute attribute) {
  switch (attribute) {
  case LayoutType:
    return kept(state.type, "CUBLASLT_MATRIX_LAYOUT_TYPE");
  case LayoutOrder:
    return kept(state.order, "CUBLASLT_MATRIX_LAYOUT_ORDER");
  case LayoutRows:
    return kept(state.rows, "CUBLASLT_MATRIX_LAYOUT_ROWS");
  case LayoutColumns:
    return kept(state.columns, "CUBLASLT_MATRIX_LAYOUT_COLS");
  case LayoutLeadingDimension:
    return kept(state.leadingDimension, "CUBLASLT_MATRIX_LAYOUT_LD");
  case LayoutBatchCount:
    return kept(state.batch, "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT");
  case LayoutBatchStride:
    return kept(state.batchStride, "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET");
  case LayoutPlaneOffset:
    return {nullptr, 8, "CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET", 0};
  case LayoutBatchMode:
    return {nullptr, 4, "CUBLASLT_MATRIX_LAYOUT_BATCH_MODE", BatchStrided};
  }
  endUnsupported(text("attribute ", static_cast<uint32_t>(attribute), " of a matrix layout"),
                 "attributes 0 to 8");
}

Field fieldOf(MatmulState &state, MatmulAttribute attribute) {
  switch (attribute) {
  case MatmulComputeType:
    return kept(state.compute, "CUBLASLT_MATMUL_DESC_COMPUTE_TYPE");
  case MatmulScaleType:
    return kept(state.scaleType, "CUBLASLT_MATMUL_DESC_SCALE_TYPE");
  case MatmulPointerMode:
    return kept(state.pointerMode, "CUBLASLT_MATMUL_DESC_POINTER_MODE");
  case MatmulTransposeA:
    return kept(state.transposeA, "CUBLASLT_MATMUL_DESC_TRANSA");
  case MatmulTransposeB:
    return kept(state.transposeB, "CUBLASLT_MATMUL_DESC_TRANSB");
  case MatmulTransposeC:
    return {nullptr, 4, "CUBLASLT_MATMUL_DESC_TRANSC", TransposeNo};
  case MatmulFillMode:
    return {nullptr, 4, "CUBLASLT_MATMUL_DESC_FILL_MODE", FillFull};
  case MatmulEpilogue:
    return kept(state.epilogue, "CUBLASLT_MATMUL_DESC_EPILOGUE");
  case MatmulBiasPointer:
    return kept(state.bias, "CUBLASLT_MATMUL_DESC_BIAS_POINTER");
  case MatmulBiasBatchStride:
    return kept(state.biasBatchStride, "CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE");
  case MatmulAuxPointer:
    return kept(state.aux, "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER");
  case MatmulAuxLeadingDimension:
    return kept(state.auxLeadingDimension, "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD");
  case MatmulAuxBatchStride:
    return kept(state.auxBatchStride, "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE");
  case MatmulAlphaBatchStride:
    return {nullptr, 8, "CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE", 0};
  case MatmulSmCountTarget:
    return kept(state.smCountTarget, "CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET");
  case MatmulScaleA:
  case MatmulScaleB:
  case MatmulScaleC:
  case MatmulScaleD:
  case MatmulAmaxD:
  case MatmulAuxScale:
  case MatmulAuxAmax:
    return {nullptr, 8, "a scale of 8-bit types (attribute of a matmul descriptor)", 0};
  case MatmulAuxType:
    return kept(state.auxType, "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE");
  case MatmulFastAccumulation:
    return {nullptr, 1, "CUBLASLT_MATMUL_DESC_FAST_ACCUM", 0};
  case MatmulBiasType:
    return kept(state.biasType, "CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE");
  }
  endUnsupported(text("attribute ", static_cast<uint32_t>(attribute), " of a matmul descriptor"),
                 "attributes 0 to 8, 10 to 15 and 17 to 26");
}

Field fieldOf(PreferenceState &state, PreferenceAttribute attribute) {
  switch (attribute) {
  case PreferenceSearchMode:
    return {nullptr, 4, "CUBLASLT_MATMUL_PREF_SEARCH_MODE", 0};
  case PreferenceMaxWorkspace:
    return kept(state.maxWorkspaceBytes, "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES");
  case PreferenceReductionMask:
    return kept(state.reductionMask, "CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK");
  case PreferenceAlignmentA:
  case PreferenceAlignmentB:
  case PreferenceAlignmentC:
  case PreferenceAlignmentD:
    return kept(state.alignment[attribute - PreferenceAlignmentA],
                "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_*_BYTES");
  case PreferenceMaxWaves:
    return {nullptr, 4, "CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT", 0};
  case PreferenceImplementationMask:
    return {nullptr, 8, "CUBLASLT_MATMUL_PREF_IMPL_MASK", UINT64_MAX};
  }
  endUnsupported(text("attribute ", static_cast<uint32_t>(attribute), " of a preference"),
                 "attributes 0, 1, 3, 5 to 9 and 12");
}

} // namespace

Outcome setAttribute(LayoutState &state, LayoutAttribute attribute, const void *value,
                     size_t bytes) {
  return copyIn(fieldOf(state, attribute), value, bytes);
}

Outcome setAttribute(MatmulState &state, MatmulAttribute attribute, const void *value,
                     size_t bytes) {
  return copyIn(fieldOf(state, attribute), value, bytes);
}

Outcome setAttribute(PreferenceState &state, PreferenceAttribute attribute, const void *value,
                     size_t bytes) {
  return copyIn(fieldOf(state, attribute), value, bytes);
}

Outcome getAttribute(LayoutState &state, LayoutAttribute attribute, void *value, size_t bytes,
                     size_t *written) {
  return copyOut(fieldOf(state, attribute), value, bytes, written);
}

Outcome getAttribute(MatmulState &state, MatmulAttribute attribute, void *value, size_t bytes,
                     size_t *written) {
  return copyOut(fieldOf(state, attribute), value, bytes, written);
}

} // namespace ulsc::simulator
