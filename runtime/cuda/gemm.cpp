#include "cuda/gemm.h"

#include "core/epilogue.h"
#include "core/error.h"

#include <algorithm>
#include <utility>

// cuBLASLt thinks of matrices as columns, ulsc_gemm as rows: c^T = b^T a^T has the same bytes.

namespace ulsc::runtime {

using namespace cublaslt;

struct CudaGemm::Library {
  VendorLibrary library{libraryName,
                        "it is part of cuBLAS of CUDA 13, as the packages libcublas-13-0 or "
                        "nvidia-cublas bring it; its folder has to be in LD_LIBRARY_PATH"};
  ULSC_CUBLASLT_FUNCTIONS(ULSC_VENDOR_FUNCTION)

  void check(Status status, const char *function) const {
    if (status != StatusSuccess)
      raise(function, " failed: ", cublasLtGetStatusString(status));
  }
};

namespace {

/// A matrix of the formula as the library sees it, in columns.
struct Operand {
  uint64_t rows, columns;
  int64_t leading, batchStride;
  bool isTransposed; // of what the product needs
};

/// The matrix of `rows` x `columns`, columns first, with these strides; `canTranspose` for those
/// that are read.
Operand describe(const char *which, int64_t rows, int64_t columns, int64_t rowStride,
                 int64_t columnStride, int64_t batchStride, bool canTranspose) {
  // The stride of a dimension of one element says nothing.
  if (rows == 1)
    rowStride = 1;
  if (columns == 1)
    columnStride = std::max(rows, rowStride == 1 ? rows : int64_t(1));
  if (rowStride == 1 && columnStride >= rows)
    return {uint64_t(rows), uint64_t(columns), columnStride, batchStride, false};
  if (columns == 1)
    columnStride = 1;
  if (canTranspose && columnStride == 1 && rowStride >= columns)
    return {uint64_t(columns), uint64_t(rows), rowStride, batchStride, true};
  raise("matrix ", which, " of ", rows, " x ", columns, " has strides ", rowStride, " and ",
        columnStride, ", of which none is 1, so cuBLASLt can't multiply it");
}

cublaslt::DataType typeOf(int32_t dtype) {
  return dtype == ULSC_BF16 ? TypeBf16 : dtype == ULSC_F16 ? TypeF16 : TypeF32;
}

/// Which pointer of a call an epilogue takes as what.
enum class Role { None, Input, Output };

/// An epilogue as the library knows it. Its D is c^T, so that D's rows are c's columns, and its
/// first matrix is b^T.
struct EpilogueForm {
  cublaslt::Epilogue value;
  Role bias; ///< the bias, or its gradient
  Role aux;  ///< the values before gelu
};

EpilogueForm epilogueFormOf(const ulsc_gemm_desc &desc) {
  switch (desc.epilogue) {
  case ULSC_EPILOGUE_BIAS:
    return {EpilogueBias, Role::Input, Role::None};
  case ULSC_EPILOGUE_GELU:
    return {EpilogueGeluAuxBias, Role::Input, Role::Output};
  case ULSC_EPILOGUE_GELU_GRAD:
    return {EpilogueDGelu, Role::None, Role::Input};
  case ULSC_EPILOGUE_GELU_BIAS_GRAD:
    return {EpilogueDGeluBGrad, Role::Output, Role::Input};
  case ULSC_EPILOGUE_BIAS_GRAD:
    return {EpilogueBGradA, Role::Output, Role::None};
  case ULSC_EPILOGUE_NONE:
    return {EpilogueDefault, Role::None, Role::None};
  default:
    raise(desc.name, " has epilogue ", desc.epilogue, ", which this runtime doesn't know");
  }
}

/// " with epilogue gelu", or nothing.
std::string describeEpilogue(const ulsc_gemm_desc &desc) {
  const char *name = epilogueName(desc.epilogue);
  return name ? concat(" with epilogue ", name) : std::string();
}

/// What cuBLASLt wants a workspace aligned to, in bytes.
constexpr uintptr_t workspaceAlignment = 256;

/// The largest power of two up to 16 that divides an address.
uint32_t alignmentOf(const void *pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  uint32_t alignment = 16;
  while (address % alignment)
    alignment /= 2;
  return alignment;
}

} // namespace

struct CudaGemm::Plan {
  const Library &library;
  Matmul matmul = nullptr;
  MatrixLayout first = nullptr, second = nullptr, result = nullptr;
  /// c's columns are contiguous: then it is what the library takes as it is.
  bool isByColumns = false;
  EpilogueForm epilogue{EpilogueDefault, Role::None, Role::None};
  HeuristicResult choice{};

  explicit Plan(const Library &library) : library(library) {}
  Plan(const Plan &) = delete;
  ~Plan() {
    for (MatrixLayout layout : {first, second, result})
      if (layout)
        library.cublasLtMatrixLayoutDestroy(layout);
    if (matmul)
      library.cublasLtMatmulDescDestroy(matmul);
  }

  MatrixLayout makeLayout(const ulsc_gemm_desc &desc, const Operand &operand, int32_t dtype) {
    MatrixLayout layout = nullptr;
    library.check(library.cublasLtMatrixLayoutCreate(&layout, typeOf(dtype), operand.rows,
                                                     operand.columns, operand.leading),
                  "cublasLtMatrixLayoutCreate");
    auto count = static_cast<int32_t>(desc.batch);
    auto set = [&](LayoutAttribute attribute, const void *value, size_t bytes) {
      library.check(library.cublasLtMatrixLayoutSetAttribute(layout, attribute, value, bytes),
                    "cublasLtMatrixLayoutSetAttribute");
    };
    set(LayoutBatchCount, &count, sizeof(count));
    set(LayoutBatchStride, &operand.batchStride, sizeof(operand.batchStride));
    return layout;
  }

  template <typename Value>
  void setAttribute(MatmulAttribute attribute, Value value) {
    library.check(library.cublasLtMatmulDescSetAttribute(matmul, attribute, &value, sizeof(value)),
                  "cublasLtMatmulDescSetAttribute");
  }

  void setEpilogue(const ulsc_gemm_desc &desc) {
    epilogue = epilogueFormOf(desc);
    if (epilogue.value == EpilogueDefault)
      return;
    if (isByColumns || desc.batch != 1 || desc.accumulate)
      raise(desc.name, " has epilogue ", epilogueName(desc.epilogue),
            " and so needs one batch, c by rows and no accumulation; it has ", desc.batch,
            " batches, strides ", desc.c_m, " and ", desc.c_n, ", accumulate ", desc.accumulate);
    setAttribute(MatmulEpilogue, static_cast<uint32_t>(epilogue.value));
    if (epilogue.aux != Role::None)
      setAttribute(MatmulAuxLeadingDimension, desc.n);
  }

  /// The bias of a call or its gradient, or null.
  const void *selectBias(const void *input, const void *output) const {
    return epilogue.bias == Role::None ? nullptr : epilogue.bias == Role::Input ? input : output;
  }

  /// The pointers of a call are attributes of the descriptor, which the library reads when it is
  /// asked for an algorithm and when it multiplies.
  void setPointers(const void *input, const void *output) {
    if (const void *bias = selectBias(input, output))
      setAttribute(MatmulBiasPointer, bias);
    if (epilogue.aux != Role::None)
      setAttribute(MatmulAuxPointer, epilogue.aux == Role::Input ? input : output);
  }

  /// `alignments` of the first and second matrix, the result, and the bias.
  void choose(const ulsc_gemm_desc &desc, Handle handle, const uint32_t (&alignments)[4]) {
    Preference preference = nullptr;
    library.check(library.cublasLtMatmulPreferenceCreate(&preference),
                  "cublasLtMatmulPreferenceCreate");
    auto set = [&](PreferenceAttribute attribute, const void *value, size_t bytes) {
      library.check(
          library.cublasLtMatmulPreferenceSetAttribute(preference, attribute, value, bytes),
          "cublasLtMatmulPreferenceSetAttribute");
    };
    uint64_t workspace = desc.workspace_bytes < int64_t(workspaceAlignment)
                             ? 0
                             : uint64_t(desc.workspace_bytes) - workspaceAlignment;
    set(PreferenceMaxWorkspace, &workspace, sizeof(workspace));
    set(PreferenceAlignmentA, &alignments[0], sizeof(uint32_t));
    set(PreferenceAlignmentB, &alignments[1], sizeof(uint32_t));
    set(PreferenceAlignmentC, &alignments[2], sizeof(uint32_t));
    // No attribute tells the bias' alignment. It is read and written as D is.
    uint32_t alignmentOfD = std::min(alignments[2], alignments[3]);
    set(PreferenceAlignmentD, &alignmentOfD, sizeof(uint32_t));
    int found = 0;
    Status status = library.cublasLtMatmulAlgoGetHeuristic(handle, matmul, first, second, result,
                                                           result, preference, 1, &choice, &found);
    library.cublasLtMatmulPreferenceDestroy(preference);
    if (status != StatusSuccess || found == 0)
      raise(desc.name, ": cuBLASLt has no way to multiply ", desc.batch, " x ", desc.m, " x ",
            desc.k, " by ", desc.k, " x ", desc.n, describeEpilogue(desc), " within ",
            desc.workspace_bytes, " bytes of workspace: ", library.cublasLtGetStatusString(status));
  }
};

CudaGemm::CudaGemm() : library(std::make_unique<Library>()) {
  library->check(library->cublasLtCreate(&handle), "cublasLtCreate");
}

CudaGemm::~CudaGemm() {
  plans.clear();
  if (handle)
    library->cublasLtDestroy(handle);
}

CudaGemm::Plan &CudaGemm::planOf(const ulsc_gemm_desc &desc, const void *a, const void *b,
                                 const void *c, const void *input, const void *output) {
  uint32_t alignments[4] = {alignmentOf(b), alignmentOf(a), alignmentOf(c), 16};
  uint64_t code = alignmentOf(input);
  for (uint64_t alignment : {alignmentOf(output), alignments[0], alignments[1], alignments[2]})
    code = code << 8 | alignment;
  std::unique_ptr<Plan> &kept = plans[{&desc, code}];
  if (kept)
    return *kept;
  auto plan = std::make_unique<Plan>(*library);
  library->check(library->cublasLtMatmulDescCreate(&plan->matmul, Compute32F, TypeF32),
                 "cublasLtMatmulDescCreate");
  plan->isByColumns = desc.n > 1 && desc.c_n != 1 && (desc.c_m == 1 || desc.m == 1);
  auto add = [&](MatmulAttribute attribute, const Operand &operand, int32_t dtype) {
    plan->setAttribute(attribute, int32_t(operand.isTransposed ? TransposeYes : TransposeNo));
    return plan->makeLayout(desc, operand, dtype);
  };
  if (plan->isByColumns) {
    std::swap(alignments[0], alignments[1]);
    plan->first =
        add(MatmulTransposeA, describe("a", desc.m, desc.k, desc.a_m, desc.a_k, desc.a_batch, true),
            desc.a_dtype);
    plan->second =
        add(MatmulTransposeB, describe("b", desc.k, desc.n, desc.b_k, desc.b_n, desc.b_batch, true),
            desc.b_dtype);
    plan->result = plan->makeLayout(
        desc, describe("c", desc.m, desc.n, desc.c_m, desc.c_n, desc.c_batch, false), desc.c_dtype);
  } else {
    // b^T is n x k, a^T is k x m, c^T is n x m.
    plan->first =
        add(MatmulTransposeA, describe("b", desc.n, desc.k, desc.b_n, desc.b_k, desc.b_batch, true),
            desc.b_dtype);
    plan->second =
        add(MatmulTransposeB, describe("a", desc.k, desc.m, desc.a_k, desc.a_m, desc.a_batch, true),
            desc.a_dtype);
    plan->result = plan->makeLayout(
        desc, describe("c", desc.n, desc.m, desc.c_n, desc.c_m, desc.c_batch, false), desc.c_dtype);
  }
  plan->setEpilogue(desc);
  plan->setPointers(input, output);
  alignments[3] = alignmentOf(plan->selectBias(input, output));
  plan->choose(desc, handle, alignments);
  kept = std::move(plan);
  return *kept;
}

void CudaGemm::run(const ulsc_gemm_desc &desc, const void *a, const void *b, void *c,
                   const void *input, void *output, void *workspace, Stream stream) {
  Plan &plan = planOf(desc, a, b, c, input, output);
  plan.setPointers(input, output);
  auto address = (reinterpret_cast<uintptr_t>(workspace) + workspaceAlignment - 1) /
                 workspaceAlignment * workspaceAlignment;
  float alpha = 1.0f, beta = desc.accumulate ? 1.0f : 0.0f;
  const void *first = plan.isByColumns ? a : b, *second = plan.isByColumns ? b : a;
  Status status = library->cublasLtMatmul(handle, plan.matmul, &alpha, first, plan.first, second,
                                          plan.second, &beta, c, plan.result, c, plan.result,
                                          &plan.choice.algorithm, reinterpret_cast<void *>(address),
                                          plan.choice.workspaceBytes, stream);
  if (status != StatusSuccess)
    raise(desc.name, describeEpilogue(desc),
          ": cublasLtMatmul failed: ", library->cublasLtGetStatusString(status));
}

} // namespace ulsc::runtime
