// Faults between ranks, each reported on every rank that lives, with both sides named.
#include "rank_processes.h"
#include "simulator/core/memory.h"
#include "simulator/core/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <unistd.h>

namespace ulsc::simulator::test {
namespace {

using namespace nccl;
using testing::AllOf;
using testing::HasSubstr;

constexpr size_t count = 64;

/// Everything a rank needs for a wrong call.
struct Rank {
  explicit Rank(const RankContext &context)
      : rank(context.rank), comm(context.world()), stream(makeStream()) {
    values = toDevice(std::vector<double>(2 * count, 1));
    result = onDevice<double>(2 * count);
    setSource(rank == 0 ? "layer.zero" : "layer.other");
  }
  void allReduce(size_t size = count, DataType type = TypeFloat32, Reduction op = Sum) {
    ncclAllReduce(values, result, size, type, op, comm, stream);
  }

  int rank;
  Comm comm;
  nccl::Stream stream;
  double *values, *result;
};

/// Runs the body with all ranks, each of which must end by a report with these words.
void expectReports(int ranks, const std::function<void(Rank &)> &body,
                   const std::vector<std::string> &words,
                   const std::vector<std::string> &environment = {}) {
  auto ends = runRanks(
      ranks,
      [&](const RankContext &context) {
        Rank rank(context);
        body(rank);
        synchronizeDevice();
      },
      environment);
  for (size_t rank = 0; rank < ends.size(); ++rank) {
    EXPECT_EQ(ends[rank].exitCode, reportExitCode) << "rank " << rank << ": " << ends[rank].errors;
    for (const std::string &word : words)
      EXPECT_THAT(ends[rank].errors, HasSubstr(word)) << "rank " << rank;
  }
}

TEST(NcclMismatch, OfCollectives) {
  expectReports(
      2,
      [](Rank &r) {
        if (r.rank == 0)
          r.allReduce();
        else
          ncclBroadcast(r.values, r.result, count, TypeFloat32, 0, r.comm, r.stream);
      },
      {"mismatch: NCCL: ranks don't agree about collective 1: the collectives differ", "rank 0",
       "ncclAllReduce (64 f32, sum), collective 1 on stream 2, source layer.zero", "rank 1",
       "ncclBroadcast (64 f32, root 0), collective 1 on stream 2, source "
       "layer.other"});
}

TEST(NcclMismatch, OfCounts) {
  expectReports(
      2, [](Rank &r) { r.allReduce(r.rank ? count / 2 : count); },
      {"the counts differ", "ncclAllReduce (64 f32, sum)", "ncclAllReduce (32 f32, sum)"});
}

TEST(NcclMismatch, OfTypes) {
  expectReports(2, [](Rank &r) { r.allReduce(count, r.rank ? TypeBfloat16 : TypeFloat32); },
                {"the data types differ", "(64 f32, sum)", "(64 bf16, sum)"});
}

TEST(NcclMismatch, OfReductions) {
  expectReports(2, [](Rank &r) { r.allReduce(count, TypeFloat32, r.rank ? Max : Sum); },
                {"the reductions differ", "(64 f32, sum)", "(64 f32, max)"});
}

TEST(NcclMismatch, OfRoots) {
  expectReports(2,
                [](Rank &r) {
                  ncclBroadcast(r.values, r.result, count, TypeFloat32, r.rank, r.comm, r.stream);
                },
                {"the roots differ", "(64 f32, root 0)", "(64 f32, root 1)"});
}

TEST(NcclMismatch, OfOrders) {
  expectReports(4,
                [](Rank &r) {
                  r.allReduce(r.rank == 2 ? 16 : 32);
                  r.allReduce(r.rank == 2 ? 32 : 16);
                },
                {"collective 1: the counts differ", "rank 2", "(16 f32, sum), collective 1",
                 "(32 f32, sum), collective 1"});
}

TEST(NcclMismatch, OfGroups) {
  expectReports(2,
                [](Rank &r) {
                  if (r.rank == 0)
                    ncclGroupStart();
                  r.allReduce(16);
                  ncclAllReduce(r.values + count, r.result + count, 16, TypeFloat32, Sum, r.comm,
                                r.stream);
                  if (r.rank == 0)
                    ncclGroupEnd();
                },
                {"they are grouped differently", "collective 1 on stream 2, 1 of 2 in its group"});
}

TEST(NcclMismatch, OfMessages) {
  expectReports(2,
                [](Rank &r) {
                  if (r.rank == 0)
                    ncclSend(r.values, count, TypeFloat32, 1, r.comm, r.stream);
                  else
                    ncclRecv(r.result, 32, TypeFloat32, 0, r.comm, r.stream);
                },
                {"message 1: the counts differ", "ncclSend (64 f32, to rank 1), message 1",
                 "ncclRecv (32 f32, from rank 0), message 1"});
}

// Sends that aren't grouped with their receives wait for each other, on every device.
TEST(NcclDeadlock, RingOfSends) {
  expectReports(4,
                [](Rank &r) {
                  ncclSend(r.values, count, TypeFloat32, (r.rank + 1) % 4, r.comm, r.stream);
                  ncclRecv(r.result, count, TypeFloat32, (r.rank + 3) % 4, r.comm, r.stream);
                },
                {"deadlock: NCCL: ranks wait for each other in a circle",
                 "ncclSend (64 f32, to rank 1)", "ncclSend (64 f32, to rank 0)",
                 "source layer.zero", "source layer.other"});
}

// Two streams don't help: launches of a communicator run in their order.
TEST(NcclDeadlock, OnTwoStreams) {
  expectReports(2,
                [](Rank &r) {
                  nccl::Stream other = makeStream();
                  ncclSend(r.values, count, TypeFloat32, 1 - r.rank, r.comm, r.stream);
                  ncclRecv(r.result, count, TypeFloat32, 1 - r.rank, r.comm, other);
                },
                {"deadlock", "rank 0", "rank 1", "ncclSend (64 f32, to rank 0)"});
}

TEST(NcclDeadlock, ACollectiveAgainstAMessage) {
  expectReports(2,
                [](Rank &r) {
                  if (r.rank == 0)
                    r.allReduce();
                  else
                    ncclSend(r.values, count, TypeFloat32, 0, r.comm, r.stream);
                },
                {"deadlock",
                 "ncclAllReduce (64 f32, sum), collective 1 on stream 2, source layer.zero",
                 "ncclSend (64 f32, to rank 0), message 1 on stream 2, source layer.other"});
}

void useTwoCommunicators(Rank &r, bool onTwoStreams) {
  Comm other = nullptr;
  Config config;
  config.commName = "second";
  ncclCommSplit(r.comm, 0, 0, &other, &config);
  nccl::Stream stream = onTwoStreams ? makeStream() : r.stream;
  auto first = [&] { r.allReduce(); };
  auto second = [&] {
    ncclAllReduce(r.values + count, r.result + count, 16, TypeFloat64, Sum, other, stream);
  };
  if (r.rank == 0) {
    first();
    second();
  } else {
    second();
    first();
  }
}

TEST(NcclCommunicatorOrder, OnTwoStreams) {
  expectReports(2, [](Rank &r) { useTwoCommunicators(r, true); },
                {"communicator-order: NCCL: two communicators are used in different orders",
                 "rank 0", "rank 1", "launched after 0 collectives of",
                 "launched after 1 collectives", "communicator 'second' of 2 ranks",
                 "source layer.zero", "source layer.other"});
}

TEST(NcclCommunicatorOrder, OnOneStream) {
  expectReports(
      2, [](Rank &r) { useTwoCommunicators(r, false); },
      {"communicator-order", "launched after 0 collectives", "launched after 1 collectives"});
}

// Only when nothing happens for the time-out: the rank without the collective waits elsewhere.
TEST(NcclStall, EveryRankTellsWhereAllAre) {
  expectReports(2,
                [](Rank &r) {
                  Comm other = nullptr;
                  ncclCommSplit(r.comm, 0, 0, &other, nullptr);
                  if (r.rank == 0)
                    r.allReduce();
                  else
                    ncclAllGather(r.values, r.result, 16, TypeFloat32, other, r.stream);
                },
                {"stall", "waits in ncclAllReduce (64 f32, sum), collective 1 on stream 2",
                 "waits in ncclAllGather (16 f32), collective 1", "rank 0", "rank 1",
                 "nothing launched that has not run; 0 of 0 calls have run"},
                {"ULSC_SIMULATOR_TIMEOUT=1"});
}

TEST(NcclMissing, ARankThatLeft) {
  auto ends = runRanks(2, [](const RankContext &context) {
    Rank r(context);
    r.allReduce();
    synchronizeDevice();
    if (r.rank == 1) {
      ncclCommDestroy(r.comm);
      return;
    }
    r.allReduce();
    synchronizeDevice();
  });
  EXPECT_EQ(ends[1].exitCode, 0) << ends[1].errors;
  EXPECT_EQ(ends[0].exitCode, reportExitCode);
  EXPECT_THAT(ends[0].errors,
              AllOf(HasSubstr("rank 1 is missing: it has destroyed the communicator"),
                    HasSubstr("rank 0 (this one): waits in ncclAllReduce (64 f32, sum), "
                              "collective 2 on stream 2, source layer.zero; 1 of 2 calls have run"),
                    HasSubstr("1 of 1 calls have run; has destroyed the communicator")));
}

TEST(NcclMissing, AKilledRank) {
  auto ends = runRanks(4, [](const RankContext &context) {
    Rank r(context);
    r.allReduce();
    synchronizeDevice();
    if (r.rank == 2)
      raise(SIGKILL);
    r.allReduce();
    synchronizeDevice();
  });
  for (int rank : {0, 1, 3}) {
    EXPECT_EQ(ends[size_t(rank)].exitCode, reportExitCode);
    EXPECT_THAT(ends[size_t(rank)].errors, HasSubstr("missing-rank: NCCL: rank "));
    EXPECT_THAT(ends[size_t(rank)].errors,
                testing::ContainsRegex("rank 2: nothing launched that has not run; 1 of 1 calls "
                                       "have run; process [0-9]+ has ended"));
  }
  EXPECT_EQ(ends[2].exitCode, -1);
}

// A program that asks for asynchronous errors gets one and may go on without the communicator.
TEST(NcclMissing, AProgramThatAsksMayAbort) {
  auto ends = runRanks(2, [](const RankContext &context) {
    Rank r(context);
    if (r.rank == 1)
      raise(SIGKILL);
    r.allReduce();
    Result error = Success;
    while (error == Success) {
      queryStream(handle(r.stream));
      requireSuccess(ncclCommGetAsyncError(r.comm, &error), "ask");
    }
    require(error == RemoteError, "a remote error");
    require(std::strstr(ncclGetLastError(r.comm), "rank 1 has ended"), ncclGetLastError(r.comm));
    requireSuccess(ncclCommAbort(r.comm), "abort");
    synchronizeDevice();
  });
  EXPECT_EQ(ends[0].exitCode, 0) << ends[0].errors;
}

// As where a network breaks: the launch never runs, and asking tells why.
TEST(NcclMissing, ALaunchThatIsToFail) {
  std::vector<RankEnd> ends = runRanks(
      1,
      [](const RankContext &context) {
        Rank rank(context);
        rank.allReduce();
        requireSuccess(ncclAllReduce(rank.values, rank.result, count, TypeFloat32, Sum, rank.comm,
                                     rank.stream),
                       "the launch that fails");
        Result error = Success;
        while (error == Success) {
          queryStream(handle(rank.stream));
          requireSuccess(ncclCommGetAsyncError(rank.comm, &error), "asking");
        }
        require(error == SystemError, "a system error");
        require(std::string(ncclGetLastError(rank.comm)).find("ULSC_SIMULATOR_NCCL_ERROR") !=
                    std::string::npos,
                "the reason");
        requireSuccess(ncclCommAbort(rank.comm), "aborting");
      },
      {"ULSC_SIMULATOR_NCCL_ERROR=2"});
  EXPECT_EQ(ends[0].exitCode, 0) << ends[0].errors;
}

TEST(NcclMissing, ARankThatAborted) {
  auto ends = runRanks(2, [](const RankContext &context) {
    Rank r(context);
    if (r.rank == 1)
      ncclCommAbort(r.comm);
    else
      r.allReduce();
    synchronizeDevice();
  });
  EXPECT_EQ(ends[1].exitCode, 0) << ends[1].errors;
  EXPECT_EQ(ends[0].exitCode, reportExitCode);
  EXPECT_THAT(ends[0].errors, HasSubstr("rank 1 is missing: it has aborted the communicator"));
}

TEST(NcclMissing, ARankThatEndedByItsOwnReport) {
  auto ends = runRanks(2, [](const RankContext &context) {
    Rank r(context);
    if (r.rank == 1) { // no values in what it sends
      ncclAllReduce(r.result, r.values, count, TypeFloat32, Sum, r.comm, r.stream);
      Operation wild;
      wild.name = "wild";
      wild.writes = {{r.values - 1024, 8}};
      enqueue(handle(makeStream()), wild);
      synchronizeDevice();
    }
    for (int repetition = 0; repetition < 2; ++repetition)
      r.allReduce();
    synchronizeDevice();
  });
  EXPECT_EQ(ends[1].exitCode, reportExitCode);
  EXPECT_EQ(ends[0].exitCode, reportExitCode);
  EXPECT_THAT(ends[0].errors,
              AllOf(HasSubstr("rank 1 is missing: it was ended by a report of its own"),
                    HasSubstr("ended by its own report: ")));
}

TEST(NcclMissing, ARankThatNeverJoins) {
  auto ends = runRanks(2,
                       [](const RankContext &context) {
                         if (context.rank == 0)
                           context.world();
                       },
                       {"ULSC_SIMULATOR_TIMEOUT=1"});
  EXPECT_EQ(ends[0].exitCode, reportExitCode);
  EXPECT_THAT(ends[0].errors, AllOf(HasSubstr("ncclCommInitRank waits for ranks that don't come"),
                                    HasSubstr("rank 1: has not come")));
}

TEST(NcclMissing, ARankThatNeverSplits) {
  auto ends = runRanks(2, [](const RankContext &context) {
    Comm world = context.world(), half = nullptr;
    if (context.rank == 0)
      ncclCommSplit(world, 0, 0, &half, nullptr);
  });
  EXPECT_EQ(ends[0].exitCode, reportExitCode);
  EXPECT_THAT(ends[0].errors,
              AllOf(HasSubstr("ncclCommSplit waits for ranks that don't come"),
                    testing::ContainsRegex("rank 1: has not come, process [0-9]+ has ended")));
}

// What the device finds about the memory of collectives.
TEST(NcclMemory, AMissingEventIsARace) {
  auto ends = runRanks(1, [](const RankContext &context) {
    Rank r(context);
    Operation kernel;
    kernel.name = "producer";
    kernel.writes = {{r.values, 64}};
    kernel.run = [] {};
    enqueue(handle(makeStream()), kernel);
    r.allReduce();
    synchronizeDevice();
  });
  EXPECT_EQ(ends[0].exitCode, reportExitCode);
  EXPECT_THAT(ends[0].errors,
              AllOf(HasSubstr("race"), HasSubstr("producer"), HasSubstr("ncclAllReduce")));
}

TEST(NcclMemory, SendingWhatHoldsNoValues) {
  auto ends = runRanks(1, [](const RankContext &context) {
    Rank r(context);
    ncclAllReduce(r.result, r.values, count, TypeFloat32, Sum, r.comm, r.stream);
    synchronizeDevice();
  });
  EXPECT_EQ(ends[0].exitCode, reportExitCode);
  EXPECT_THAT(ends[0].errors, HasSubstr("uninitialised: 'ncclAllReduce (64 f32, sum)'"));
}

TEST(NcclMemory, SendingMoreThanThereIs) {
  auto ends = runRanks(1, [](const RankContext &context) {
    Rank r(context);
    ncclAllReduce(r.values, r.values, 5 * count, TypeFloat64, Sum, r.comm, r.stream);
    synchronizeDevice();
  });
  EXPECT_EQ(ends[0].exitCode, reportExitCode);
  EXPECT_THAT(ends[0].errors,
              AllOf(HasSubstr("out-of-bounds"), HasSubstr("ncclAllReduce (320 f64, sum)")));
}

} // namespace
} // namespace ulsc::simulator::test
