// What the parser takes and refuses, and that damaged texts end in an error, never in a crash.
#include "device_program.h"
#include "simulator/ptx/error.h"
#include "simulator/ptx/program.h"

#include <gtest/gtest.h>

#include <random>

using namespace ulsc::simulator;
using namespace ulsc::simulator::test;

namespace {

/// The message of the error that loading ends in; empty where it succeeds.
std::string errorOf(const std::string &ptx) {
  try {
    ptx::load(ptx);
    return "";
  } catch (const ptx::PtxError &error) {
    return error.what();
  }
}

const char *const fixtures[] = {"kernels_sm_80.ptx", "kernels_sm_90.ptx", "kernels_sm_100.ptx",
                                "nvcc_sm_90.ptx"};

} // namespace

TEST(Parser, TakesWhatDebugInformationAdds) {
  EXPECT_EQ(errorOf(R"(.version 8.0
.target sm_80, debug
.address_size 64
/* a comment
   of two lines */
.file 1 "kernel.mlir"
.visible .entry k(.param .u64 .ptr .global .align 16 p)
.maxntid 256, 1, 1
.minnctapersm 2
{
.loc 1 5 3, function_name $L_info, inlined_at 1 7 2
.pragma "nounroll";
.pragma "used_bytes_mask 0xff";
{ .reg .b32 inner; mov.b32 inner, 4; }
{ .reg .b64 inner; mov.b64 inner, 5; }
ret;
}
.section .debug_str { .b8 1, 2 { } }
)"),
            "");
}

TEST(Parser, NamesWhatIsWrong) {
  auto head = [](const std::string &rest) {
    return ".version 8.0\n.target sm_80\n.address_size 64\n" + rest;
  };
  EXPECT_EQ(errorOf(""), "PTX line 1: a module needs .version and .target");
  EXPECT_EQ(errorOf(".version 12.0"), "PTX line 1: .version 12.0 is not simulated");
  EXPECT_EQ(errorOf(".version 8.0\n.target gfx90"), "PTX line 2: target 'gfx90' is not simulated");
  EXPECT_EQ(errorOf(".version 8.0\n.target sm_80\n.address_size 32"),
            "PTX line 3: .address_size 32 is not simulated");
  EXPECT_EQ(errorOf(head(".texref t;")), "PTX line 4: directive '.texref' is not simulated");
  EXPECT_EQ(errorOf(head(".visible .entry k() {")), "PTX line 4: the body of 'k' has no end");
  EXPECT_EQ(errorOf(head(".visible .entry k()\n{\nmov.u32 %r1 %r2;\n}")),
            "PTX line 6: expected ';', found '%r2'");
  EXPECT_EQ(
      errorOf(head(".visible .entry k()\n{\n.reg .b32 %r<2>;\nld.global.u32 %r1, [%rd1];\n}")),
      "PTX line 7: register '%rd1' is not declared");
  EXPECT_EQ(errorOf(head(".visible .entry k()\n{\n.reg .b32 %r<2>;\nadd.u64 %r1, %r1, %r0;\n}")),
            "PTX line 7: register '%r1' of type .b32 where a .u64 is needed");
  EXPECT_EQ(errorOf(head(".func f()\n{\ncall f, ();\n}\n.visible .entry k()\n{\ncall f, ();\n}")),
            "PTX line 4: recursion of 'f' is not simulated");
  EXPECT_EQ(
      errorOf(head(
          ".extern .func vprintf(.param .b64 a);\n.visible .entry k()\n{\ncall vprintf, ();\n}")),
      "PTX line 7: function 'vprintf' has no body");
  EXPECT_EQ(errorOf(head("/* no end")), "PTX line 4: a comment has no end");
}

TEST(Parser, TruncatedTextsEndInErrors) {
  for (const char *name : fixtures) {
    std::string text = fixture(name);
    ASSERT_EQ(errorOf(text), "") << name;
    size_t refused = 0, total = 0;
    for (size_t length = 0; length < text.size(); length += 61, ++total)
      refused += !errorOf(text.substr(0, length)).empty();
    // Only between two functions is a shorter text whole.
    EXPECT_GT(refused, total / 2) << name;
  }
}

TEST(Parser, RandomChangesNeverCrash) {
  std::mt19937 random(12345);
  const std::string alphabet = "{}[]();,.%$@!+-0123456789abcfnrstuvx_ \n\"/*:|<>";
  for (const char *name : fixtures) {
    const std::string text = fixture(name);
    size_t refused = 0;
    for (int round = 0; round < 300; ++round) {
      std::string damaged = text;
      for (uint32_t changes = 1 + random() % 6; changes; --changes) {
        size_t at = random() % damaged.size();
        switch (random() % 4) {
        case 0:
          damaged[at] = char(random());
          break;
        case 1:
          damaged.erase(at, 1 + random() % 40);
          break;
        case 2:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 40));
          break;
        default:
          damaged[at] = alphabet[random() % alphabet.size()];
        }
      }
      refused += !errorOf(damaged).empty();
    }
    EXPECT_GT(refused, 50u) << name;
  }
}
