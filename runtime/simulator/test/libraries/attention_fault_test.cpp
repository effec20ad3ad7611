// What attention through cuDNN is refused for, and what ends a process that uses it wrongly.
#include "attention_case.h"

#include "core/error.h"
#include "cuda/cudnn_library.h"
#include "simulator/core/memory.h"
#include "simulator/core/report.h"
#include "simulator/core/streams.h"
#include "ulsc/AttentionWorkspace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace ulsc::simulator::test {
namespace {

using testing::AllOf;
using testing::ExitedWithCode;
using testing::HasSubstr;

template <typename Work>
std::string errorOf(Work work) {
  try {
    work();
  } catch (const runtime::Error &error) {
    return error.what();
  }
  return "no error";
}

/// As if another version were installed, until the end of its life.
class Version {
public:
  explicit Version(const char *version) { setenv("ULSC_SIMULATOR_CUDNN", version, 1); }
  ~Version() { unsetenv("ULSC_SIMULATOR_CUDNN"); }
};

TEST(AttentionErrors, NameTheLibraryThatIsMissing) {
  EXPECT_THAT(
      errorOf([] { runtime::CudnnLibrary("layer.3.attention", "libcudnn-that-is-not.so.9"); }),
      AllOf(HasSubstr("'libcudnn-that-is-not.so.9'"), HasSubstr("'layer.3.attention' is left to"),
            HasSubstr("nvidia-cudnn-cu13"), HasSubstr("--attention own")));
}

TEST(AttentionErrors, NameBothSizesOfAWorkspaceThatIsTooSmall) {
  AttentionRun run({});
  run.forward();
  const AttentionCase &given = run.given;
  int64_t least = ulsc_attention_workspace_alignment + 256 +
                  ulsc_attention_graph_bytes(given.batch, given.sequence, given.kvHeads,
                                             given.group, given.headSize);
  run.gradientDesc.workspace_bytes = least - 1;
  EXPECT_THAT(errorOf([&] { run.gradient(); }),
              AllOf(HasSubstr("'layer.3.attention.grad' needs"), HasSubstr(text(least)),
                    HasSubstr(text(least - 1)), HasSubstr("--attention own")));
}

TEST(AttentionErrors, SayWhatTheLibraryRefuses) {
  AttentionRun odd({2, 24, 2, 1, 60, ULSC_BF16, true});
  EXPECT_THAT(errorOf([&] { odd.forward(); }),
              AllOf(HasSubstr("'layer.3.attention' can't be computed by cuDNN 9.19.0"),
                    HasSubstr("the head size"), HasSubstr("60"), HasSubstr("multiple of 8")));
  AttentionRun large({1, 8, 1, 1, 264, ULSC_BF16, true});
  EXPECT_THAT(errorOf([&] { large.forward(); }), HasSubstr("is 264"));
}

TEST(AttentionErrors, NameVersionsThatAreTooOld) {
  AttentionRun run({});
  {
    Version version("9.11.4");
    EXPECT_THAT(errorOf([&] { run.forward(); }),
                AllOf(HasSubstr("9.11.4"), HasSubstr("9.12 or later")));
  }
  Version version("9.15.0");
  run.forward();
  EXPECT_THAT(errorOf([&] { run.gradient(); }),
              AllOf(HasSubstr("24 keys"), HasSubstr("9.15.0"), HasSubstr("9.15.1 or later")));
}

TEST(AttentionReportsDeathTest, MemoryItTouches) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto dies = ExitedWithCode(reportExitCode);
  EXPECT_EXIT(
      {
        AttentionRun run({});
        run.attention.run(run.forwardDesc,
                          {run.q.data + 64, run.k.data, run.v.data, run.out.data, run.lse.data},
                          run.workspace.data);
        run.synchronize();
      },
      dies, "out-of-bounds.*cudnnBackendExecute");
  EXPECT_EXIT(
      {
        AttentionRun run({});
        forgetValues(run.v.data + 100, 2);
        run.forward();
        run.synchronize();
      },
      dies, "uninitialised: 'cudnnBackendExecute");
  EXPECT_EXIT(
      {
        AttentionRun run({});
        run.gradient(); // without the forward that makes out and lse
        run.synchronize();
      },
      dies, "uninitialised: 'cudnnBackendExecute");
  EXPECT_EXIT(
      {
        AttentionRun run({});
        run.forward();
        run.attention.run(run.gradientDesc,
                          {run.q.data, run.k.data, run.v.data, run.out.data, run.lse.data,
                           run.outGrad.data, run.q.data, run.kGrad.data, run.vGrad.data},
                          run.workspace.data);
      },
      dies, "overlap: cudnnBackendExecute.*writes tensor 7.*where it has tensor 1 ");
}

TEST(AttentionReportsDeathTest, StreamsThatNothingOrders) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto dies = ExitedWithCode(reportExitCode);
  EXPECT_EXIT(
      { // the second writes what the first reads
        AttentionRun first({});
        AttentionRun second({});
        first.forward();
        second.attention.run(
            second.forwardDesc,
            {second.q.data, second.k.data, second.v.data, first.q.data, second.lse.data},
            second.workspace.data);
        synchronizeDevice();
      },
      dies, "race");
  EXPECT_EXIT(
      { // two streams, one workspace
        AttentionRun first({});
        AttentionRun second({});
        first.forward();
        second.forward();
        synchronizeDevice();
        first.gradient();
        second.attention.run(second.gradientDesc,
                             {second.q.data, second.k.data, second.v.data, second.out.data,
                              second.lse.data, second.outGrad.data, second.qGrad.data,
                              second.kGrad.data, second.vGrad.data},
                             first.workspace.data);
        synchronizeDevice();
      },
      dies, "race");
}

} // namespace
} // namespace ulsc::simulator::test
