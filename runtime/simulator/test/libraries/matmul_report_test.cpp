// What ends a process that uses the simulated cuBLASLt wrongly, and that it names precisely what a
// product reads and writes.
#include "matmul_case.h"

#include "simulator/core/memory.h"
#include "simulator/core/report.h"
#include "simulator/core/streams.h"

#include <gtest/gtest.h>

namespace ulsc::simulator::test {
namespace {

using namespace cublaslt;
using testing::ExitedWithCode;

MatmulCase with(Epilogue epilogue) {
  MatmulCase given;
  given.epilogue = epilogue;
  return given;
}

TEST(MatmulReportsDeathTest, OptionsThatAreNotSimulated) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto refuses = [](auto spoil) {
    MatmulRun run({});
    spoil(run);
    run.run();
  };
  auto dies = ExitedWithCode(reportExitCode);
  EXPECT_EXIT(refuses([](MatmulRun &r) { r.set(MatmulEpilogue, uint32_t(EpilogueDReluBGrad)); }),
              dies, "cuBLASLt: epilogue 152 is not simulated");
  EXPECT_EXIT(refuses([](MatmulRun &r) { r.set(MatmulComputeType, int32_t(Compute64F)); }), dies,
              "cublasComputeType_t 70 is not simulated");
  EXPECT_EXIT(refuses([](MatmulRun &r) { r.set(r.aLayout, LayoutType, uint32_t(TypeF8E4M3)); }),
              dies, "the type of A, cudaDataType 28");
  EXPECT_EXIT(refuses([](MatmulRun &r) { r.set(r.aLayout, LayoutOrder, int32_t(2)); }), dies,
              "the order of A, 2");
  EXPECT_EXIT(refuses([](MatmulRun &r) { r.set(MatmulPointerMode, int32_t(2)); }), dies,
              "pointer mode 2");
  EXPECT_EXIT(refuses([](MatmulRun &r) { r.set(MatmulAttribute(31), int32_t(0)); }), dies,
              "attribute 31 of a matmul descriptor");
  EXPECT_EXIT(refuses([](MatmulRun &r) { r.set(MatmulFillMode, int32_t(FillUpper)); }), dies,
              "CUBLASLT_MATMUL_DESC_FILL_MODE = 1 is not simulated");
  EXPECT_EXIT(refuses([](MatmulRun &r) { r.set(PreferenceSearchMode, uint32_t(1)); }), dies,
              "CUBLASLT_MATMUL_PREF_SEARCH_MODE = 1");
  EXPECT_EXIT(refuses([](MatmulRun &r) { r.set(r.aLayout, LayoutBatchMode, uint32_t(1)); }), dies,
              "CUBLASLT_MATRIX_LAYOUT_BATCH_MODE = 1");
}

TEST(MatmulReportsDeathTest, DescriptorsThatAreGone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto dies = ExitedWithCode(reportExitCode);
  EXPECT_EXIT(
      {
        MatmulRun run({});
        cublasLtMatrixLayoutDestroy(run.bLayout);
        run.run();
      },
      dies, "a cuBLASLt matrix layout is used that doesn't exist");
  EXPECT_EXIT(
      {
        MatmulRun run({});
        cublasLtMatmulDescDestroy(run.matmul);
        cublasLtMatmulDescDestroy(run.matmul);
      },
      dies, "a cuBLASLt matmul descriptor is destroyed that doesn't exist");
}

TEST(MatmulReportsDeathTest, ResultsOverOperands) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto dies = ExitedWithCode(reportExitCode);
  MatmulCase apart;
  apart.isInPlace = false;
  apart.beta = 1;
  EXPECT_EXIT(
      {
        MatmulRun run(apart);
        run.d.data = run.a.data;
        run.run();
      },
      dies, "writes D where it has A");
  EXPECT_EXIT(
      {
        MatmulRun run(apart);
        run.d.data = run.c.data + 64;
        run.run();
      },
      dies, "writes D where it has C");
  EXPECT_EXIT(
      {
        MatmulRun run(with(EpilogueGeluAux));
        run.set(MatmulAuxPointer, static_cast<void *>(run.d.data + 64));
        run.run();
      },
      dies, "writes the aux matrix where it has D");
}

// What the core finds from the ranges of an operation.
TEST(MatmulReportsDeathTest, MemoryItTouches) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto dies = ExitedWithCode(reportExitCode);
  EXPECT_EXIT(
      { // one column more than there is
        MatmulRun run({});
        run.set(run.bLayout, LayoutColumns, uint64_t(9));
        run.set(run.cLayout, LayoutColumns, uint64_t(9));
        run.set(run.dLayout, LayoutColumns, uint64_t(9));
        run.run();
      },
      dies, "out-of-bounds.*cublasLtMatmul");
  EXPECT_EXIT(
      {
        MatmulRun run({});
        forgetValues(run.a.data + 100, 4);
        run.run();
      },
      dies, "uninitialised: 'cublasLtMatmul");
  EXPECT_EXIT(
      { // two streams, one workspace
        MatmulCase given;
        given.maxWorkspace = 4096;
        MatmulRun first(given);
        MatmulRun second(given);
        second.workspace = first.workspace;
        first.stream = reinterpret_cast<cublaslt::Stream>(createStream(true, 0));
        second.stream = reinterpret_cast<cublaslt::Stream>(createStream(true, 0));
        first.enqueue();
        second.enqueue();
        synchronizeDevice();
      },
      dies, "race");
}

// Column slices of one matrix are written by two streams at once: no race, since gaps aren't
// theirs.
TEST(MatmulRanges, LeaveGapsToOthers) {
  MatmulCase given;
  given.gap = 16;
  MatmulRun first(given), second(given);
  char *own = second.d.data;
  second.d.data = second.c.data = first.d.data + 16 * 4;
  first.stream = reinterpret_cast<cublaslt::Stream>(createStream(true, 0));
  second.stream = reinterpret_cast<cublaslt::Stream>(createStream(true, 0));
  // The second matrix's last column has no gap behind it.
  ASSERT_EQ(first.enqueue(), StatusSuccess);
  ASSERT_EQ(second.enqueue(), StatusSuccess);
  synchronizeDevice();
  second.d.data = second.c.data = own;
}

} // namespace
} // namespace ulsc::simulator::test
