//===- cuda_faults_test.cpp - What is wrong in a compiled program is found ------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// Programs that the plugin of test/faults breaks, after their plan and their communication have
// been checked, run on the simulated device. Under every seed a report must say what is wrong and
// of which op of the model, and every rank must end.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>

#include <unistd.h>

using namespace ulsc::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int kReportExitCode = 86;

struct Fault {
  std::string name;
  int ranks;
  Words flags;
  /// Options of test-break-program, after the stage exec; empty for none.
  std::string program;
  /// Options of test-break-kernel, after the stage llvm.
  std::string kernel;
  std::set<std::string> kinds;
  Words words; ///< All in one report.
  int seeds = 2;
  /// Ranks that the fault itself ends, or stops for ever.
  int lost = 0;
};

std::ostream &operator<<(std::ostream &stream, const Fault &fault) { return stream << fault.name; }

/// Declares dead buffers to the device.
const std::string kPoison = "exec:builtin.module(ulsc-plan-memory{poison=true},ulsc-check-plan)";

Words makeFlags(const Fault &fault, bool isBroken) {
  Words flags = {"--seq", "32", "--batch", "4", "--target", "cuda"};
  flags.insert(flags.end(), fault.flags.begin(), fault.flags.end());
  if (!isBroken)
    return flags;
  flags.push_back("--load-pass-plugin=" + std::string(ULSC_BUILD_DIR) +
                  "/lib/libulsc_test_faults.so");
  const std::string at = "--pass-pipeline-at=";
  if (!fault.program.empty())
    flags.push_back(at + "exec:test-break-program{" + fault.program + "}");
  if (!fault.kernel.empty())
    flags.push_back(at + "llvm:test-break-kernel{" + fault.kernel + "}");
  return flags;
}

struct Ending {
  Outcome outcome;
  std::vector<json> reports;
  /// Ranks that ended with 0, with the code of a report, and otherwise.
  int good = 0, reported = 0, failed = 0;
};

/// Each rank tells how it ended; by `isPatient` the launcher lets the others come to their own end.
Words patiently(Words command, const fs::path &program, bool isPatient) {
  auto found = std::find(command.begin(), command.end(), program.string());
  const Words shell = {"sh", "-c",
                       "\"$0\" \"$@\"; code=$?; echo rank ended with $code; exit $code"};
  command.insert(found, shell.begin(), shell.end());
  if (command.front() == "mpirun" && isPatient)
    command.insert(command.begin() + 1, "--enable-recovery");
  return command;
}

/// A run of two steps. Only where a rank is known to hang do the others give up soon: a machine may
/// be busy.
Ending runProgram(const fs::path &program, int ranks, int seed, bool isPatient = true) {
  static int runs = 0;
  std::string mark = std::to_string(::getpid()) + "-" + std::to_string(runs++);
  fs::path file = scratchDirectory("faults") / "reports.jsonl";
  Words command =
      launch(program, ranks,
             {"--data", goldenDirectory("llama") / "tokens.bin", "--steps", "2", "--seed", "7"},
             onSimulatedDevice({{"ULSC_SIMULATOR_SEED", std::to_string(seed)},
                                {"ULSC_SIMULATOR_REPORT", file.string()},
                                {"ULSC_SIMULATOR_TIMEOUT", isPatient ? "60" : "3"},
                                {"ULSC_TEST_RUN", mark}}));
  Ending ending{run(patiently(command, program, isPatient), {}, 120), {}};
  EXPECT_TRUE(findProcesses("ULSC_TEST_RUN=" + mark).empty()) << "a rank has not ended";
  const std::string &output = ending.outcome.output, ended = "rank ended with ";
  for (size_t at = 0; (at = output.find(ended, at)) != std::string::npos;) {
    int code = std::atoi(output.c_str() + (at += ended.size()));
    ending.good += code == 0;
    ending.reported += code == kReportExitCode;
    ending.failed += code != 0 && code != kReportExitCode;
  }
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    ending.reports.push_back(json::parse(line));
  return ending;
}

std::string describe(const json &report) {
  std::string text =
      report["kind"].get<std::string>() + ": " + report["summary"].get<std::string>();
  for (const json &detail : report.value("details", json::array()))
    text += "\n  " + detail["name"].get<std::string>() + ": " + detail["value"].get<std::string>();
  return text + "\n";
}

bool hasAll(const std::string &text, const Words &words) {
  for (const std::string &word : words)
    if (text.find(word) == std::string::npos)
      return false;
  return true;
}

class DeviceFault : public testing::TestWithParam<Fault> {};

TEST_P(DeviceFault, IsFoundAndNamed) {
  const Fault &fault = GetParam();
  fs::path program = compile(goldenDirectory("llama"), makeFlags(fault, true));
  for (int seed = 0; seed < fault.seeds; ++seed) {
    SCOPED_TRACE(seed);
    bool isHanging = fault.program.find("hang") != std::string::npos;
    Ending ending = runProgram(program, fault.ranks, seed, !isHanging);
    // Of a report by another rank a rank may hear from NCCL's error first, and end by that.
    EXPECT_GE(ending.reported, 1) << ending.outcome.output;
    if (!isHanging)
      EXPECT_EQ(ending.reported + ending.failed, fault.ranks - fault.lost) << ending.outcome.output;
    // One rank alone hands its code on. Of ranks that end as soon as they see another's end, the
    // launcher hands on the code of the first that it hears of.
    if (fault.ranks == 1)
      EXPECT_EQ(ending.outcome.exitCode, kReportExitCode) << ending.outcome.output;
    if (isHanging)
      EXPECT_NE(ending.outcome.exitCode, 0) << ending.outcome.output;
    bool isNamed = false;
    std::string all;
    for (const json &report : ending.reports) {
      std::string text = describe(report), kind = report["kind"];
      all += text;
      isNamed |= fault.kinds.count(kind) && hasAll(text, fault.words);
      // A rank may hear of another's report before it comes to its own.
      EXPECT_TRUE(fault.kinds.count(kind) || kind == "missing-rank") << text;
    }
    EXPECT_TRUE(isNamed) << all;
    if (std::getenv("ULSC_TEST_PRINT"))
      std::cerr << fault.name << ", seed " << seed << "\n" << all;
  }
}

TEST_P(DeviceFault, IsNotInTheProgramWithoutIt) {
  const Fault &fault = GetParam();
  fs::path program = compile(goldenDirectory("llama"), makeFlags(fault, false));
  static std::set<fs::path> done; // several faults break one program
  if (!done.insert(program).second)
    return;
  for (int seed = 0; seed < 2; ++seed) {
    Ending ending = runProgram(program, fault.ranks, seed);
    EXPECT_EQ(ending.good, fault.ranks) << ending.outcome.output;
    EXPECT_TRUE(ending.reports.empty());
  }
}

/// Each class of faults once at least. What depends on an order is tried with five seeds.
std::vector<Fault> makeFaults() {
  const Words one = {"--microbatches", "2"}, dp = {"--mesh", "dp=2"}, tp = {"--mesh", "tp=2"},
              both = {"--mesh", "dp=2,tp=2"}, checked = {"--pass-pipeline-at", kPoison};
  const std::string mlp = "all_reduce of model.layers.0.mlp.down_proj in layer.fwd",
                    head = "all_reduce of model.norm, lm_head";
  const std::set<std::string> noBarrier = {"race", "uninitialised"};
  return {
      {"EventBehind",
       2,
       tp,
       "fault=late-wait at=mlp",
       "",
       {"race"},
       {mlp, "'add' (source model.layers.0 in layer.fwd)"},
       5},
      {"EventBefore",
       2,
       tp,
       "fault=early-start at=mlp",
       "",
       {"race"},
       {mlp, "(source model.layers.0.mlp.down_proj in layer.fwd)"},
       5},
      {"EventOfGradient",
       4,
       both,
       "fault=late-wait at=lm_head",
       "",
       {"race"},
       {"all_reduce of lm_head in head.bwd", "(source model.norm in head.bwd)"},
       5},
      {"Barrier",
       1,
       one,
       "",
       "fault=barrier kernel=attention nth=1",
       noBarrier,
       {"'ulsc$attention$1' (source model.layers.0.self_attn in layer.fwd)", "PTX line"},
       5},
      {"SwappedCollectives",
       2,
       dp,
       "fault=swap",
       "",
       {"mismatch"},
       {"the counts differ", head, "all_reduce of forward"}},
      {"SwappedCollectivesOfFour",
       4,
       both,
       "fault=swap",
       "",
       {"mismatch"},
       {"the counts differ", head}},
      {"Count",
       2,
       tp,
       "fault=halve at=mlp",
       "",
       {"mismatch"},
       {"the counts differ", "(8192 f32, sum)", "(4096 f32, sum)", mlp}},
      {"RankThatEnds",
       2,
       tp,
       "fault=exit at=mlp",
       "",
       {"missing-rank"},
       {"rank 1 is missing: it has ended", "all_reduce of model.embed_tokens in embed.fwd"},
       2,
       1},
      {"RankThatHangs", 2, tp, "fault=hang at=mlp", "", {"stall"}, {mlp}, 1, 1},
      {"RankThatSkips",
       2,
       tp,
       "fault=skip at=mlp",
       "",
       {"mismatch"},
       {"all_reduce of model.layers.1.self_attn.o_proj in layer.fwd"}},
      {"MisalignedVector",
       1,
       one,
       "",
       "fault=vector kernel=silu_mul",
       {"misaligned"},
       {"'silu_mul' (source model.layers.0.mlp, model.layers.0.mlp.act_fn in layer.fwd)",
        "ld.global.v4"}},
      {"RowTail",
       1,
       one,
       "",
       "fault=bound kernel=rms_norm",
       {"out-of-bounds"},
       {"'rms_norm' (source model.layers.0.input_layernorm in layer.fwd)",
        "past the end of a buffer of 16384 bytes"}},
      {"PlaceOfAMember",
       1,
       one,
       "",
       "fault=member kernel=adamw_group",
       {"out-of-bounds"},
       {"'adamw_group_1' (source optimizer of model.embed_tokens.weight",
        "before all buffers of the launch"}},
      {"UseAfterEnd",
       1,
       checked,
       "fault=late-read at=mlp",
       "",
       {"uninitialised"},
       {"(source model.layers.1.post_attention_layernorm, model.layers.1.mlp.gate_proj in "
        "layer.bwd)",
        "the buffer there has ended"}},
      {"UnknownOpcode",
       1,
       one,
       "",
       "fault=opcode kernel=silu_mul",
       {"ptx"},
       {"'frobnicate.rn.f32'",
        "'silu_mul' (source model.layers.*.mlp, model.layers.*.mlp.act_fn)"}},
  };
}

/// Dead buffers are declared, and streams of four ranks run side by side: nobody reads one.
TEST(DeviceFaultPlan, HoldsOnTheDevice) {
  Words flags = {"--mesh", "dp=2,tp=2", "--strategy", "zero1+tp",           "--microbatches",
                 "2",      "--dropout", "on",         "--pass-pipeline-at", kPoison};
  fs::path program =
      compile(goldenDirectory("llama"), makeFlags({"", 4, flags, "", "", {}, {}}, false));
  for (int seed = 0; seed < 2; ++seed) {
    Ending ending = runProgram(program, 4, seed);
    EXPECT_EQ(ending.good, 4) << ending.outcome.output;
    EXPECT_TRUE(ending.reports.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceFault, testing::ValuesIn(makeFaults()),
                         [](const auto &info) { return info.param.name; });

} // namespace
