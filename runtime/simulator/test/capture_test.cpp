// Stream capture: graphs keep the order of what was captured, and misuse is refused.
#include "two_streams.h"

using namespace ulsc;
using namespace ulsc::simulator::test;

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

TEST(Capture, ExternalEventsAreRecordedByEachLaunch) {
  expectFine(runWithSeed(0, [] {
    TwoStreams streams;
    cuda::Event begin = nullptr, end = nullptr;
    check(cuEventCreate(&begin, cuda::EventDefault));
    check(cuEventCreate(&end, cuda::EventDefault));
    auto measure = [&](float &milliseconds) {
      return cuEventElapsedTime_v2(&milliseconds, begin, end);
    };
    auto record = [&](cuda::Event event) {
      return cuEventRecordWithFlags(event, streams.first, cuda::EventRecordExternal);
    };
    expect(record(begin) == cuda::InvalidValue, "an external record outside of a capture");
    check(cuStreamBeginCapture_v2(streams.first, cuda::CaptureThreadLocal));
    check(record(begin));
    streams.fill(streams.a, 3, streams.first);
    check(record(end));
    cuda::Graph graph = nullptr;
    cuda::GraphExec exec = nullptr;
    check(cuStreamEndCapture(streams.first, &graph));
    check(cuGraphInstantiateWithFlags(&exec, graph, 0));
    float milliseconds = -1;
    expect(measure(milliseconds) == cuda::InvalidHandle, "times of what was only captured");
    for (int i = 0; i < 2; ++i) {
      check(cuGraphLaunch(exec, streams.first));
      check(cuStreamSynchronize(streams.first));
      check(measure(milliseconds));
      expect(milliseconds > 0, "a kernel took no time");
    }
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
