// How calls of the simulated NCCL become launches: groups, messages, splits, streams, graphs.
#include "rank_processes.h"
#include "simulator/core/graphs.h"
#include "simulator/core/memory.h"
#include "simulator/core/report.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace ulsc::simulator::test {
namespace {

using namespace nccl;

constexpr size_t count = 100;

std::vector<float> constant(float value) { return std::vector<float>(count, value); }

void expectAll(const float *values, float expected, const char *what) {
  for (size_t i = 0; i < count; ++i)
    require(values[i] == expected, text(what, ": ", values[i], " instead of ", expected));
}

void allReduce(const float *send, float *receive, Comm comm, nccl::Stream stream) {
  requireSuccess(ncclAllReduce(send, receive, count, TypeFloat32, Sum, comm, stream), "allreduce");
}

/// An operation as a kernel would be: it reads and writes all `count` values.
void enqueueCopy(const float *from, float *to, nccl::Stream stream) {
  Operation operation;
  operation.name = "copy";
  operation.reads = {{from, count * 4}};
  operation.writes = {{to, count * 4}};
  operation.run = [=] { std::memcpy(to, from, count * 4); };
  enqueue(handle(stream), operation);
}

TEST(NcclGroups, ManyCollectivesAreOneLaunch) {
  expectRanksPass(2, [](const RankContext &context) {
    Comm comm = context.world();
    nccl::Stream stream = makeStream();
    std::vector<float *> buffers;
    requireSuccess(ncclGroupStart(), "start");
    for (int i = 0; i < 5; ++i) {
      buffers.push_back(toDevice(constant(float(i + context.rank))));
      allReduce(buffers.back(), buffers.back(), comm, stream);
    }
    require(queryStream(handle(stream)) == Status::Success, "nothing is launched before the end");
    requireSuccess(ncclGroupEnd(), "end");
    synchronizeDevice();
    for (int i = 0; i < 5; ++i)
      expectAll(buffers[size_t(i)], float(2 * i + 1), "grouped all-reduce");
    requireSuccess(ncclCommDestroy(comm), "destroy");
  });
}

TEST(NcclGroups, RingsOfMessages) {
  expectRanksPass(4, [](const RankContext &context) {
    Comm comm = context.world();
    nccl::Stream stream = makeStream();
    int next = (context.rank + 1) % 4, last = (context.rank + 3) % 4;
    float *send = toDevice(constant(float(context.rank))), *receive = onDevice<float>(count);
    float *second = toDevice(constant(float(10 + context.rank))), *other = onDevice<float>(count);
    requireSuccess(ncclGroupStart(), "start");
    ncclSend(send, count, TypeFloat32, next, comm, stream);
    ncclSend(second, count, TypeFloat32, next, comm, stream);
    ncclRecv(receive, count, TypeFloat32, last, comm, stream);
    ncclRecv(other, count, TypeFloat32, last, comm, stream);
    requireSuccess(ncclGroupEnd(), "end");
    synchronizeDevice();
    expectAll(receive, float(last), "first message");
    expectAll(other, float(10 + last), "second message");
    requireSuccess(ncclCommDestroy(comm), "destroy");
  });
}

TEST(NcclGroups, ARankMaySendToItself) {
  expectRanksPass(1, [](const RankContext &context) {
    Comm comm = context.world();
    float *send = toDevice(constant(3)), *receive = onDevice<float>(count);
    ncclGroupStart();
    ncclSend(send, count, TypeFloat32, 0, comm, nullptr);
    ncclRecv(receive, count, TypeFloat32, 0, comm, nullptr);
    requireSuccess(ncclGroupEnd(), "end");
    synchronizeDevice();
    expectAll(receive, 3, "message to itself");
  });
}

TEST(NcclGroups, StreamsOfAGroupWaitForEachOther) {
  expectRanksPass(2, [](const RankContext &context) {
    Comm comm = context.world();
    nccl::Stream first = makeStream(), second = makeStream();
    float *a = toDevice(constant(1)), *b = onDevice<float>(count), *copy = onDevice<float>(count);
    float *source = toDevice(constant(2));
    enqueueCopy(source, b, second); // before the group, on the stream of its second call
    ncclGroupStart();
    allReduce(a, a, comm, first);
    allReduce(b, b, comm, second);
    requireSuccess(ncclGroupEnd(), "end");
    enqueueCopy(b, copy, second); // after it
    synchronizeDevice();
    expectAll(copy, 4, "copy behind the group");
    requireSuccess(ncclCommDestroy(comm), "destroy");
  });
}

TEST(NcclMessages, PassAlongAChain) {
  expectRanksPass(4, [](const RankContext &context) {
    Comm comm = context.world();
    nccl::Stream stream = makeStream();
    float *values = context.rank ? onDevice<float>(count) : toDevice(constant(7));
    for (int repetition = 0; repetition < 3; ++repetition) {
      if (context.rank > 0)
        ncclRecv(values, count, TypeFloat32, context.rank - 1, comm, stream);
      if (context.rank < 3)
        ncclSend(values, count, TypeFloat32, context.rank + 1, comm, stream);
    }
    synchronizeDevice();
    expectAll(values, 7, "chain");
    requireSuccess(ncclCommDestroy(comm), "destroy");
  });
}

TEST(NcclMessages, OfNothingAreMessages) {
  expectRanksPass(2, [](const RankContext &context) {
    Comm comm = context.world();
    if (context.rank)
      requireSuccess(ncclRecv(nullptr, 0, TypeFloat32, 0, comm, nullptr), "receive");
    else
      requireSuccess(ncclSend(nullptr, 0, TypeFloat32, 1, comm, nullptr), "send");
    synchronizeDevice();
  });
}

TEST(NcclSplit, ByColorAndKey) {
  expectRanksPass(4, [](const RankContext &context) {
    Comm world = context.world(), half = nullptr, reversed = nullptr, some = nullptr;
    requireSuccess(ncclCommSplit(world, context.rank / 2, 0, &half, nullptr), "split");
    requireSuccess(ncclCommSplit(world, 0, -context.rank, &reversed, nullptr), "split");
    int color = context.rank == 2 ? splitNoColor : 5;
    requireSuccess(ncclCommSplit(world, color, 0, &some, nullptr), "split");
    int ranks = 0, rank = 0;
    ncclCommCount(half, &ranks);
    ncclCommUserRank(half, &rank);
    require(ranks == 2 && rank == context.rank % 2, "halves");
    ncclCommUserRank(reversed, &rank);
    require(rank == 3 - context.rank, "keys order ranks");
    require((some == nullptr) == (context.rank == 2), "no color, no communicator");
    float *values = toDevice(constant(float(1 << context.rank)));
    float *all = onDevice<float>(count), *part = onDevice<float>(count);
    float *root = onDevice<float>(count);
    allReduce(values, part, half, nullptr);
    if (some)
      allReduce(values, all, some, nullptr);
    ncclBroadcast(values, root, count, TypeFloat32, 0, reversed, nullptr);
    synchronizeDevice();
    expectAll(part, context.rank < 2 ? 3 : 12, "halves");
    if (some)
      expectAll(all, 11, "without rank 2");
    expectAll(root, 8, "rank 0 of the reversed ranks");
    for (Comm comm : {half, reversed, some, world})
      requireSuccess(ncclCommDestroy(comm), "destroy");
  });
}

TEST(NcclSplit, OfASplit) {
  expectRanksPass(8, [](const RankContext &context) {
    Comm world = context.world(), half = nullptr, quarter = nullptr;
    requireSuccess(ncclCommSplit(world, context.rank % 2, 0, &half, nullptr), "split");
    requireSuccess(ncclCommSplit(half, context.rank / 4, 0, &quarter, nullptr), "split");
    float *values = toDevice(constant(float(1 << context.rank))), *sum = onDevice<float>(count);
    allReduce(values, sum, quarter, nullptr);
    synchronizeDevice();
    int base = context.rank / 4 * 4 + context.rank % 2;
    expectAll(sum, float((1 << base) + (1 << (base + 2))), "quarters");
  });
}

TEST(NcclStreams, LaunchesOfACommunicatorRunInTheirOrder) {
  for (const char *seed : {"ULSC_SIMULATOR_SEED=1", "ULSC_SIMULATOR_SEED=2",
                           "ULSC_SIMULATOR_SEED=3", "ULSC_SIMULATOR_SEED=4"}) {
    auto ends =
        runRanks(2,
                 [](const RankContext &context) {
                   Comm comm = context.world();
                   std::vector<nccl::Stream> streams{makeStream(), makeStream(), makeStream()};
                   std::vector<float *> buffers;
                   for (int i = 0; i < 12; ++i) {
                     buffers.push_back(toDevice(constant(float(i))));
                     allReduce(buffers.back(), buffers.back(), comm, streams[size_t(i % 3)]);
                   }
                   synchronizeDevice();
                   for (int i = 0; i < 12; ++i)
                     expectAll(buffers[size_t(i)], float(2 * i), "all-reduce on several streams");
                   requireSuccess(ncclCommDestroy(comm), "destroy");
                 },
                 {seed});
    for (const RankEnd &end : ends)
      EXPECT_EQ(end.exitCode, 0) << end.errors;
  }
}

TEST(NcclStreams, TwoCommunicatorsInOneOrder) {
  expectRanksPass(2, [](const RankContext &context) {
    Comm world = context.world(), other = nullptr;
    requireSuccess(ncclCommSplit(world, 0, 0, &other, nullptr), "split");
    nccl::Stream first = makeStream(), second = makeStream();
    float *a = toDevice(constant(1)), *b = toDevice(constant(2));
    for (int i = 0; i < 4; ++i) {
      allReduce(a, a, world, first);
      allReduce(b, b, other, second);
    }
    synchronizeDevice();
    expectAll(a, 16, "first communicator");
    expectAll(b, 32, "second communicator");
    requireSuccess(ncclCommDestroy(other), "destroy");
    requireSuccess(ncclCommDestroy(world), "destroy");
  });
}

TEST(NcclStreams, DestructionFlushes) {
  expectRanksPass(2, [](const RankContext &context) {
    Comm comm = context.world();
    float *values = toDevice(constant(1));
    allReduce(values, values, comm, makeStream());
    if (context.rank) {
      requireSuccess(ncclCommFinalize(comm), "finalize");
      expectAll(values, 2, "after the flush");
    }
    requireSuccess(ncclCommDestroy(comm), "destroy");
    expectAll(values, 2, "after the end");
  });
}

/// Bytes of the memory files that this rank and its peers share.
int64_t sharedBytes() {
  int64_t bytes = 0;
  for (int file = 0; file < 256; ++file) {
    char target[256] = {};
    std::string link = text("/proc/self/fd/", file);
    struct stat status;
    if (readlink(link.c_str(), target, sizeof(target) - 1) > 0 &&
        std::strstr(target, "ulsc-nccl-rank") && fstat(file, &status) == 0)
      bytes += status.st_blocks * 512;
  }
  return bytes;
}

// What was announced and sent is given back: here 9 MiB of announcements and 80 MiB of values.
TEST(NcclStreams, LongRunsDoNotGrow) {
  expectRanksPass(2, [](const RankContext &context) {
    Comm comm = context.world();
    nccl::Stream stream = makeStream();
    std::vector<float *> buffers;
    for (int i = 0; i < 10; ++i)
      buffers.push_back(toDevice(constant(0)));
    float *sent = toDevice(constant(0)), *received = onDevice<float>(count);
    for (int launch = 0; launch < 1000; ++launch) {
      ncclGroupStart();
      for (float *buffer : buffers)
        allReduce(buffer, buffer, comm, stream);
      ncclSend(sent, count, TypeFloat32, 1 - context.rank, comm, stream);
      ncclRecv(received, count, TypeFloat32, 1 - context.rank, comm, stream);
      ncclGroupEnd();
      if (launch % 4 == 3)
        synchronizeStream(handle(stream));
    }
    require(sharedBytes() > 0 && sharedBytes() < 6 << 20, text(sharedBytes(), " bytes shared"));
    requireSuccess(ncclCommDestroy(comm), "destroy");
  });
}

// A rank that is busy outside the device must not keep others waiting: devices work on their own.
TEST(NcclStreams, AdvanceWhileTheHostIsElsewhere) {
  int words[2];
  ASSERT_EQ(pipe(words), 0);
  expectRanksPass(2, [&](const RankContext &context) {
    Comm comm = context.world();
    nccl::Stream stream = makeStream();
    float *values = toDevice(constant(1));
    allReduce(values, values, comm, stream);
    char word = 'x';
    if (context.rank) {
      synchronizeStream(handle(stream));
      require(write(words[1], &word, 1) == 1, "write");
    } else {
      require(read(words[0], &word, 1) == 1, "read"); // before any synchronisation
      synchronizeStream(handle(stream));
    }
    expectAll(values, 2, "all-reduce");
  });
  close(words[0]);
  close(words[1]);
}

TEST(NcclGraphs, LaunchTheirCollectivesAgain) {
  expectRanksPass(2, [](const RankContext &context) {
    Comm comm = context.world();
    nccl::Stream stream = makeStream(), second = makeStream();
    float *values = toDevice(constant(1)), *other = toDevice(constant(float(context.rank)));
    EventHandle fork = createEvent(), join = createEvent();
    require(beginCapture(handle(stream), CaptureMode::Strict) == Status::Success, "capture");
    recordEvent(fork, handle(stream));
    waitEvent(handle(second), fork);
    allReduce(values, values, comm, stream);
    allReduce(other, other, comm, second);
    recordEvent(join, handle(second));
    waitEvent(handle(stream), join);
    Graph *graph = nullptr;
    require(endCapture(handle(stream), graph) == Status::Success, "end of the capture");
    GraphExec *exec = instantiate(*graph);
    synchronizeDevice();
    expectAll(values, 1, "nothing runs while it is captured");
    for (int launch = 0; launch < 3; ++launch) {
      require(launchGraph(*exec, handle(stream)) == Status::Success, "launch");
      allReduce(values, values, comm, stream); // in between, directly
    }
    synchronizeDevice();
    expectAll(values, 64, "three launches and three direct calls");
    expectAll(other, 4, "the forked stream's");
    destroyGraphExec(exec);
    destroyGraph(graph);
    requireSuccess(ncclCommDestroy(comm), "destroy");
  });
}

} // namespace
} // namespace ulsc::simulator::test
