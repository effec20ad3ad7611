//===- memory_test.cpp - The planned memory is what ranks take
//---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

using namespace ulsc::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Case = TrainingCase;

/// The report's one row: without pipeline stages all ranks are alike.
json memoryRow(const fs::path &report) {
  json document = readJson(report);
  EXPECT_EQ(document["memory"].size(), 1u);
  return document["memory"][0];
}

/// What a process may have beside its arena: libraries, MPI's buffers, GEMM scratch.
int64_t largestProcess(int64_t peak) { return peak + peak / 20 + (int64_t(200) << 20); }

void expectCategoriesToSumUp(const json &row) {
  int64_t sum = 0;
  for (const char *category : {"parameters", "gradients", "optimizer", "activations", "temporaries",
                               "communication", "workspaces"})
    sum += row[category].get<int64_t>();
  EXPECT_EQ(sum, row["peak"]);
}

/// Runs with the allocation shim and compares every rank with the plan.
void expectPlanned(const fs::path &program, int ranks, const json &row, const fs::path &directory,
                   const fs::path &tokens) {
  int64_t peak = row["peak"];
  std::vector<StepMetrics> steps =
      train(program, ranks, {"--data", tokens, "--steps", "2"},
            preload("ulsc_alloc_shim", {{"ULSC_ALLOC_OUT", directory / "alloc.%r"}}));
  for (int rank = 0; rank < ranks; ++rank) {
    json seen = readJson(directory / ("alloc." + std::to_string(rank)));
    ASSERT_GT(peak, seen["threshold"]) << "the model is too small for the shim";
    // The arena is all that the program itself ever takes.
    EXPECT_EQ(seen["callers"]["program"]["peak_bytes"], peak) << "rank " << rank;
    EXPECT_EQ(seen["callers"]["program"]["allocations"], 1) << "rank " << rank;
    EXPECT_EQ(seen["regions"][0]["bytes"], peak) << "rank " << rank;
    EXPECT_LE(seen["peak_rss_bytes"].get<int64_t>(), largestProcess(peak)) << "rank " << rank;
  }
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.back().all["peak_memory_bytes"], peak);
  EXPECT_LE(steps.back().all["process_memory_bytes"].get<int64_t>(), largestProcess(peak));
}

class Memory : public testing::TestWithParam<Case> {};

TEST_P(Memory, ReportIsWhatRanksAllocate) {
  const Case &c = GetParam();
  fs::path directory = scratchDirectory("memory-" + c.model + c.mesh + c.strategy), model;
  model = goldenDirectory(c.model);
  Words flags = c.flags();
  flags.insert(flags.end(), {"--seq", "32", "--batch", "16"});
  fs::path program = compile(model, flags, directory / "report.json");
  json row = memoryRow(directory / "report.json");
  expectCategoriesToSumUp(row);
  expectPlanned(program, c.ranks, row, directory, model / "tokens.bin");
}

INSTANTIATE_TEST_SUITE_P(Meshes, Memory,
                         testing::Values(Case{"llama", "", 1, 1}, Case{"llama", "dp=2", 2, 4},
                                         Case{"llama", "dp=2,tp=2", 4, 4}, Case{"gpt2", "", 1, 4},
                                         Case{"gpt2", "tp=2", 2, 1},
                                         Case{"gpt2", "dp=2,tp=2", 4, 1},
                                         Case{"llama-bias-tied", "dp=2,tp=2", 4, 1},
                                         Case{"llama", "dp=4", 4, 4, "zero1"},
                                         Case{"gpt2", "dp=2,tp=2", 4, 1, "zero2+tp"},
                                         Case{"gpt2", "dp=4", 4, 4, "zero3"},
                                         Case{"llama", "dp_replicate=2,dp_shard=2", 4, 1, "hsdp"}));

/// What zero3 leaves on a rank: a part of all that is stored, and of gathered parameters and whole
/// gradients two units and the table each.
TEST(MemoryOfProcesses, Zero3KeepsAQuarterOfGpt2) {
  fs::path directory = scratchDirectory("memory-gpt2-124m-zero3");
  fs::path model = fs::path(ULSC_SOURCE_DIR) / "test" / "Frontend" / "models" / "gpt2.json";
  fs::path program =
      compile(model, {"--seq", "32", "--batch", "4", "--mesh", "dp=4", "--strategy", "zero3"},
              directory / "report.json");
  json report = readJson(directory / "report.json"), row = report["memory"][0];
  double parameters = 4.0 * 124439808;
  int64_t hidden = 768, table = 50257 * hidden * 4, unit = (12 * hidden * hidden + 13 * hidden) * 4,
          room = 2 * unit + table;
  EXPECT_LE(row["parameters"].get<double>(), 1.02 * parameters / 4);
  EXPECT_LE(row["optimizer"].get<double>(), 1.02 * 2 * parameters / 4);
  EXPECT_LE(row["gradients"].get<double>(), 1.02 * parameters / 4 + room);
  // The staging of collectives is there besides.
  EXPECT_LE(row["communication"].get<int64_t>(), room + (16 << 20));
  expectPlanned(program, 4, row, directory, goldenDirectory("gpt2") / "tokens.bin");
}

/// What a rank keeps of gathered layers between forward and backward is in the plan: nothing, a
/// half or all of each.
TEST(MemoryOfSplitState, PlanHoldsWhatIsKept) {
  fs::path directory = scratchDirectory("memory-kept");
  fs::path model = fs::path(ULSC_SOURCE_DIR) / "test" / "Frontend" / "models" / "gpt2.json";
  auto getCommunication = [&](const std::string &reshard) {
    fs::path report = directory / (reshard + ".json");
    Outcome outcome =
        run({fs::path(ULSC_BUILD_DIR) / "bin" / "ulsc", "compile", model, "--seq", "32", "--batch",
             "4", "--mesh", "dp=4", "--strategy", "zero3", "--reshard-after-forward", reshard,
             "--emit", "exec", "-o", directory / "exec.mlir", "--report", report});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
    return memoryRow(report)["communication"].get<int64_t>();
  };
  int64_t none = getCommunication("true"), half = getCommunication("2"),
          all = getCommunication("false");
  int64_t hidden = 768, layers = 12, unit = (12 * hidden * hidden + 13 * hidden) * 4;
  // Two units are there anyway while they are used.
  EXPECT_GE(half - none, (layers - 2) * unit / 2);
  EXPECT_LE(half - none, (layers + 1) * unit / 2);
  EXPECT_GE(all - none, (layers - 3) * unit);
  EXPECT_LE(all - none, (layers + 1) * unit);
}

/// A model whose state is large beside everything else: a second copy of any of it would show.
TEST(MemoryOfProcesses, StaysNearThePlanOfGpt2) {
  fs::path directory = scratchDirectory("memory-gpt2-124m");
  fs::path model = fs::path(ULSC_SOURCE_DIR) / "test" / "Frontend" / "models" / "gpt2.json";
  fs::path program = compile(model, {"--seq", "32", "--batch", "1"}, directory / "report.json");
  json row = memoryRow(directory / "report.json");
  expectPlanned(program, 1, row, directory, goldenDirectory("gpt2") / "tokens.bin");
}

//===---------------------------------------------------------------------------------------===//
// How good the plan is
//===---------------------------------------------------------------------------------------===//

struct PlanCase {
  std::string model; ///< below test/
  std::string mesh, seq, microbatches, strategy = "";
};

std::ostream &operator<<(std::ostream &stream, const PlanCase &c) {
  return stream << c.model << " " << c.mesh << " " << c.strategy;
}

class MemoryPlan : public testing::TestWithParam<PlanCase> {};

/// The part that buffers share, against the largest sum of live bytes that the second analysis
/// found (lib/Memory/CheckPlan.cpp).
TEST_P(MemoryPlan, TransientPartIsNearTheLiveBytes) {
  const PlanCase &c = GetParam();
  fs::path directory = scratchDirectory("memory-plan");
  Words command{fs::path(ULSC_BUILD_DIR) / "bin" / "ulsc",
                "compile",
                fs::path(ULSC_SOURCE_DIR) / "test" / c.model,
                "--seq",
                c.seq,
                "--batch",
                "32",
                "--microbatches",
                c.microbatches,
                "--emit",
                "exec",
                "-o",
                directory / "exec.mlir",
                "--report",
                directory / "report.json"};
  if (!c.mesh.empty())
    command.insert(command.end(), {"--mesh", c.mesh});
  if (!c.strategy.empty())
    command.insert(command.end(), {"--strategy", c.strategy});
  Outcome outcome = run(command);
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  json row = memoryRow(directory / "report.json");
  expectCategoriesToSumUp(row);
  double transient = row["transient"], live = row["largest_live"];
  ASSERT_GT(live, 0);
  EXPECT_GE(transient, live) << "one of the two analyses is wrong";
  EXPECT_LE(transient, 1.03 * live);
  RecordProperty("ratio", std::to_string(transient / live));
}

std::vector<PlanCase> planCases() {
  std::vector<PlanCase> cases;
  for (const char *microbatches : {"1", "4"}) {
    for (const char *model : {"golden/llama", "golden/gpt2"})
      for (const char *mesh : {"", "dp=2", "tp=2", "dp=2,tp=2"})
        cases.push_back({model, mesh, "32", microbatches});
    for (const char *mesh : {"", "dp=8", "dp=2,tp=4"})
      cases.push_back({"Frontend/models/gpt2.json", mesh, "1024", microbatches});
    for (const char *mesh : {"dp=8", "tp=8", "dp=4,tp=4"})
      cases.push_back({"Frontend/models/llama-3.1-8b.json", mesh, "2048", microbatches});
    for (const char *strategy : {"zero1", "zero2", "zero3"}) {
      cases.push_back({"golden/gpt2", "dp=4", "32", microbatches, strategy});
      cases.push_back({"Frontend/models/gpt2.json", "dp=8", "1024", microbatches, strategy});
      cases.push_back({"Frontend/models/llama-3.1-8b.json", "dp=4,tp=4", "2048", microbatches,
                       strategy + std::string("+tp")});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, MemoryPlan, testing::ValuesIn(planCases()));

//===---------------------------------------------------------------------------------------===//
// What ulsc memory says
//===---------------------------------------------------------------------------------------===//

/// Runs `ulsc COMMAND…` and reads the document it writes.
json ask(Words words, const char *option, const fs::path &document) {
  words.insert(words.begin(), fs::path(ULSC_BUILD_DIR) / "bin" / "ulsc");
  words.insert(words.end(), {option, document});
  Outcome outcome = run(words);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  return readJson(document);
}

/// The rows are those of the compilation's report, and the state among them is what the formula
/// says, but for buffers that are rounded up to 64 bytes.
void expectCommandTellsTheReport(const Words &flags) {
  fs::path directory = scratchDirectory("memory-command");
  Words compile{"compile", "--emit", "exec", "-o", directory / "exec.mlir"}, memory{"memory"};
  compile.insert(compile.end(), flags.begin(), flags.end());
  memory.insert(memory.end(), flags.begin(), flags.end());
  json reported = ask(compile, "--report", directory / "report.json")["memory"][0];
  json told = ask(memory, "--json", directory / "memory.json");
  ASSERT_EQ(told["ranks"].size(), 1u);
  json rank = told["ranks"][0];
  EXPECT_EQ(rank["peak"], reported["peak"]);
  EXPECT_EQ(int64_t(rank["last"]) + 1, told["mesh"]["devices"]);
  int64_t lasting = 0;
  for (auto &[name, row] : rank["rows"].items()) {
    EXPECT_EQ(row["bytes"], reported[name]) << name;
    int64_t parts = 0;
    for (const json &part : row.value("parts", json::array())) {
      parts += int64_t(part["bytes"]);
      lasting += part.contains("transient") ? 0 : int64_t(part["bytes"]);
    }
    EXPECT_EQ(parts, row.contains("parts") ? int64_t(row["bytes"]) : 0) << name;
  }
  EXPECT_TRUE(rank["rows"]["optimizer"].contains("parts"));
  int64_t plan = told["state"]["plan"], formula = told["state"]["formula"];
  EXPECT_EQ(plan, lasting);
  EXPECT_GE(plan, formula);
  EXPECT_LE(plan, formula + formula / 100);
}

TEST_P(MemoryPlan, CommandTellsTheReport) {
  const PlanCase &c = GetParam();
  Words flags{fs::path(ULSC_SOURCE_DIR) / "test" / c.model,
              "--seq",
              c.seq,
              "--batch",
              "32",
              "--microbatches",
              c.microbatches};
  if (!c.mesh.empty())
    flags.insert(flags.end(), {"--mesh", c.mesh});
  expectCommandTellsTheReport(flags);
}

/// Flat chunks of every tensor, of sizes that the ranks do not divide, are as the formula has them.
/// The first stage is not among them: it holds its gradients whole for a part of the step only.
TEST(MemoryOfSplitState, CommandTellsTheReport) {
  for (const Words &strategy : {Words{"--strategy", "zero2", "--mesh", "dp=3"},
                                Words{"--strategy", "zero3", "--mesh", "dp=3"},
                                Words{"--strategy", "fsdp+tp", "--mesh", "dp=4,tp=2"},
                                Words{"--strategy", "hsdp", "--mesh", "dp_replicate=2,dp_shard=3"}})
    for (const char *model : {"llama", "gpt2"}) {
      Words flags{goldenDirectory(model), "--seq", "32", "--batch", "24", "--microbatches", "2"};
      flags.insert(flags.end(), strategy.begin(), strategy.end());
      SCOPED_TRACE(std::string(model) + " " + strategy[1] + " " + strategy[3]);
      expectCommandTellsTheReport(flags);
    }
}

} // namespace
