// Arguments that the simulated NCCL refuses, and those that end the process.
#include "rank_processes.h"
#include "simulator/core/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ulsc::simulator::test {
namespace {

using namespace nccl;
using testing::HasSubstr;

void expectRefused(Comm comm, Result result, const char *reason) {
  require(result == InvalidArgument, text("refused: ", reason));
  require(std::strstr(ncclGetLastError(comm), reason),
          text(ncclGetLastError(comm), " instead of ", reason));
}

TEST(NcclArguments, OfCalls) {
  expectRanksPass(1, [](const RankContext &context) {
    Comm comm = context.world();
    float *a = onDevice<float>(64), *b = onDevice<float>(64);
    auto reduce = [&](const void *send, void *receive, DataType type, Reduction op, Comm on) {
      return ncclAllReduce(send, receive, 16, type, op, on, nullptr);
    };
    expectRefused(nullptr, reduce(a, b, TypeFloat32, Sum, nullptr), "the communicator is null");
    expectRefused(comm, reduce(nullptr, b, TypeFloat32, Sum, comm), "the send buffer is null");
    expectRefused(comm, reduce(a, nullptr, TypeFloat32, Sum, comm), "the receive buffer is null");
    expectRefused(comm, reduce(a, b, DataType(12), Sum, comm), "data type 12 doesn't exist");
    expectRefused(comm, reduce(a, b, TypeFloat32, Reduction(5), comm), "reduction 5");
    expectRefused(comm, reduce(reinterpret_cast<char *>(a) + 2, b, TypeFloat32, Sum, comm),
                  "isn't aligned");
    expectRefused(comm, ncclBroadcast(a, b, 16, TypeFloat32, 1, comm, nullptr),
                  "root or peer 1 of 1 ranks");
    expectRefused(comm, ncclReduce(a, b, 16, TypeFloat32, Sum, -1, comm, nullptr),
                  "root or peer -1");
    expectRefused(comm, ncclSend(a, 16, TypeFloat32, 2, comm, nullptr), "root or peer 2");
    require(ncclGroupEnd() == InvalidUsage, "an end without a start");
    require(ncclAllReduce(a, b, 0, TypeFloat32, Sum, comm, nullptr) == Success, "nothing");
    require(ncclCommFinalize(comm) == Success, "finalize");
    require(ncclCommFinalize(comm) == InvalidUsage, "finalize twice");
    require(reduce(a, b, TypeFloat32, Sum, comm) == InvalidUsage, "after the end");
    requireSuccess(ncclCommDestroy(comm), "destroy");
    requireSuccess(ncclCommDestroy(nullptr), "destroy nothing");
  });
}

TEST(NcclArguments, OfCommunicators) {
  expectRanksPass(1, [](const RankContext &context) {
    Comm comm = nullptr;
    int number = 0;
    Result error;
    UniqueId wrong{};
    expectRefused(nullptr, ncclCommInitRank(&comm, 0, context.id, 0), "rank 0 of 0");
    expectRefused(nullptr, ncclCommInitRank(&comm, 2, context.id, 2), "rank 2 of 2");
    expectRefused(nullptr, ncclCommInitRank(nullptr, 1, context.id, 0), "rank 0 of 1");
    expectRefused(nullptr, ncclCommInitRank(&comm, 1, wrong, 0), "names no communicator");
    Config config;
    config.magic = 1;
    expectRefused(nullptr, ncclCommInitRankConfig(&comm, 1, context.id, 0, &config),
                  "NCCL_CONFIG_INITIALIZER");
    expectRefused(nullptr, ncclGetUniqueId(nullptr), "no place");
    expectRefused(nullptr, ncclGetVersion(nullptr), "no place");
    expectRefused(nullptr, ncclCommCount(nullptr, &number), "null");
    expectRefused(nullptr, ncclCommGetAsyncError(nullptr, &error), "null");
    config = {};
    config.commName = "named";
    requireSuccess(ncclCommInitRankConfig(&comm, 1, context.id, 0, &config), "init");
    expectRefused(comm, ncclCommSplit(comm, -2, 0, &comm, nullptr), "color -2");
    requireSuccess(ncclCommCount(comm, &number), "count");
    require(number == 1, "one rank");
    requireSuccess(ncclCommUserRank(comm, &number), "rank");
    require(number == 0, "rank 0");
    requireSuccess(ncclCommCuDevice(comm, &number), "device");
    require(number == 0, "device 0");
    requireSuccess(ncclGetVersion(&number), "version");
    require(number / 10000 == 2, "version 2");
    requireSuccess(ncclCommGetAsyncError(comm, &error), "error");
    require(error == Success, "no error");
    // An id serves one communicator.
    Comm again = nullptr;
    expectRefused(nullptr, ncclCommInitRank(&again, 1, context.id, 0), "names no communicator");
  });
}

void expectReport(const std::function<void(const RankContext &)> &body, const char *words,
                  int ranks = 1) {
  for (const RankEnd &end : runRanks(ranks, body)) {
    EXPECT_EQ(end.exitCode, reportExitCode) << end.errors;
    EXPECT_THAT(end.errors, HasSubstr(words));
  }
}

TEST(NcclReports, BuffersThatOverlap) {
  expectReport(
      [](const RankContext &context) {
        Comm comm = context.world();
        float *memory = onDevice<float>(64);
        ncclAllReduce(memory, memory + 8, 16, TypeFloat32, Sum, comm, nullptr);
      },
      "overlap without being in place");
  expectReport(
      [](const RankContext &context) {
        Comm comm = context.world();
        float *memory = onDevice<float>(64);
        ncclGroupStart();
        ncclAllReduce(memory, memory, 16, TypeFloat32, Sum, comm, nullptr);
        ncclAllReduce(memory + 8, memory + 32, 16, TypeFloat32, Sum, comm, nullptr);
        ncclGroupEnd();
      },
      "two calls of one group touch the same memory");
}

TEST(NcclReports, CommunicatorsThatAreGone) {
  expectReport(
      [](const RankContext &context) {
        Comm comm = context.world();
        ncclCommDestroy(comm);
        ncclCommDestroy(comm);
      },
      "a communicator is used that doesn't exist");
}

TEST(NcclReports, WhatIsNotSimulated) {
  expectReport(
      [](const RankContext &context) {
        Comm comm = context.world();
        float *memory = onDevice<float>(64);
        ncclAllReduce(memory, memory, 16, TypeFloat8E4M3, Sum, comm, nullptr);
      },
      "8-bit floats are not simulated");
  expectReport(
      [](const RankContext &context) {
        Comm comm = nullptr;
        Config config;
        config.blocking = 0;
        ncclCommInitRankConfig(&comm, 1, context.id, 0, &config);
      },
      "communicators that don't block");
}

TEST(NcclReports, RanksThatDisagreeAboutTheirNumber) {
  auto ends = runRanks(2,
                       [](const RankContext &context) {
                         Comm comm = nullptr;
                         ncclCommInitRank(&comm, 2 + context.rank, context.id, context.rank);
                       },
                       {"ULSC_SIMULATOR_TIMEOUT=1"});
  EXPECT_THAT(ends[0].errors + ends[1].errors,
              testing::AllOf(HasSubstr("different numbers of ranks"), HasSubstr("2 ranks"),
                             HasSubstr("3 ranks")));
}

TEST(NcclReports, TwoCallersOfOneRank) {
  auto ends = runRanks(2,
                       [](const RankContext &context) {
                         Comm comm = nullptr;
                         ncclCommInitRank(&comm, 2, context.id, 0);
                       },
                       {"ULSC_SIMULATOR_TIMEOUT=1"});
  EXPECT_THAT(ends[0].errors + ends[1].errors,
              HasSubstr("two callers are rank 0 of one communicator"));
}

} // namespace
} // namespace ulsc::simulator::test
