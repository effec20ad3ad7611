// What a program declares to the device: the buffers of a launch, and where a kernel comes from.
#include "device_program.h"

#include <gtest/gtest.h>

using namespace ulsc;
using namespace ulsc::simulator::test;

namespace {

constexpr int reportExitCode = 86;

/// One block of 8 threads runs the kernel on an allocation of 64 words, of which the launch has
/// words 16 to 23 as its buffer; all lie inside the allocation.
Outcome runOnPart(const std::string &body, bool isWritable, size_t firstWord = 16) {
  return runInChild([&] {
    begin();
    Program program(kernelText("mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n" + body));
    Buffer<int> arena(std::vector<int>(64, 7));
    void *buffers[] = {arena.pointer(firstWord)};
    int64_t bytes[] = {32};
    ulsc_simulator_set_source("layers.0.norm");
    ulsc_simulator_declare_buffers(buffers, bytes, 1, isWritable ? 1 : 0);
    launch(program.function("k"), {1, 8}, arena.pointer(16));
    // The next launch has declared nothing.
    launch(program.function("k"), {1, 8}, arena.pointer(32));
    check(cuCtxSynchronize());
  });
}

void expectReport(const Outcome &outcome, const std::vector<std::string> &words) {
  EXPECT_EQ(outcome.exitCode, reportExitCode) << outcome.errors;
  for (const std::string &word : words)
    EXPECT_NE(outcome.errors.find(word), std::string::npos) << "no '" << word << "' in\n"
                                                            << outcome.errors;
}

} // namespace

TEST(Declarations, AccessesInsideTheBuffersAreLegal) {
  Outcome outcome = runOnPart("ld.global.u32 %r2, [%rd3];\nst.global.u32 [%rd3], %r2;", true);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_EQ(runOnPart("ld.global.u32 %r2, [%rd3];", false).exitCode, 0);
}

TEST(Declarations, RowTailInsideTheAllocation) {
  expectReport(runOnPart("st.global.u32 [%rd3+8], %r1;", true),
               {"out-of-bounds: a thread writes 4 bytes beside its launch's buffers",
                "operation: 'k' (source layers.0.norm)", "thread (6,0,0) of block (0,0,0)",
                "byte 96 of allocation 1 of 256 bytes, 0 bytes past the end of a buffer of 32 "
                "bytes that the launch has"});
  expectReport(runOnPart("ld.global.u32 %r2, [%rd3+-4];", true),
               {"out-of-bounds: a thread reads 4 bytes beside its launch's buffers",
                "thread (0,0,0)", "before all buffers of the launch"});
}

TEST(Declarations, VectorsAcrossTheEnd) {
  expectReport(runOnPart("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1+16];", true, 14),
               {"out-of-bounds: a thread reads 16 bytes beside its launch's buffers",
                "8 bytes over the end of a buffer of 32 bytes"});
}

TEST(Declarations, WriteToAnInput) {
  expectReport(
      runOnPart("st.global.u32 [%rd3], %r1;", false),
      {"constant: a thread writes to a buffer that its launch may only read", "layers.0.norm"});
}

namespace {

/// One block of 8 threads, each of which accesses its word from `word` on, on an allocation of 64
/// words: words 8 to 55 may be read, words 12 to 15 and 32 to 39 written.
Outcome runOnNested(const std::string &instruction, size_t word) {
  return runInChild([&] {
    begin();
    Program program(
        kernelText("mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n" + instruction));
    Buffer<int> arena(std::vector<int>(64, 7));
    void *buffers[] = {arena.pointer(8), arena.pointer(32), arena.pointer(12), arena.pointer(32)};
    int64_t bytes[] = {192, 32, 16, 32};
    ulsc_simulator_declare_buffers(buffers, bytes, 4, 2);
    launch(program.function("k"), {1, 8}, arena.pointer(word));
    check(cuCtxSynchronize());
  });
}

} // namespace

TEST(Declarations, BuffersInsideOfOthers) {
  const std::string read = "ld.global.u32 %r2, [%rd3];", write = "st.global.u32 [%rd3], %r1;";
  for (size_t word : {8, 12, 16, 32, 36, 48}) {
    Outcome outcome = runOnNested(read, word);
    EXPECT_EQ(outcome.exitCode, 0) << word << outcome.errors;
  }
  EXPECT_EQ(runOnNested(read + write, 32).exitCode, 0);
  expectReport(runOnNested(read, 49), {"out-of-bounds", "thread (7,0,0)"});
  expectReport(runOnNested(write, 12), {"constant", "thread (4,0,0)"});
  expectReport(runOnNested(write, 33), {"constant", "thread (7,0,0)"});
}

/// What a module itself holds is open to each launch, whatever buffers that has.
TEST(Declarations, TablesOfTheModule) {
  auto runWithTable = [](const std::string &body) {
    return runInChild([&] {
      begin();
      Program program(
          kernelText("mul.wide.u32 %rd2, %r1, 8;\nmov.b64 %rd3, table;\n"
                     "add.s64 %rd3, %rd3, %rd2;\n" +
                         body,
                     "",
                     // The zeros at the end go without saying.
                     ".global .align 8 .b8 table[32] = {24, 0, 0, 0, 0, 0, 0, 0, 32, 1, "
                     "0, 0, 0, 0, 0, 0, 254, 255, 255, 255, 255, 255, 255, 255, 5};\n"));
      Buffer<int64_t> arena(std::vector<int64_t>(8, 7));
      void *buffers[] = {arena.pointer()};
      int64_t bytes[] = {32};
      ulsc_simulator_declare_buffers(buffers, bytes, 1, 1);
      launch(program.function("k"), {1, 4}, arena.pointer());
      check(cuCtxSynchronize());
      if (arena.read() != std::vector<int64_t>{24, 288, -2, 5, 7, 7, 7, 7})
        throw std::runtime_error("the table holds other numbers");
    });
  };
  const std::string copy = "ld.global.nc.b64 %rd4, [%rd3];\nadd.s64 %rd5, %rd1, %rd2;\n"
                           "st.global.b64 [%rd5], %rd4;";
  Outcome outcome = runWithTable(copy);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  expectReport(runWithTable("ld.global.b64 %rd4, [%rd3+8];"),
               {"out-of-bounds", "thread (3,0,0)", "variable 'table' of 32 bytes"});
}

TEST(Declarations, AModuleThatIsRefusedNamesTheKernelAndItsSource) {
  Outcome outcome = runInChild([] {
    begin();
    std::string text = kernelText("frobnicate.u32 %r1, %r1;");
    size_t entry = text.find(".visible .entry");
    if (entry == std::string::npos)
      throw std::runtime_error("no entry in the kernel");
    Program program(text.insert(entry, "// source: layers.0.norm, layers.0.mlp\n"));
  });
  expectReport(outcome, {"ptx: a module can't be loaded", "instruction 'frobnicate.u32'",
                         "kernel: 'k' (source layers.0.norm, layers.0.mlp)"});
}
