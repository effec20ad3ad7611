// Every fault of a kernel is found and named. Each runs in a child that must end with the report.
#include "device_program.h"

#include <gtest/gtest.h>

using namespace ulsc;
using namespace ulsc::simulator::test;

namespace {

constexpr int reportExitCode = 86;

/// The child ended with a report that has all these words.
void expectReport(const Outcome &outcome, const std::vector<std::string> &words) {
  EXPECT_EQ(outcome.exitCode, reportExitCode) << outcome.errors;
  EXPECT_EQ(outcome.errors.rfind("simulated device: ", 0), 0u) << outcome.errors;
  for (const std::string &word : words)
    EXPECT_NE(outcome.errors.find(word), std::string::npos) << "no '" << word << "' in\n"
                                                            << outcome.errors;
}

/// Runs a kernel of `threads` threads and blocks on a buffer of `words` words that hold 7.
Outcome runKernel(const std::string &ptx, unsigned threads = 64, unsigned blocks = 1,
                  size_t words = 64, int seed = 0) {
  return runWithSeed(seed, [&] {
    begin();
    Program program(ptx);
    Buffer<int> buffer(std::vector<int>(words, 7));
    ulsc_simulator_set_source("layer.3/softmax");
    launch(program.function("k"), {blocks, threads}, buffer.pointer());
    check(cuCtxSynchronize());
  });
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  if (at == std::string::npos)
    throw std::runtime_error("no '" + from + "' in the kernel");
  return text.replace(at, from.size(), to);
}

const std::string index4 = "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n";

/// Thread i writes shared word i and reads word 63 - i.
const std::string exchange = kernelText(index4 + R"(
mov.u32 %r2, tile;
shl.b32 %r3, %r1, 2;
add.s32 %r4, %r2, %r3;
st.shared.u32 [%r4], %r1;
bar.sync 0;
sub.s32 %r5, %r2, %r3;
ld.shared.u32 %r6, [%r5+252];
st.global.u32 [%rd3], %r6;
)",
                                        ".shared .align 4 .b8 tile[256];");

} // namespace

TEST(Faults, CorrectKernelHasNone) {
  for (int seed = 0; seed < 20; ++seed) {
    Outcome outcome = runKernel(exchange, 64, 1, 64, seed);
    EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  }
}

TEST(Faults, RemovedBarrierIsARaceUnderEverySeed) {
  for (int seed = 0; seed < 20; ++seed) {
    Outcome outcome = runKernel(replaced(exchange, "bar.sync 0;", ""), 64, 1, 64, seed);
    EXPECT_EQ(outcome.exitCode, reportExitCode) << outcome.errors;
    // Which side comes first differs: a reader may find the word still without a value.
    bool isNamed =
        outcome.errors.find("race: two threads of a block") != std::string::npos ||
        outcome.errors.find("uninitialised: a thread reads 4 bytes") != std::string::npos;
    EXPECT_TRUE(isNamed) << outcome.errors;
    EXPECT_NE(outcome.errors.find("of 'tile' of 256 bytes"), std::string::npos) << outcome.errors;
  }
}

TEST(Faults, RaceInsideABlockNamesBothSides) {
  std::string ptx = kernelText(R"(
st.global.u32 [%rd1], %r1;
ld.global.u32 %r2, [%rd1+4];
)");
  expectReport(
      runKernel(ptx),
      {"race: two threads of a block use the same bytes without a barrier between",
       "operation: 'k' (source layer.3/softmax), operation ", " of stream 0",
       "one: thread (0,0,0) of block (0,0,0) writes it, PTX line 15: st.global.u32 [%rd1], %r1;",
       "other: thread (1,0,0) of block (0,0,0) writes it, PTX line 15",
       "byte 0 of allocation 1 of 256 bytes", "legal: bar.sync between them"});
}

TEST(Faults, ReadThenWriteWithoutBarrier) {
  std::string ptx = kernelText(R"(
ld.global.u32 %r2, [%rd1];
setp.ne.u32 %p1, %r1, 63;
@%p1 bra DONE;
st.global.u32 [%rd1], %r2;
DONE:
)");
  for (int seed = 0; seed < 8; ++seed)
    expectReport(runKernel(ptx, 64, 1, 64, seed),
                 {"race: two threads of a block", "reads it", "writes it"});
  std::string fixed = replaced(ptx, "setp.ne", "bar.sync 0;\nsetp.ne");
  EXPECT_EQ(runKernel(fixed).exitCode, 0);
}

TEST(Faults, BlocksHaveNoOrder) {
  std::string ptx = kernelText(R"(
setp.ne.u32 %p1, %r1, 0;
@%p1 bra DONE;
mov.u32 %r2, %ctaid.x;
st.global.u32 [%rd1+16], %r2;
DONE:
bar.sync 0;
)");
  for (int seed = 0; seed < 4; ++seed)
    expectReport(runKernel(ptx, 64, 2, 64, seed),
                 {"race: threads of two blocks use the same bytes", "of block (0,0,0)",
                  "of block (1,0,0)", "byte 16 of allocation 1"});
}

TEST(Faults, AtomicsOfBlocksAreNoRace) {
  std::string ptx =
      kernelText("red.global.add.u32 [%rd1], 1;\natom.global.max.u32 %r2, [%rd1+4], %r1;");
  Outcome outcome = runKernel(ptx, 64, 4);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
}

TEST(Faults, AtomicAndPlainReadRace) {
  std::string ptx = kernelText("red.global.add.u32 [%rd1], 1;\nld.global.u32 %r2, [%rd1];");
  expectReport(runKernel(ptx),
               {"race: two threads of a block", "writes it atomically", "reads it"});
}

TEST(Faults, HalfWordsOfNeighboursAreNoRace) {
  std::string ptx = kernelText(R"(
mul.wide.u32 %rd2, %r1, 2;
add.s64 %rd3, %rd1, %rd2;
cvt.u16.u32 %h1, %r1;
st.global.u16 [%rd3], %h1;
)");
  EXPECT_EQ(runKernel(ptx).exitCode, 0);
  // The second block writes the same halves.
  expectReport(runKernel(ptx, 64, 2), {"race: threads of two blocks"});
}

TEST(Faults, WarpSyncOrdersLanes) {
  std::string ptx = kernelText(R"(
mov.u32 %r2, tile;
shl.b32 %r3, %r1, 2;
add.s32 %r4, %r2, %r3;
st.shared.u32 [%r4], %r1;
bar.warp.sync -1;
sub.s32 %r5, %r2, %r3;
ld.shared.u32 %r6, [%r5+124];
)",
                               ".shared .align 4 .b8 tile[128];");
  EXPECT_EQ(runKernel(ptx, 32).exitCode, 0);
  expectReport(runKernel(replaced(ptx, "bar.warp.sync -1;", ""), 32),
               {"race: two threads of a block"});
}

TEST(Faults, BarrierUnderADivergentBranch) {
  std::string ptx = kernelText(R"(
setp.ge.u32 %p1, %r1, 16;
@%p1 bra DONE;
bar.sync 0;
DONE:
)");
  for (int seed = 0; seed < 20; ++seed)
    expectReport(runKernel(ptx, 64, 1, 64, seed),
                 {"divergence: ", "of block (0,0,0) at PTX line 17: bar.sync 0;",
                  "legal: barriers where all threads of the block take the same way"});
}

TEST(Faults, TwoBarriersOfOneWarp) {
  std::string ptx = kernelText(R"(
setp.ge.u32 %p1, %r1, 16;
@%p1 bra OTHER;
bar.sync 0;
bra DONE;
OTHER:
bar.sync 0;
DONE:
)");
  expectReport(runKernel(ptx, 32),
               {"divergence: threads of one warp come to a barrier without the others",
                "PTX line 17: bar.sync 0;", "PTX line 20: bar.sync 0;"});
}

TEST(Faults, AWarpWithoutTheBarrier) {
  std::string ptx = kernelText(R"(
setp.ge.u32 %p1, %r1, 32;
@%p1 bra DONE;
bar.sync 0;
DONE:
)");
  expectReport(runKernel(ptx),
               {"divergence: a barrier never completes", "has finished without it"});
}

TEST(Faults, ShuffleOfAnInactiveLane) {
  std::string ptx = kernelText(R"(
setp.ge.u32 %p1, %r1, 20;
@%p1 bra DONE;
shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;
DONE:
)");
  expectReport(runKernel(ptx, 32),
               {"inactive-lane: a shuffle reads lane ", "PTX line 17: shfl.sync.bfly.b32"});
  std::string own = replaced(ptx, "31, -1", "31, 1");
  expectReport(runKernel(own, 32), {"inactive-lane: a thread is not in its own mask"});
}

TEST(Faults, MisalignedVector) {
  std::string ptx = kernelText("mul.wide.u32 %rd2, %r1, 16;\nadd.s64 %rd3, %rd1, "
                               "%rd2;\nld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd3+4];");
  expectReport(runKernel(ptx, 8),
               {"misaligned: a thread reads 16 bytes at an address that is no multiple of 16",
                "thread (0,0,0) of block (0,0,0)", "PTX line 16: ld.global.v4.u32",
                "byte 4 of allocation 1 of 256 bytes"});
}

TEST(Faults, SharedVariableThatIsOnlyAlignedByLuck) {
  std::string ptx = kernelText(R"(
mov.u32 %r2, tile;
st.shared.v4.u32 [%r2], {%r1, %r1, %r1, %r1};
)",
                               ".shared .align 4 .b8 tile[16];");
  expectReport(runKernel(ptx, 1), {"misaligned: a thread writes 16 bytes"});
  EXPECT_EQ(runKernel(replaced(ptx, ".align 4 .b8 tile", ".align 16 .b8 tile"), 1).exitCode, 0);
}

TEST(Faults, OutOfBoundsTail) {
  std::string ptx = kernelText(index4 + "st.global.u32 [%rd3], %r1;");
  expectReport(runKernel(ptx, 64, 1, 60),
               {"out-of-bounds: a thread writes 4 bytes at a wrong address",
                "thread (60,0,0) of block (0,0,0)", "PTX line 16: st.global.u32 [%rd3], %r1;",
                "0 bytes past the end of allocation 1 of 240 bytes"});
}

TEST(Faults, OutOfBoundsOfASharedVariable) {
  std::string ptx = kernelText("mov.u32 %r2, tile;\nst.shared.u32 [%r2+64], %r1;",
                               ".shared .align 4 .b8 tile[64];\n.shared .align 4 .b8 other[64];");
  expectReport(runKernel(ptx, 1), {"out-of-bounds: a thread writes 4 bytes of shared memory",
                                   "0 bytes past the end of 'tile' of 64 bytes"});
}

TEST(Faults, HostPointerInAKernel) {
  Outcome outcome = runInChild([] {
    begin();
    Program program(kernelText("ld.global.u32 %r2, [%rd1];"));
    int host = 0;
    launch(program.function("k"), {1, 1}, &host);
    check(cuCtxSynchronize());
  });
  expectReport(outcome, {"out-of-bounds", "which is not an address of the device"});
}

TEST(Faults, UseAfterFree) {
  Outcome outcome = runInChild([] {
    begin();
    Program program(kernelText("st.global.u32 [%rd1], %r1;"));
    cuda::DevicePointer pointer = 0;
    check(cuMemAlloc_v2(&pointer, 64));
    check(cuMemFree_v2(pointer));
    launch(program.function("k"), {1, 1}, pointer);
    check(cuCtxSynchronize());
  });
  expectReport(outcome, {"use-after-free: a thread writes 4 bytes", "which has been freed"});
}

TEST(Faults, ReadAfterForget) {
  Outcome outcome = runInChild([] {
    begin();
    Program program(kernelText("ld.global.u32 %r2, [%rd1+8];"));
    Buffer<int> buffer(std::vector<int>(16, 1));
    launch(program.function("k"), {1, 1}, buffer.pointer());
    ulsc_simulator_set_source("layer.0/hidden");
    ulsc_simulator_forget(buffer.pointer(), 64, nullptr);
    launch(program.function("k"), {1, 1}, buffer.pointer());
    check(cuCtxSynchronize());
  });
  expectReport(
      outcome,
      {"uninitialised: a thread reads 4 bytes that hold no value", "byte 8 of allocation 1",
       "operation 5 of stream 0",
       "the buffer there has ended: 'end of a buffer' (source layer.0/hidden), operation 4 of"});
}

TEST(Faults, UninitialisedGlobalMemory) {
  Outcome outcome = runInChild([] {
    begin();
    Program program(kernelText(index4 + "ld.global.u32 %r2, [%rd3];"));
    Buffer<int> buffer(64);
    buffer.write(std::vector<int>(63, 1));
    launch(program.function("k"), {1, 64}, buffer.pointer());
    check(cuCtxSynchronize());
  });
  expectReport(outcome,
               {"uninitialised: ", "thread (63,0,0)", "byte 252 of allocation 1 of 256 bytes"});
}

TEST(Faults, UninitialisedSharedMemory) {
  std::string ptx =
      kernelText("mov.u32 %r2, tile;\nld.shared.u32 %r3, [%r2];", ".shared .align 4 .b8 tile[64];");
  expectReport(runKernel(ptx, 1), {"uninitialised: ", "byte 0 of 'tile' of 64 bytes"});
}

TEST(Faults, CopyThatNobodyWaitedFor) {
  std::string ptx = kernelText(R"(
mov.u32 %r2, tile;
cp.async.ca.shared.global [%r2], [%rd1], 16;
cp.async.commit_group;
cp.async.wait_group 0;
ld.shared.u32 %r3, [%r2];
st.global.u32 [%rd1+64], %r3;
)",
                               ".shared .align 16 .b8 tile[16];");
  EXPECT_EQ(runKernel(ptx, 1).exitCode, 0) << runKernel(ptx, 1).errors;
  expectReport(runKernel(replaced(ptx, "wait_group 0", "wait_group 1"), 1), {"uninitialised: "});
}

TEST(Faults, WriteToConstantMemory) {
  std::string ptx = kernelText("mov.u64 %rd2, table;\nst.u32 [%rd2], %r1;", "",
                               ".const .align 4 .u32 table = 5;");
  expectReport(runKernel(ptx, 1),
               {"constant: a thread writes to constant memory", "variable 'table'"});
}

TEST(Faults, Trap) {
  expectReport(runKernel(kernelText("trap;"), 1), {"trap: the kernel executes trap"});
}

TEST(Faults, WhatIsNotSimulatedIsRefusedWhenLoaded) {
  auto expectRefused = [](const std::string &body, const std::string &message) {
    expectReport(runKernel(kernelText(body)),
                 {"ptx: a module can't be loaded: PTX line 15: " + message});
  };
  expectRefused("\nfrobnicate.u32 %r1, %r1;", "instruction 'frobnicate.u32' is not simulated");
  expectRefused("\nadd.wild.u32 %r1, %r1, %r1;",
                "modifier '.wild' of 'add.wild.u32' is not simulated");
  expectRefused("\nadd.u128 %r1, %r1, %r1;", "'add.u128' has no type that is simulated");
  expectRefused("\n.surprise 4;", "directive '.surprise' is not simulated");
  expectRefused("\nadd.u32 %r1, %r99, %r1;", "register '%r99' is neither declared");
  expectRefused("\nmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 %r1, %r1, %r1, %r1;",
                "instruction 'mma");
  expectRefused("\nbra NOWHERE;", "label 'NOWHERE' doesn't exist");
}
