//===- pipeline_test.cpp - Pipeline stages train as one rank does ---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// Every schedule on 2, 4 and 8 stages, with microbatches fewer and more than stages, beside data
// ranks that split state and beside tensor parallelism, on models whose layers don't divide among
// chunks. By default the cells that meet each pair of choices, with ULSC_EXHAUSTIVE=1 all that have
// at most 8 ranks.
//
//===---------------------------------------------------------------------------------------===//

#include "cover_pairs.h"
#include "harness.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <set>

using namespace ulsc::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int kSteps = 4, kMostRanks = 8;

//===---------------------------------------------------------------------------------------===//
// Cells
//===---------------------------------------------------------------------------------------===//

struct Cell {
  std::string schedule, strategy;
  int stages, microbatches, tensorRanks;

  bool usesTwoChunks() const { return schedule == "interleaved" || schedule == "zbv"; }
  /// Two where they fit.
  int getDataRanks() const { return stages * tensorRanks * 2 <= kMostRanks ? 2 : 1; }
  int getRanks() const { return stages * tensorRanks * getDataRanks(); }
  bool isLegal() const { return schedule != "interleaved" || microbatches % stages == 0; }
  /// gpt2's first and last stage share a table.
  std::string getFamily() const { return microbatches % 2 ? "gpt2" : "llama"; }
  /// With embedding and head never a multiple of the chunks.
  int getLayers() const { return stages == 2 ? 5 : 2 * stages - 1; }

  std::vector<std::string> getChoices() const {
    return {schedule, strategy, "pp=" + std::to_string(stages), "m=" + std::to_string(microbatches),
            "tp=" + std::to_string(tensorRanks)};
  }
  std::string getName() const {
    std::string name;
    for (const std::string &choice : getChoices())
      name += (name.empty() ? "" : "_") + choice;
    for (char &letter : name)
      letter = isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
    return name;
  }
};

std::ostream &operator<<(std::ostream &stream, const Cell &cell) {
  return stream << cell.getName();
}

/// All cells that fit, data ranks only where there is more than one.
std::vector<Cell> makeCells() {
  std::vector<Cell> cells;
  for (int stages : {2, 4, 8})
    for (const char *schedule : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zbv"})
      for (int microbatches : {1, 3, 4, 8})
        for (const char *strategy : {"ddp", "zero1", "zero3"})
          for (int tensorRanks : {1, 2}) {
            Cell cell{schedule, strategy, stages, microbatches, tensorRanks};
            bool isSplit = std::string(strategy) != "ddp";
            if (cell.getRanks() <= kMostRanks && (cell.getDataRanks() > 1 || !isSplit))
              cells.push_back(cell);
          }
  return cells;
}

std::vector<ChoicePair> getPairs(const Cell &cell) {
  std::vector<ChoicePair> pairs;
  std::vector<std::string> choices = cell.getChoices();
  for (size_t i = 0; i < choices.size(); ++i)
    for (size_t j = i + 1; j < choices.size(); ++j)
      pairs.emplace_back(choices[i], choices[j]);
  return pairs;
}

std::vector<Cell> getCells(bool isLegal) {
  std::vector<Cell> cells;
  for (const Cell &cell : makeCells())
    if (cell.isLegal() == isLegal)
      cells.push_back(cell);
  return isExhaustive() || !isLegal ? cells
                                    : coverPairs(cells, getPairs, std::mem_fn(&Cell::getRanks));
}

//===---------------------------------------------------------------------------------------===//
// Training
//===---------------------------------------------------------------------------------------===//

/// A small model of the family with that many layers.
fs::path writeModel(const std::string &family, int layers) {
  fs::path directory = fs::path(ULSC_BUILD_DIR) / "test" / "models" /
                       (family + "-" + std::to_string(layers) + "-layers");
  fs::create_directories(directory);
  json config = readJson(goldenDirectory(family) / "config.json");
  config[family == "gpt2" ? "n_layer" : "num_hidden_layers"] = layers;
  std::ofstream(directory / "config.json") << config.dump(2) << "\n";
  return directory;
}

Words getModelFlags() { return {"--seq", "32", "--batch", "48", "--dropout", "on"}; }

Words getFlags(const Cell &cell) {
  auto number = [](int value) { return std::to_string(value); };
  std::string strategy = cell.getDataRanks() > 1 ? cell.strategy : "";
  if (cell.tensorRanks > 1)
    strategy += strategy.empty() ? "tp" : "+tp";
  Words flags = getModelFlags();
  flags.insert(flags.end(),
               {"--microbatches", number(cell.microbatches), "--mesh",
                "pp=" + number(cell.stages) + ",dp=" + number(cell.getDataRanks()) +
                    ",tp=" + number(cell.tensorRanks),
                "--pp-schedule", cell.schedule, "--pp-chunks", cell.usesTwoChunks() ? "2" : "1"});
  if (!strategy.empty())
    flags.insert(flags.end(), {"--strategy", strategy});
  return flags;
}

struct Training {
  std::vector<StepMetrics> steps;
  std::map<std::string, Tensor> gradients;
  json memory;            ///< the report's rows, one a stage
  std::vector<json> seen; ///< what each rank allocated; empty unless it was watched
};

Training trainOn(const std::string &family, int layers, const Words &flags, int ranks,
                 bool isWatched) {
  fs::path directory = scratchDirectory("pipeline-" + std::to_string(::getpid()));
  fs::path program = compile(writeModel(family, layers), flags, directory / "report.json");
  Environment environment;
  if (isWatched)
    environment = preload("ulsc_alloc_shim", {{"ULSC_ALLOC_OUT", directory / "alloc.%r"}});
  Training training;
  training.steps = train(program, ranks,
                         {"--data", goldenDirectory(family) / "tokens.bin", "--steps",
                          std::to_string(kSteps), "--seed", "7", "--dropout", "0.1", "--lr", "1e-3",
                          "--dump-gradients", directory / "gradients"},
                         environment);
  training.gradients = readSlices(directory / "gradients", "step-1-");
  training.memory = readJson(directory / "report.json")["memory"];
  for (int rank = 0; isWatched && rank < ranks; ++rank)
    training.seen.push_back(readJson(directory / ("alloc." + std::to_string(rank))));
  return training;
}

/// One rank, one microbatch, made once for each model.
const Training &getReference(const Cell &cell) {
  static std::map<std::pair<std::string, int>, Training> trainings;
  std::pair<std::string, int> key(cell.getFamily(), cell.getLayers());
  auto it = trainings.find(key);
  if (it == trainings.end())
    it = trainings
             .emplace(key, trainOn(key.first, key.second, getModelFlags(), 1, /*isWatched=*/false))
             .first;
  return it->second;
}

class Pipeline : public testing::TestWithParam<Cell> {};

TEST_P(Pipeline, TrainsAsOneRank) {
  const Cell &cell = GetParam();
  const Training &expected = getReference(cell);
  Training actual =
      trainOn(cell.getFamily(), cell.getLayers(), getFlags(cell), cell.getRanks(), true);
  ASSERT_EQ(actual.steps.size(), size_t(kSteps));
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_LE(relativeDifference(actual.steps[i].loss, expected.steps[i].loss), 1e-5) << i;
    EXPECT_LE(relativeDifference(actual.steps[i].gradNorm, expected.steps[i].gradNorm), 1e-4) << i;
  }
  ASSERT_FALSE(expected.gradients.empty());
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (const auto &[name, tensor] : expected.gradients)
    EXPECT_LE(relativeDistance(actual.gradients[name], tensor), 1e-4) << name;
  ASSERT_EQ(actual.memory.size(), size_t(cell.stages));
  for (size_t rank = 0; rank < actual.seen.size(); ++rank)
    expectPlannedMemory(actual.memory[rank * cell.stages / cell.getRanks()], actual.seen[rank]);
}

INSTANTIATE_TEST_SUITE_P(Sweep, Pipeline, testing::ValuesIn(getCells(/*isLegal=*/true)),
                         [](const auto &info) { return info.param.getName(); });

/// The report's rows of memory of a llama of 7 layers on 4 stages, 6 rows a microbatch.
json planMemory(const std::string &schedule, int microbatches) {
  fs::path report = scratchDirectory("pipeline-memory") / "report.json";
  Words command{fs::path(ULSC_BUILD_DIR) / "bin" / "ulsc",
                "compile",
                writeModel("llama", 7),
                "--seq",
                "32",
                "--batch",
                std::to_string(6 * microbatches),
                "--microbatches",
                std::to_string(microbatches),
                "--mesh",
                "pp=4",
                "--pp-schedule",
                schedule,
                "--emit",
                "exec",
                "-o",
                report.parent_path() / "exec.mlir",
                "--report",
                report};
  Outcome outcome = run(command);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  return readJson(report)["memory"];
}

/// What microbatches under way keep is that of gpipe with as many microbatches as the schedule has
/// in flight: of 1f1b min(4 - stage, m). Of zb-h1 it is 4 on each stage, however many microbatches
/// there are; what lies between the halves of a backward is more than a whole one keeps.
TEST(PipelineMemory, FollowsMicrobatchesInFlight) {
  std::map<int, json> byCount;
  for (int count : {1, 2, 3, 4, 8})
    byCount[count] = planMemory("gpipe", count);
  json f1b1 = planMemory("1f1b", 8), few = planMemory("1f1b", 2);
  json h1 = planMemory("zb-h1", 8), fewer = planMemory("zb-h1", 4);
  auto activations = [](const json &rows, int stage) { return double(rows[stage]["activations"]); };
  for (int stage = 0; stage < 4; ++stage) {
    double each = (activations(byCount[8], stage) - activations(byCount[4], stage)) / 4;
    EXPECT_GT(each, 0);
    EXPECT_NEAR(activations(f1b1, stage), activations(byCount[4 - stage], stage), 0.1 * each)
        << stage;
    EXPECT_NEAR(activations(few, stage), activations(byCount[std::min(4 - stage, 2)], stage),
                0.1 * each)
        << stage;
    EXPECT_NEAR(activations(h1, stage), activations(fewer, stage), 0.1 * each) << stage;
    EXPECT_LE(activations(h1, stage), activations(byCount[8], stage)) << stage;
  }
}

/// Layers of the first stage of a llama of 7 layers, cut by the costs of a file.
std::set<std::string> cutByCosts(const fs::path &costs) {
  fs::path module = costs.parent_path() / "staged.mlir";
  Outcome outcome = run({fs::path(ULSC_BUILD_DIR) / "bin" / "ulsc", "compile",
                         writeModel("llama", 7), "--seq", "32", "--batch", "4", "--mesh", "pp=2",
                         "--costs", costs, "--emit", "staged", "-o", module});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  std::set<std::string> layers;
  std::ifstream file(module);
  std::string line;
  while (std::getline(file, line))
    if (size_t at = line.rfind(", layer = ");
        at != std::string::npos && line.find("uls.call @layer") != std::string::npos &&
        line.find("dist.chunk = 0 : i64") != std::string::npos)
      layers.insert(line.substr(at, line.find(':', at) - at));
  return layers;
}

/// What a program's trace says about its blocks cuts the model: had one end of it taken all the
/// time, that end would be alone.
TEST(PipelineCosts, AProgramsOwnTraceBalancesItsStages) {
  fs::path directory = scratchDirectory("pipeline-costs");
  fs::path program = compile(writeModel("llama", 7), {"--seq", "32", "--batch", "4", "--mesh",
                                                      "pp=2", "--microbatches", "2"});
  train(program, 2,
        {"--data", goldenDirectory("llama") / "tokens.bin", "--steps", "3", "--trace",
         directory / "trace.json"});
  json trace = readJson(directory / "trace.json");
  cutByCosts(directory / "trace.json");
  for (std::string end : {"embed", "head"}) {
    json slowed = trace;
    for (json &event : slowed["traceEvents"])
      if (event.value("cat", "") == "block" &&
          event["name"].get<std::string>().rfind(end + ".", 0) == 0)
        event["dur"] = event["dur"].get<double>() * 1e6 + 1e6;
    std::ofstream(directory / "slowed.json") << slowed;
    EXPECT_EQ(cutByCosts(directory / "slowed.json").size(), end == "embed" ? 0u : 7u) << end;
  }
  // Of another model they say nothing.
  Outcome other = run({fs::path(ULSC_BUILD_DIR) / "bin" / "ulsc", "compile", writeModel("llama", 6),
                       "--seq", "32", "--batch", "4", "--mesh", "pp=2", "--costs",
                       directory / "trace.json", "--emit", "staged"});
  EXPECT_NE(other.exitCode, 0);
  EXPECT_NE(other.output.find("trace.json:1:"), std::string::npos) << other.output;
  EXPECT_NE(other.output.find(" parameters), expected one of "), std::string::npos) << other.output;
}

/// What a schedule can't do is refused with what it needs.
TEST(PipelineCells, IllegalOnesAreRefused) {
  std::vector<Cell> cells = getCells(/*isLegal=*/false);
  ASSERT_FALSE(cells.empty());
  for (const Cell &cell : cells) {
    Words command{fs::path(ULSC_BUILD_DIR) / "bin" / "ulsc", "compile",
                  writeModel(cell.getFamily(), cell.getLayers()), "--emit", "staged"};
    Words flags = getFlags(cell);
    command.insert(command.end(), flags.begin(), flags.end());
    Outcome outcome = run(command);
    EXPECT_NE(outcome.exitCode, 0) << cell;
    EXPECT_NE(outcome.output.find("needs a number of microbatches that is a multiple of the " +
                                  std::to_string(cell.stages) + " pipeline ranks, not " +
                                  std::to_string(cell.microbatches)),
              std::string::npos)
        << cell << "\n"
        << outcome.output;
  }
}

} // namespace
