// What the simulated cuBLASLt refuses, with the status and the reason.
#include "matmul_case.h"

#include "simulator/core/memory.h"
#include "simulator/core/report.h"
#include "simulator/core/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace ulsc::simulator::test {
namespace {

using namespace cublaslt;
using testing::HasSubstr;

/// One thing that is wrong, and the answer.
struct Refusal {
  const char *reason; ///< a part of the message
  cublaslt::Status status;
  std::function<void(MatmulRun &)> spoil; ///< before the heuristic is asked
  MatmulCase given = {};
};

MatmulCase with(Epilogue epilogue) {
  MatmulCase given;
  given.epilogue = epilogue;
  return given;
}

MatmulCase batched(MatmulCase given = {}) {
  given.batch = 2;
  return given;
}

MatmulCase byRows(MatmulCase given) {
  given.rowMajorD = true;
  return given;
}

const std::vector<Refusal> &shapeRefusals() {
  static const std::vector<Refusal> refusals = {
      {"the layout of A is null", StatusInvalidValue, [](MatmulRun &r) { r.aLayout = nullptr; }},
      {"the layout of D is null", StatusInvalidValue, [](MatmulRun &r) { r.dLayout = nullptr; }},
      {"the matmul descriptor is null", StatusInvalidValue,
       [](MatmulRun &r) { r.matmul = nullptr; }},
      {"the preference is null", StatusInvalidValue, [](MatmulRun &r) { r.preference = nullptr; }},
      {"the handle was not created", StatusNotInitialized,
       [](MatmulRun &r) { r.handle = nullptr; }},
      {"A has no elements", StatusInvalidValue,
       [](MatmulRun &r) { r.set(r.aLayout, LayoutColumns, uint64_t(0)); }},
      {"a dimension above 2^31 - 1", StatusNotSupported,
       [](MatmulRun &r) { r.set(r.bLayout, LayoutColumns, uint64_t(1) << 31); }},
      {"the leading dimension of A is 15, less than its rows, 16", StatusInvalidValue,
       [](MatmulRun &r) { r.set(r.aLayout, LayoutLeadingDimension, int64_t(15)); }},
      {"less than its columns, 8", StatusInvalidValue,
       [](MatmulRun &r) {
         r.set(r.dLayout, LayoutOrder, int32_t(OrderRow));
         r.set(r.dLayout, LayoutLeadingDimension, int64_t(7));
       }},
      {"op(A) has 24 columns and op(B) 23 rows", StatusInvalidValue,
       [](MatmulRun &r) { r.set(r.bLayout, LayoutRows, uint64_t(23)); }},
      {"op(A) has 16 columns", StatusInvalidValue,
       [](MatmulRun &r) { r.set(MatmulTransposeA, int32_t(TransposeYes)); }},
      {"the transposition of B is 3", StatusInvalidValue,
       [](MatmulRun &r) { r.set(MatmulTransposeB, int32_t(3)); }},
      {"D is 15x8, the product 16x8", StatusInvalidValue,
       [](MatmulRun &r) { r.set(r.dLayout, LayoutRows, uint64_t(15)); }},
      {"C is 16x7, the product 16x8", StatusInvalidValue,
       [](MatmulRun &r) { r.set(r.cLayout, LayoutColumns, uint64_t(7)); }},
      {"C and D have different orders", StatusNotSupported,
       [](MatmulRun &r) {
         r.set(r.cLayout, LayoutOrder, int32_t(OrderRow));
         r.set(r.cLayout, LayoutLeadingDimension, int64_t(16));
       }},
      {"the batch count of A is 0", StatusInvalidValue,
       [](MatmulRun &r) { r.set(r.aLayout, LayoutBatchCount, int32_t(0)); }},
      {"the batch count of B is 3, that of D 2", StatusInvalidValue,
       [](MatmulRun &r) { r.set(r.bLayout, LayoutBatchCount, int32_t(3)); }, batched()},
  };
  return refusals;
}

const std::vector<Refusal> &typeRefusals() {
  static const std::vector<Refusal> refusals = {
      {"A is bf16 and B f32", StatusNotSupported,
       [](MatmulRun &r) { r.set(r.aLayout, LayoutType, uint32_t(TypeBf16)); }},
      {"C is f16 and D f32", StatusNotSupported,
       [](MatmulRun &r) { r.set(r.cLayout, LayoutType, uint32_t(TypeF16)); }},
      {"D is f16 where A and B are f32", StatusNotSupported,
       [](MatmulRun &r) {
         r.set(r.cLayout, LayoutType, uint32_t(TypeF16));
         r.set(r.dLayout, LayoutType, uint32_t(TypeF16));
       }},
      {"TF32 products take f32, not bf16", StatusNotSupported,
       [](MatmulRun &r) {
         r.set(MatmulComputeType, int32_t(Compute32FFastTF32));
         r.set(r.aLayout, LayoutType, uint32_t(TypeBf16));
         r.set(r.bLayout, LayoutType, uint32_t(TypeBf16));
       }},
      {"scale type bf16", StatusNotSupported,
       [](MatmulRun &r) { r.set(MatmulScaleType, int32_t(TypeBf16)); }},
  };
  return refusals;
}

const std::vector<Refusal> &epilogueRefusals() {
  static const std::vector<Refusal> refusals = {
      {"takes a D by columns, given by rows", StatusNotSupported, [](MatmulRun &) {},
       byRows(with(EpilogueBias))},
      {"takes a D by columns, given by rows", StatusNotSupported, [](MatmulRun &) {},
       byRows(with(EpilogueGelu))},
      {"CUBLASLT_MATMUL_DESC_BIAS_POINTER, which is null", StatusInvalidValue,
       [](MatmulRun &r) { r.set(MatmulBiasPointer, static_cast<void *>(nullptr)); },
       with(EpilogueBias)},
      {"the bias is bf16 where D is f32", StatusNotSupported,
       [](MatmulRun &r) { r.set(MatmulBiasType, int32_t(TypeBf16)); }, with(EpilogueGeluBias)},
      {"the bias pointer isn't a multiple of 4", StatusInvalidValue,
       [](MatmulRun &r) { r.set(MatmulBiasPointer, static_cast<void *>(r.bias.data + 2)); },
       with(EpilogueBias)},
      {"the bias gradients of a batch overlap", StatusInvalidValue, [](MatmulRun &) {},
       batched(with(EpilogueDGeluBGrad))},
      {"the bias gradients of a batch overlap", StatusInvalidValue, [](MatmulRun &) {},
       batched(with(EpilogueBGradB))},
      {"EPILOGUE_AUX_POINTER, which is null", StatusInvalidValue,
       [](MatmulRun &r) { r.set(MatmulAuxPointer, static_cast<void *>(nullptr)); },
       with(EpilogueGeluAux)},
      {"the aux matrix is f16 where D is f32", StatusNotSupported,
       [](MatmulRun &r) { r.set(MatmulAuxType, int32_t(TypeF16)); }, with(EpilogueDGelu)},
      {"the leading dimension of the aux matrix is 8", StatusInvalidValue,
       [](MatmulRun &r) { r.set(MatmulAuxLeadingDimension, int64_t(8)); }, with(EpilogueDGelu)},
      {"the leading dimension of the aux matrix is 20", StatusInvalidValue,
       [](MatmulRun &r) { r.set(MatmulAuxLeadingDimension, int64_t(20)); }, with(EpilogueGeluAux)},
      {"the batch stride of the aux matrix, 196", StatusInvalidValue,
       [](MatmulRun &r) { r.set(MatmulAuxBatchStride, int64_t(196)); }, with(EpilogueGeluAux)},
      {"the aux pointer isn't a multiple of 16", StatusInvalidValue,
       [](MatmulRun &r) { r.set(MatmulAuxPointer, static_cast<void *>(r.aux.data + 8)); },
       with(EpilogueGeluAux)},
  };
  return refusals;
}

void expectRefusals(const std::vector<Refusal> &refusals) {
  for (const Refusal &refusal : refusals) {
    MatmulRun run(refusal.given);
    refusal.spoil(run);
    EXPECT_EQ(run.propose(), refusal.status) << refusal.reason;
    EXPECT_THAT(ulsc_simulator_cublaslt_refusal(), HasSubstr(refusal.reason));
    if (!run.preference) // the call itself takes none
      continue;
    EXPECT_EQ(run.call(), refusal.status) << refusal.reason;
    EXPECT_THAT(ulsc_simulator_cublaslt_refusal(), HasSubstr(refusal.reason));
  }
}

TEST(MatmulRefusals, Shapes) { expectRefusals(shapeRefusals()); }
TEST(MatmulRefusals, Types) { expectRefusals(typeRefusals()); }
TEST(MatmulRefusals, Epilogues) { expectRefusals(epilogueRefusals()); }

/// Wrong only in what is passed to the call, after a good proposal.
void expectCallRefused(MatmulCase given, const char *reason,
                       const std::function<void(MatmulRun &)> &spoil) {
  MatmulRun run(given);
  ASSERT_EQ(run.propose(), StatusSuccess);
  auto keep = std::tuple(run.a.data, run.c.data, run.d.data, run.workspace, run.alpha, run.beta);
  spoil(run);
  EXPECT_EQ(run.call(), StatusInvalidValue) << reason;
  EXPECT_THAT(ulsc_simulator_cublaslt_refusal(), HasSubstr(reason));
  std::tie(run.a.data, run.c.data, run.d.data, run.workspace, run.alpha, run.beta) = keep;
}

TEST(MatmulRefusals, Operands) {
  MatmulCase given;
  expectCallRefused(given, "A is null", [](MatmulRun &r) { r.a.data = nullptr; });
  expectCallRefused(given, "C is null", [](MatmulRun &r) { r.c.data = nullptr; });
  expectCallRefused(given, "D is null", [](MatmulRun &r) { r.d.data = nullptr; });
  expectCallRefused(given, "alpha or beta is null", [](MatmulRun &r) { r.alpha = nullptr; });
  expectCallRefused(given, "alpha or beta is null", [](MatmulRun &r) { r.beta = nullptr; });
  expectCallRefused(given, "A is aligned to 4 bytes", [](MatmulRun &r) { r.a.data += 4; });
  expectCallRefused(given, "C and D are one pointer with different layouts",
                    [](MatmulRun &r) { r.set(r.cLayout, LayoutLeadingDimension, int64_t(20)); });
  given = batched();
  expectCallRefused(given, "the elements of D overlap in a batch", [](MatmulRun &r) {
    r.set(r.cLayout, LayoutBatchStride, int64_t(64));
    r.set(r.dLayout, LayoutBatchStride, int64_t(64));
  });
}

TEST(MatmulRefusals, Workspace) {
  MatmulCase given;
  given.maxWorkspace = 4096;
  expectCallRefused(given, "the workspace is null", [](MatmulRun &r) { r.workspace = nullptr; });
  expectCallRefused(given, "the workspace has 256 bytes, the algorithm needs 512",
                    [](MatmulRun &r) { r.workspaceBytes = 256; });
  expectCallRefused(given, "the workspace isn't aligned to 256 bytes",
                    [](MatmulRun &r) { r.workspace = static_cast<char *>(r.workspace) + 128; });
}

TEST(MatmulRefusals, AnAlgorithmOfAnotherProduct) {
  MatmulCase other;
  other.transposeA = true;
  MatmulRun otherRun(other);
  ASSERT_EQ(otherRun.propose(), StatusSuccess);
  expectCallRefused({}, "chosen for other types, transpositions, orders",
                    [&](MatmulRun &r) { r.algorithm = otherRun.algorithm; });
  Algorithm empty{};
  expectCallRefused({}, "not made by cublasLtMatmulAlgoGetHeuristic",
                    [&](MatmulRun &r) { r.algorithm = &empty; });
}

TEST(MatmulRefusals, AttributeSizes) {
  MatmulRun run({});
  EXPECT_EQ(run.set(MatmulTransposeA, int64_t(0)), StatusInvalidValue);
  EXPECT_EQ(run.set(run.aLayout, LayoutRows, uint32_t(16)), StatusInvalidValue);
  EXPECT_EQ(run.set(PreferenceMaxWorkspace, uint32_t(1)), StatusInvalidValue);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(run.matmul, MatmulEpilogue, nullptr, 4),
            StatusInvalidValue);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(nullptr, MatmulEpilogue, nullptr, 4),
            StatusInvalidValue);
  EXPECT_EQ(cublasLtCreate(nullptr), StatusInvalidValue);
  EXPECT_EQ(cublasLtDestroy(nullptr), StatusNotInitialized);
  EXPECT_EQ(cublasLtMatmulDescDestroy(nullptr), StatusInvalidValue);
  int returned = 0;
  EXPECT_EQ(cublasLtMatmulAlgoGetHeuristic(run.handle, run.matmul, run.aLayout, run.bLayout,
                                           run.cLayout, run.dLayout, run.preference, 0, nullptr,
                                           &returned),
            StatusInvalidValue);
}

TEST(MatmulAttributes, CanBeReadBack) {
  MatmulRun run(with(EpilogueGelu));
  uint32_t epilogue = 0;
  size_t written = 0;
  ASSERT_EQ(cublasLtMatmulDescGetAttribute(run.matmul, MatmulEpilogue, &epilogue, 4, &written),
            StatusSuccess);
  EXPECT_EQ(epilogue, EpilogueGelu);
  EXPECT_EQ(written, 4u);
  ASSERT_EQ(cublasLtMatmulDescGetAttribute(run.matmul, MatmulBiasPointer, nullptr, 0, &written),
            StatusSuccess);
  EXPECT_EQ(written, 8u);
  EXPECT_EQ(cublasLtMatmulDescGetAttribute(run.matmul, MatmulEpilogue, &epilogue, 2, &written),
            StatusInvalidValue);
  int64_t stride = 1;
  ASSERT_EQ(
      cublasLtMatrixLayoutGetAttribute(run.aLayout, LayoutLeadingDimension, &stride, 8, &written),
      StatusSuccess);
  EXPECT_EQ(stride, 16);
  EXPECT_STREQ(cublasLtGetStatusName(StatusNotSupported), "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT_EQ(cublasLtGetVersion() / 10000, 13u);
}

TEST(MatmulHeuristic, PromisesWhatThePreferenceAllows) {
  MatmulCase given;
  given.maxWorkspace = 4096;
  MatmulRun run(given);
  ASSERT_EQ(run.propose(), StatusSuccess);
  ASSERT_EQ(run.proposals.size(), 2u);
  EXPECT_EQ(run.proposals[0].workspaceBytes, 512u); // 16 x 8 x 4
  EXPECT_EQ(run.proposals[1].workspaceBytes, 0u);
  run.set(PreferenceReductionMask, uint32_t(1));
  ASSERT_EQ(run.propose(), StatusSuccess);
  EXPECT_EQ(run.proposals.size(), 1u);
  run.set(PreferenceAlignmentB, uint32_t(2));
  EXPECT_EQ(run.propose(), StatusNotSupported);
}

TEST(MatmulHeuristic, SmallAlignmentsAllowUnalignedOperands) {
  MatmulCase given;
  MatmulRun run(given);
  for (PreferenceAttribute attribute : {PreferenceAlignmentA, PreferenceAlignmentB})
    run.set(attribute, uint32_t(4));
  ASSERT_EQ(run.propose(), StatusSuccess);
  DeviceMatrix shifted = run.a;
  shifted.data += 4;
  markValues(run.a.data, run.a.bytes);
  std::swap(run.a.data, shifted.data);
  run.set(run.aLayout, LayoutRows, uint64_t(16));
  run.set(run.aLayout, LayoutColumns, uint64_t(23)); // stays within the allocation
  run.set(run.bLayout, LayoutRows, uint64_t(23));
  EXPECT_EQ(run.call(), StatusSuccess) << ulsc_simulator_cublaslt_refusal();
  synchronizeDevice();
  std::swap(run.a.data, shifted.data);
}

} // namespace
} // namespace ulsc::simulator::test
