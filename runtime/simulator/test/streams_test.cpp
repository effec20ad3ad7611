// Streams, events and copies: what lacks an order is found under every seed, what has one runs
// right under every seed.
#include "two_streams.h"

#include <cstring>

using namespace ulsc;
using namespace ulsc::simulator::test;

namespace {

/// Fills a and b on two streams and adds; `waits` tells whether the event between is there.
void fillAndAdd(bool waits) {
  TwoStreams streams;
  streams.fill(streams.a, 3, streams.first);
  streams.fill(streams.b, 4, streams.second);
  if (waits)
    streams.order(streams.second, streams.first);
  streams.add(streams.first);
  check(cuCtxSynchronize());
  streams.expectSum(7);
}

} // namespace

TEST(Streams, OrderedWorkIsRightUnderEverySeed) {
  for (int seed = 0; seed < seeds; ++seed)
    expectFine(runWithSeed(seed, [] { fillAndAdd(true); }));
}

TEST(Streams, MissingEventIsReportedUnderEverySeed) {
  for (int seed = 0; seed < seeds; ++seed) {
    Outcome outcome = runWithSeed(seed, [] { fillAndAdd(false); });
    EXPECT_EQ(outcome.exitCode, expectedExitCode) << outcome.errors;
    // The kernel that reads before anything has been written finds no values.
    bool isNamed =
        outcome.errors.find("race: two operations that nothing orders") != std::string::npos ||
        outcome.errors.find("uninitialised: a thread reads") != std::string::npos;
    EXPECT_TRUE(isNamed) << outcome.errors;
    EXPECT_NE(outcome.errors.find("(source add b to a)"), std::string::npos) << outcome.errors;
  }
}

TEST(Streams, RaceNamesBothOperationsAndTheThread) {
  expectReport(
      runWithSeed(0,
                  [] {
                    TwoStreams streams;
                    streams.fill(streams.a, 1, streams.first);
                    streams.fill(streams.a, 2, streams.second);
                    check(cuCtxSynchronize());
                  }),
      {"race: two operations that nothing orders use the same memory",
       "one: 'fill' (source fill a), operation 1 of stream ", " writes it",
       "other: 'fill' (source fill a)", "address: 0x", "of allocation 1 of 4096 bytes",
       "access: thread (", "PTX line 17: st.global.u32",
       "legal: an event recorded after one and waited for before the other, or one stream"});
}

TEST(Streams, ReadersOfTwoStreamsAndALaterWriter) {
  auto program = [](bool waitsForBoth) {
    TwoStreams streams;
    streams.fill(streams.b, 4, streams.first);
    Buffer<int> other(std::vector<int>(words, 1));
    check(cuCtxSynchronize());
    auto read = [&](int *target, cuda::Stream stream) {
      check(
          cuMemcpyDtoDAsync_v2(cuda::DevicePointer(target), streams.b.address, words * 4, stream));
    };
    read(streams.a.pointer(), streams.first);
    read(other.pointer(), streams.second);
    if (waitsForBoth)
      streams.order(streams.second, streams.first);
    streams.fill(streams.b, 5, streams.first);
    check(cuCtxSynchronize());
  };
  for (int seed = 0; seed < seeds; ++seed) {
    expectFine(runWithSeed(seed, [&] { program(true); }));
    expectReport(runWithSeed(seed, [&] { program(false); }), {"race: ", "'cuMemcpyDtoDAsync'"});
  }
}

TEST(Streams, EventsOrderNothingAfterTheirRecord) {
  for (int seed = 0; seed < seeds; ++seed)
    expectReport(runWithSeed(seed,
                             [] {
                               TwoStreams streams;
                               streams.fill(streams.a, 1, streams.first);
                               streams.order(streams.first, streams.second);
                               streams.fill(streams.a, 2, streams.first); // after the record
                               streams.fill(streams.a, 3, streams.second);
                               check(cuCtxSynchronize());
                             }),
                 {"race: "});
}

TEST(Streams, LegacyStreamIsOrderedWithBlockingStreams) {
  for (int seed = 0; seed < seeds; ++seed)
    expectFine(runWithSeed(seed, [] {
      TwoStreams streams;
      cuda::Stream blocking = nullptr;
      check(cuStreamCreateWithPriority(&blocking, 0, 0));
      streams.fill(streams.a, 1, blocking);
      streams.fill(streams.b, 2, nullptr);
      streams.add(blocking);
      streams.add(nullptr);
      check(cuCtxSynchronize());
      streams.expectSum(5);
    }));
  expectReport(runWithSeed(0,
                           [] {
                             TwoStreams streams;
                             streams.fill(streams.a, 1, streams.first);
                             streams.fill(streams.a, 2, nullptr);
                             check(cuCtxSynchronize());
                           }),
               {"race: "});
}

TEST(Streams, HostWaitsOrderWhatComesLater) {
  for (int seed = 0; seed < seeds; ++seed)
    expectFine(runWithSeed(seed, [] {
      TwoStreams streams;
      streams.fill(streams.a, 1, streams.first);
      check(cuEventRecord(streams.event, streams.first));
      check(cuEventSynchronize(streams.event));
      streams.fill(streams.a, 2, streams.second);
      while (cuStreamQuery(streams.second) == cuda::NotReady) {
      }
      streams.fill(streams.a, 3, streams.first);
      check(cuStreamSynchronize(streams.first));
      streams.expectSum(3);
    }));
}

TEST(Copies, PageableMemoryIsStaged) {
  expectFine(runWithSeed(3, [] {
    TwoStreams streams;
    std::vector<int> host(words, 5);
    check(cuMemcpyHtoDAsync_v2(streams.a.address, host.data(), words * 4, streams.first));
    std::memset(host.data(), 0, words * 4);
    check(cuStreamSynchronize(streams.first));
    streams.expectSum(5);
  }));
}

TEST(Copies, HostChangesPinnedMemoryTooEarly) {
  auto program = [](bool waits) {
    TwoStreams streams;
    void *host = nullptr;
    check(cuMemHostAlloc(&host, words * 4, 0));
    std::memset(host, 1, words * 4);
    check(cuMemcpyHtoDAsync_v2(streams.a.address, host, words * 4, streams.first));
    if (waits)
      check(cuStreamSynchronize(streams.first));
    std::memset(host, 2, words * 4);
    check(cuCtxSynchronize());
  };
  expectFine(runWithSeed(0, [&] { program(true); }));
  expectReport(runWithSeed(0, [&] { program(false); }),
               {"host-race: the host changed pinned memory", "'cuMemcpyHtoDAsync'"});
}

TEST(Copies, OutOfBoundsAndUninitialised) {
  expectReport(runWithSeed(0,
                           [] {
                             TwoStreams streams;
                             std::vector<int> host(words + 1);
                             check(cuMemcpyHtoD_v2(streams.a.address, host.data(), words * 4 + 4));
                           }),
               {"out-of-bounds: 'cuMemcpyHtoD'", "writes: 4100 bytes at",
                "0 bytes past the end of allocation 1"});
  expectReport(runWithSeed(0,
                           [] {
                             TwoStreams streams;
                             check(cudaMemset(streams.a.pointer(), 0, 16));
                             std::vector<int> host(words);
                             check(cuMemcpyDtoH_v2(host.data(), streams.a.address, words * 4));
                           }),
               {"uninitialised: 'cuMemcpyDtoH'", "first bad byte: 0x", "byte 16 of allocation 1"});
}

TEST(Memory, LimitsAndWrongFrees) {
  expectFine(runInChild(
      [] {
        begin();
        cuda::DevicePointer pointer = 0, other = 0;
        expect(cuMemAlloc_v2(&pointer, 5 << 20) == cuda::OutOfMemory, "too much memory was given");
        check(cuMemAlloc_v2(&pointer, 3 << 20));
        expect(cuMemAlloc_v2(&other, 3 << 20) == cuda::OutOfMemory, "too much memory was given");
        size_t free = 0, total = 0;
        check(cuMemGetInfo_v2(&free, &total));
        expect(free == 1 << 20 && total == 4 << 20, "the sizes are wrong");
        expect(cuMemFree_v2(pointer + 4) == cuda::InvalidValue, "an inner address was freed");
        for (int i = 0; i < 20; ++i) { // more than the addresses that are reserved
          check(cuMemFree_v2(pointer));
          check(cuMemAlloc_v2(&pointer, 3 << 20));
        }
      },
      {{"ULSC_SIMULATOR_MEMORY", "4194304"}}));
}

TEST(Settings, WrongValuesAreReported) {
  expectReport(runInChild([] { begin(), Buffer<int>(1); }, {{"ULSC_SIMULATOR_SEED", "many"}}),
               {"environment: ULSC_SIMULATOR_SEED is 'many'"});
  expectReport(runInChild([] { begin(), Buffer<int>(1); }, {{"ULSC_SIMULATOR_ARCH", "9"}}),
               {"environment: ULSC_SIMULATOR_ARCH is '9'"});
}

TEST(Settings, RacesCanBeIgnored) {
  for (int seed = 0; seed < 4; ++seed)
    expectFine(runInChild(
        [] {
          TwoStreams streams;
          streams.fill(streams.a, 1, streams.first);
          streams.fill(streams.a, 2, streams.second);
          check(cuCtxSynchronize());
        },
        {{"ULSC_SIMULATOR_RACES", "0"}, {"ULSC_SIMULATOR_SEED", std::to_string(seed)}}));
}
