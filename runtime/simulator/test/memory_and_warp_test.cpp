// Loads, stores, atomics, and what warps and blocks do together.
#include "instructions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace ulsc;
using namespace ulsc::simulator::test;

namespace {

Words indices(size_t count = 32) {
  Words result(count);
  for (size_t i = 0; i < count; ++i)
    result[i] = i;
  return result;
}

/// Runs `text` in 32 threads that hold their numbers in %r2 and expects `f` of the lane in %r5.
void expectLanes(const std::string &text, const std::function<uint64_t(uint64_t)> &f,
                 const std::string &declarations = "") {
  Words result = evaluate(text, 'r', indices(), {}, {}, declarations);
  for (size_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(result[lane], f(lane)) << text << " in lane " << lane;
}

} // namespace

TEST(Shuffles, AllModesAndSegments) {
  expectLanes("shfl.sync.bfly.b32 %r5, %r2, 5, 31, -1;", [](uint64_t i) { return i ^ 5; });
  expectLanes("shfl.sync.down.b32 %r5, %r2, 3, 31, -1;",
              [](uint64_t i) { return i + 3 < 32 ? i + 3 : i; });
  expectLanes("shfl.sync.up.b32 %r5, %r2, 3, 0, -1;",
              [](uint64_t i) { return i >= 3 ? i - 3 : i; });
  expectLanes("shfl.sync.idx.b32 %r5, %r2, 7, 31, -1;", [](uint64_t) { return 7; });
  // Segments of 8 lanes: c is 24 << 8 with the clamp of the mode.
  expectLanes("shfl.sync.idx.b32 %r5, %r2, 10, 6175, -1;", [](uint64_t i) { return (i & 24) | 2; });
  expectLanes("shfl.sync.down.b32 %r5, %r2, 3, 6151, -1;",
              [](uint64_t i) { return (i & 7) + 3 < 8 ? i + 3 : i; });
  expectLanes("shfl.sync.up.b32 %r5, %r2, 3, 6144, -1;",
              [](uint64_t i) { return (i & 7) >= 3 ? i - 3 : i; });
  expectLanes("shfl.sync.down.b32 %r6|%p1, %r2, 3, 31, -1; selp.u32 %r5, 1, 0, %p1;",
              [](uint64_t i) { return i + 3 < 32; });
}

TEST(Shuffles, HalvesOfAWarpWithTheirOwnMasks) {
  expectLanes(
      "and.b32 %r3, %r2, 16; setp.ne.u32 %p1, %r3, 0; selp.b32 %r4, 0xffff0000, 0xffff, %p1;\n"
      "shfl.sync.bfly.b32 %r5, %r2, 1, 31, %r4;",
      [](uint64_t i) { return i ^ 1; });
  expectLanes("setp.lt.u32 %p1, %r2, 16; mov.u32 %r5, 99;\n"
              "@%p1 shfl.sync.bfly.b32 %r5, %r2, 1, 31, 0xffff;",
              [](uint64_t i) { return i < 16 ? i ^ 1 : 99; });
}

TEST(Votes, OfAllAndSomeLanes) {
  std::string odd = "and.b32 %r3, %r2, 1; setp.ne.u32 %p2, %r3, 0;\n";
  expectLanes(odd + "vote.sync.ballot.b32 %r5, %p2, -1;", [](uint64_t) { return 0xaaaaaaaau; });
  expectLanes(odd + "vote.sync.any.pred %p1, %p2, -1; selp.u32 %r5, 1, 0, %p1;",
              [](uint64_t) { return 1; });
  expectLanes(odd + "vote.sync.all.pred %p1, !%p2, -1; selp.u32 %r5, 1, 0, %p1;",
              [](uint64_t) { return 0; });
  expectLanes(odd + "vote.sync.uni.pred %p1, %p2, -1; selp.u32 %r5, 1, 0, %p1;",
              [](uint64_t) { return 0; });
  expectLanes(odd + "mov.u32 %r5, 0; @%p2 activemask.b32 %r5;",
              [](uint64_t i) { return i & 1 ? 0xaaaaaaaau : 0; });
  expectLanes("redux.sync.add.u32 %r5, %r2, -1;", [](uint64_t) { return 496; });
  expectLanes("neg.s32 %r3, %r2; redux.sync.min.s32 %r5, %r3, -1;",
              [](uint64_t) { return 0xffffffe1u; });
  expectLanes("redux.sync.xor.b32 %r5, %r2, -1;", [](uint64_t) { return 0; });
  expectLanes("shr.u32 %r3, %r2, 3; match.any.sync.b32 %r5, %r3, -1;",
              [](uint64_t i) { return 0xffull << (i & 24); });
  expectLanes("mov.u32 %r5, %lanemask_lt;", [](uint64_t i) { return (1ull << i) - 1; });
  expectLanes("mov.u32 %r5, %lanemask_ge;",
              [](uint64_t i) { return (0xffffffffull << i) & 0xffffffff; });
}

TEST(Barriers, ReduceOverTheBlock) {
  Words result =
      evaluate("setp.lt.u32 %p2, %r2, 70; bar.red.popc.u32 %r5, 0, %p2;", 'r', indices(128));
  for (uint64_t each : result)
    EXPECT_EQ(each, 70u);
  result = evaluate("setp.lt.u32 %p2, %r2, 128; bar.red.and.pred %p1, 0, %p2;", 'p', indices(128));
  EXPECT_EQ(result, Words(128, 1));
  result = evaluate("setp.gt.u32 %p2, %r2, 128; bar.red.or.pred %p1, 0, %p2;", 'p', indices(128));
  EXPECT_EQ(result, Words(128, 0));
}

TEST(Barriers, SomeWarpsProduceAndSomeConsume) {
  // Warp 0 writes and arrives at barrier 1, warp 1 waits there and reads.
  std::string text = R"(
mov.u32 %r6, tile; and.b32 %r7, %r2, 31; shl.b32 %r7, %r7, 2; add.u32 %r6, %r6, %r7;
mov.u32 %r5, 0;
setp.ge.u32 %p1, %r2, 32;
@%p1 bra CONSUME;
st.shared.u32 [%r6], %r2;
bar.arrive 1, 64;
bra DONE;
CONSUME:
bar.sync 1, 64;
ld.shared.u32 %r5, [%r6];
DONE:)";
  Words result = evaluate(text, 'r', indices(64), {}, {}, ".shared .align 4 .b8 tile[128];");
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(result[i], i < 32 ? 0 : i - 32);
}

TEST(Branches, TablesAndLoops) {
  expectLanes(
      "and.b32 %r3, %r2, 3;\nT: .branchtargets L0, L1, L2, L3;\nbrx.idx %r3, T;\n"
      "L0: mov.u32 %r5, 10; bra E;\nL1: mov.u32 %r5, 11; bra E;\nL2: mov.u32 %r5, 12; bra E;\n"
      "L3: mov.u32 %r5, 13;\nE:",
      [](uint64_t i) { return 10 + (i & 3); });
  expectLanes("mov.u32 %r5, 0; mov.u32 %r3, 0;\nLOOP: setp.ge.u32 %p1, %r3, %r2;\n@%p1 bra E;\n"
              "add.u32 %r5, %r5, %r3; add.u32 %r3, %r3, 1; bra LOOP;\nE: bar.warp.sync -1;",
              [](uint64_t i) { return i * (i - 1) / 2; });
}

TEST(Loads, ExtendAndVectors) {
  Words a = {0x8182838485868788u};
  auto one = [&](const std::string &text) { return evaluate(text, 'r', a)[0]; };
  EXPECT_EQ(one("ld.global.s8 %r5, [%rd0];"), 0xffffff88u);
  EXPECT_EQ(one("ld.global.u8 %r5, [%rd0+1];"), 0x87u);
  EXPECT_EQ(one("ld.global.s16 %r5, [%rd0+2];"), 0xffff8586u);
  EXPECT_EQ(one("ld.global.u16 %h5, [%rd0+6]; cvt.u32.u16 %r5, %h5;"), 0x8182u);
  EXPECT_EQ(one("ld.global.v2.u16 {%h5, %h6}, [%rd0]; mov.b32 %r5, {%h6, %h5};"), 0x87888586u);
  EXPECT_EQ(one("ld.global.v4.b8 {%h5, %h6, %h7, %h8}, [%rd0]; cvt.u32.u16 %r5, %h7;"), 0x86u);
  EXPECT_EQ(
      one("ld.global.nc.L1::no_allocate.L2::128B.v2.b32 {%r5, %r6}, [%rd0]; mov.b32 %r5, %r6;"),
      0x81828384u);
  EXPECT_EQ(one("ld.volatile.global.u32 %r5, [%rd0];"), 0x85868788u);
  EXPECT_EQ(one("ld.acquire.gpu.global.u32 %r5, [%rd0];"), 0x85868788u);
  EXPECT_EQ(one("ld.u32 %r5, [%rd0];"), 0x85868788u);
}

TEST(Stores, NarrowAndThroughOtherSpaces) {
  Words a = {0x1122334455667788u};
  std::string space = ".local .align 16 .b8 own[32];\n.shared .align 16 .b8 tile[32];";
  auto one = [&](const std::string &text) { return evaluate(text, 'd', a, {}, {}, space)[0]; };
  EXPECT_EQ(one("mov.u64 %rd6, own; st.local.u64 [%rd6], 0; st.local.u8 [%rd6+1], %r2; "
                "ld.local.u64 %rd5, [own];"),
            0x8800u);
  EXPECT_EQ(one("st.shared.v2.u32 [tile], {%r2, 7}; ld.shared.u64 %rd5, [tile];"), 0x755667788u);
  EXPECT_EQ(one("mov.u64 %rd6, tile; cvta.shared.u64 %rd6, %rd6; st.u64 [%rd6], %rd2; "
                "ld.shared.u64 %rd5, [tile];"),
            a[0]);
  EXPECT_EQ(one("mov.u64 %rd6, own; cvta.local.u64 %rd7, %rd6; st.u64 [%rd7], %rd2; "
                "cvta.to.local.u64 %rd7, %rd7; ld.local.u64 %rd5, [%rd7];"),
            a[0]);
  EXPECT_EQ(one("mov.u64 %rd6, tile; cvta.shared.u64 %rd6, %rd6; isspacep.shared %p1, %rd6; "
                "isspacep.global %p2, %rd6; selp.u64 %rd5, 1, 0, %p1; @%p2 add.u64 %rd5, %rd5, 2;"),
            1u);
  EXPECT_EQ(one("ld.param.u64 %rd5, [p]; sub.u64 %rd5, %rd5, %rd0;"), 0u);
}

TEST(Atomics, AllOperations) {
  auto one = [](const std::string &text, uint64_t memory, uint64_t value) {
    return evaluate("cvta.to.global.u64 %rd6, %rd0;\n" + text + "\nld.global.u64 %rd5, [%rd0];",
                    'd', {memory}, {value})[0];
  };
  EXPECT_EQ(one("atom.global.add.u32 %r5, [%rd6], %r3;", 5, 7), 12u);
  EXPECT_EQ(one("red.relaxed.gpu.global.add.u64 [%rd6], %rd3;", 5, 7), 12u);
  EXPECT_EQ(one("atom.global.min.s32 %r5, [%rd6], %r3;", 5, 0xffffffff), 0xffffffffu);
  EXPECT_EQ(one("atom.global.max.u32 %r5, [%rd6], %r3;", 5, 0xffffffff), 0xffffffffu);
  EXPECT_EQ(one("atom.global.exch.b64 %rd5, [%rd6], %rd3;", 5, 9), 9u);
  EXPECT_EQ(one("atom.acq_rel.gpu.global.cas.b32 %r5, [%rd6], 5, %r3;", 5, 9), 9u);
  EXPECT_EQ(one("atom.global.cas.b32 %r5, [%rd6], 4, %r3;", 5, 9), 5u);
  EXPECT_EQ(one("atom.global.and.b32 %r5, [%rd6], %r3;", 6, 3), 2u);
  EXPECT_EQ(one("red.global.or.b32 [%rd6], %r3;", 6, 3), 7u);
  EXPECT_EQ(one("atom.global.inc.u32 %r5, [%rd6], %r3;", 3, 3), 0u);
  EXPECT_EQ(one("atom.global.dec.u32 %r5, [%rd6], %r3;", 0, 3), 3u);
  EXPECT_EQ(one("atom.global.add.f32 %r5, [%rd6], %r3;", 0x3f800000, 0x40000000), 0x40400000u);
  EXPECT_EQ(one("red.global.add.f64 [%rd6], %rd3;", 0x3ff0000000000000, 0x4000000000000000),
            0x4008000000000000u);
  EXPECT_EQ(one("red.global.add.noftz.f16x2 [%rd6], %r3;", 0x3c003c00, 0x40003c00), 0x42004000u);
  EXPECT_EQ(one("red.global.add.noftz.bf16x2 [%rd6], %r3;", 0x3f803f80, 0x40003f80), 0x40404000u);
}

TEST(Atomics, OfSharedMemoryByAllThreads) {
  std::string text = R"(
setp.ne.u32 %p1, %r2, 0;
@!%p1 st.shared.u32 [sum], 0;
bar.sync 0;
atom.shared.add.u32 %r6, [sum], %r2;
bar.sync 0;
ld.shared.u32 %r5, [sum];)";
  EXPECT_EQ(evaluate(text, 'r', indices(128), {}, {}, ".shared .align 4 .u32 sum;"),
            Words(128, 128 * 127 / 2));
}
