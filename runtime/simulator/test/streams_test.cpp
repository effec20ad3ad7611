// Streams, events, copies and capture: what lacks an order is found under every seed, what has one
// runs right under every seed.
#include "device_program.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace ulsc;
using namespace ulsc::simulator::test;

namespace {

constexpr int seeds = 20, words = 1024;
constexpr int reportExitCode = 86;

void expect(bool condition, const char *what) {
  if (!condition)
    throw std::runtime_error(what);
}

void expectFine(const Outcome &outcome) { EXPECT_EQ(outcome.exitCode, 0) << outcome.errors; }

void expectReport(const Outcome &outcome, const std::vector<std::string> &parts) {
  EXPECT_EQ(outcome.exitCode, reportExitCode) << outcome.errors;
  for (const std::string &part : parts)
    EXPECT_NE(outcome.errors.find(part), std::string::npos) << "no '" << part << "' in\n"
                                                            << outcome.errors;
}

const char *const kernels = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 p, .param .u32 value)
{
.reg .b32 %r<8>;
.reg .b64 %rd<8>;
ld.param.u64 %rd1, [p];
ld.param.u32 %r1, [value];
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ntid.x;
mad.lo.u32 %r5, %r3, %r4, %r2;
mul.wide.u32 %rd2, %r5, 4;
add.s64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r1;
ret;
}
.visible .entry add(.param .u64 p, .param .u64 q)
{
.reg .b32 %r<8>;
.reg .b64 %rd<8>;
ld.param.u64 %rd1, [p];
ld.param.u64 %rd4, [q];
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ntid.x;
mad.lo.u32 %r5, %r3, %r4, %r2;
mul.wide.u32 %rd2, %r5, 4;
add.s64 %rd3, %rd1, %rd2;
add.s64 %rd5, %rd4, %rd2;
ld.global.u32 %r6, [%rd3];
ld.global.u32 %r7, [%rd5];
add.s32 %r6, %r6, %r7;
st.global.u32 [%rd3], %r6;
ret;
}
)";

/// Two streams, an event, and kernels that fill and add.
struct TwoStreams {
  TwoStreams() : program((begin(), kernels)), a(words), b(words) {
    for (cuda::Stream *stream : {&first, &second})
      check(cuStreamCreateWithPriority(stream, cuda::StreamNonBlocking, 0));
    check(cuEventCreate(&event, cuda::EventDisableTiming));
  }
  void fill(Buffer<int> &buffer, int value, cuda::Stream stream) {
    ulsc_simulator_set_source(&buffer == &a ? "fill a" : "fill b");
    launch(program.function("fill"), {words / 256, 256, 1, 0, stream}, buffer.pointer(), value);
  }
  void add(cuda::Stream stream) {
    ulsc_simulator_set_source("add b to a");
    launch(program.function("add"), {words / 256, 256, 1, 0, stream}, a.pointer(), b.pointer());
  }
  void order(cuda::Stream from, cuda::Stream to) {
    check(cuEventRecord(event, from));
    check(cuStreamWaitEvent(to, event, 0));
  }
  void expectSum(int value) {
    for (int each : a.read())
      expect(each == value, "the sum is wrong");
  }

  Program program;
  Buffer<int> a, b;
  cuda::Stream first = nullptr, second = nullptr;
  cuda::Event event = nullptr;
};

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
    EXPECT_EQ(outcome.exitCode, reportExitCode) << outcome.errors;
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

// Capture.

namespace {

/// Captures a fork and a join: fill a on one stream, fill b on the other, add.
cuda::Graph captureFillAndAdd(TwoStreams &streams, bool waits = true) {
  check(cuStreamBeginCapture_v2(streams.first, cuda::CaptureGlobal));
  streams.order(streams.first, streams.second);
  streams.fill(streams.a, 3, streams.first);
  streams.fill(streams.b, 4, streams.second);
  if (waits)
    streams.order(streams.second, streams.first);
  streams.add(streams.first);
  if (!waits)
    streams.order(streams.second, streams.first);
  cuda::Graph graph = nullptr;
  check(cuStreamEndCapture(streams.first, &graph));
  return graph;
}

} // namespace

TEST(Capture, GraphRunsAgainUnderEverySeed) {
  for (int seed = 0; seed < seeds; ++seed)
    expectFine(runWithSeed(seed, [] {
      TwoStreams streams;
      cuda::Graph graph = captureFillAndAdd(streams);
      size_t nodes = 0;
      check(cuGraphGetNodes(graph, nullptr, &nodes));
      expect(nodes == 3, "the graph has another number of nodes");
      cuda::GraphExec exec = nullptr;
      check(cuGraphInstantiateWithFlags(&exec, graph, 0));
      check(cuGraphDestroy(graph));
      for (int i = 0; i < 3; ++i) {
        check(cuGraphLaunch(exec, streams.second));
        streams.add(streams.second); // after the graph, before the next launch
      }
      check(cuStreamSynchronize(streams.second));
      streams.expectSum(11);
      check(cuGraphExecDestroy(exec));
    }));
}

TEST(Capture, NothingRunsWhileCaptured) {
  expectFine(runWithSeed(0, [] {
    TwoStreams streams;
    streams.fill(streams.a, 1, streams.first);
    check(cuCtxSynchronize());
    captureFillAndAdd(streams);
    check(cuCtxSynchronize());
    streams.expectSum(1);
  }));
}

TEST(Capture, MissingEventInAGraphIsReportedUnderEverySeed) {
  for (int seed = 0; seed < seeds; ++seed) {
    Outcome outcome = runWithSeed(seed, [] {
      TwoStreams streams;
      streams.fill(streams.b, 0, streams.first);
      cuda::Graph graph = nullptr;
      check(cuStreamSynchronize(streams.first));
      graph = captureFillAndAdd(streams, false);
      cuda::GraphExec exec = nullptr;
      check(cuGraphInstantiateWithFlags(&exec, graph, 0));
      check(cuGraphLaunch(exec, streams.first));
      check(cuCtxSynchronize());
    });
    expectReport(outcome, {"race: ", "(source fill b)", "(source add b to a)"});
  }
}

TEST(Capture, MisuseIsRefused) {
  auto expectResult = [](Result expected, const std::function<Result(TwoStreams &)> &call) {
    expectFine(runWithSeed(0, [&] {
      TwoStreams streams;
      streams.fill(streams.a, 1, streams.second);
      check(cuEventRecord(streams.event, streams.second));
      check(cuCtxSynchronize());
      check(cuStreamBeginCapture_v2(streams.first, cuda::CaptureGlobal));
      Result result = call(streams);
      if (result != expected)
        throw std::runtime_error("returned " + std::to_string(result) + " instead of " +
                                 std::to_string(expected));
    }));
  };
  cuda::Graph graph = nullptr;
  cuda::DevicePointer pointer = 0;
  expectResult(cuda::CaptureUnsupported,
               [](TwoStreams &s) { return cuStreamSynchronize(s.first); });
  expectResult(cuda::CaptureUnsupported, [](TwoStreams &) { return cuCtxSynchronize(); });
  expectResult(cuda::CaptureUnsupported, [](TwoStreams &s) { return cuStreamQuery(s.first); });
  expectResult(cuda::CaptureUnsupported, [&](TwoStreams &) { return cuMemAlloc_v2(&pointer, 4); });
  expectResult(cuda::CaptureUnsupported,
               [](TwoStreams &s) { return cuStreamBeginCapture_v2(s.first, cuda::CaptureGlobal); });
  expectResult(cuda::CaptureIsolation,
               [](TwoStreams &s) { return cuStreamWaitEvent(s.first, s.event, 0); });
  expectResult(cuda::CaptureUnmatched,
               [&](TwoStreams &s) { return cuStreamEndCapture(s.second, &graph); });
  expectResult(cuda::CapturedEvent, [](TwoStreams &s) {
    check(cuEventRecord(s.event, s.first));
    return cuEventQuery(s.event);
  });
  expectResult(cuda::CaptureUnjoined, [&](TwoStreams &s) {
    s.order(s.first, s.second);
    s.fill(s.a, 2, s.second);
    return cuStreamEndCapture(s.first, &graph);
  });
  expectResult(cuda::CaptureInvalidated, [&](TwoStreams &s) {
    cuStreamSynchronize(s.first); // spoils the capture
    return cuStreamEndCapture(s.first, &graph);
  });
  expectResult(cuda::CaptureImplicit, [](TwoStreams &s) {
    cuda::Stream blocking = nullptr;
    check(cuStreamCreateWithPriority(&blocking, 0, 0));
    s.order(s.first, blocking);
    return cuMemsetD8Async(s.a.address, 0, 4, nullptr);
  });
  expectResult(cuda::CaptureMerge, [](TwoStreams &s) {
    check(cuStreamBeginCapture_v2(s.second, cuda::CaptureGlobal));
    check(cuEventRecord(s.event, s.second));
    return cuStreamWaitEvent(s.first, s.event, 0);
  });
}
