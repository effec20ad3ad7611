// Two streams with kernels that fill and add, for tests of streams and of capture.
#ifndef ULSC_RUNTIME_SIMULATOR_TEST_TWO_STREAMS_H
#define ULSC_RUNTIME_SIMULATOR_TEST_TWO_STREAMS_H

#include "device_program.h"

#include <gtest/gtest.h>

namespace ulsc::simulator::test {

constexpr int seeds = 20, words = 1024;
constexpr int expectedExitCode = 86;

inline void expect(bool condition, const char *what) {
  if (!condition)
    throw std::runtime_error(what);
}

inline void expectFine(const Outcome &outcome) { EXPECT_EQ(outcome.exitCode, 0) << outcome.errors; }

inline void expectReport(const Outcome &outcome, const std::vector<std::string> &parts) {
  EXPECT_EQ(outcome.exitCode, expectedExitCode) << outcome.errors;
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

} // namespace ulsc::simulator::test

#endif // ULSC_RUNTIME_SIMULATOR_TEST_TWO_STREAMS_H
