//===- overlap_test.cpp - One unit is gathered while another computes
//--------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// Order alone is checked, in the module and in what each rank's trace says that it did: how long
// anything took does not matter.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

using namespace ulsc::test;
using nlohmann::json;

namespace {

struct Case {
  std::string microbatches, reshard;
  int ranks = 2;

  Words flags() const {
    return {"--seq",
            "32",
            "--batch",
            "16",
            "--mesh",
            "dp=" + std::to_string(ranks),
            "--strategy",
            "zero3",
            "--microbatches",
            microbatches,
            "--reshard-after-forward",
            reshard};
  }
};

std::ostream &operator<<(std::ostream &stream, const Case &c) {
  return stream << c.microbatches << " microbatches, reshard after forward " << c.reshard;
}

class Overlap : public testing::TestWithParam<Case> {};

/// A gather of parameters, the call that waits for it and the call ahead of that, by their lines in
/// the scheduled module.
struct ModuleGather {
  int start = 0, ahead = 0, call = 0;
  std::string callee;
};

/// The gathers of a step in the order in which they start, each with the first call behind its
/// wait.
std::vector<ModuleGather> readGathers(const std::filesystem::path &module) {
  std::vector<ModuleGather> gathers;
  std::map<std::string, size_t> waiting;
  std::vector<size_t> arrived;
  std::ifstream file(module);
  std::string line, handle;
  bool isInStep = false;
  int lastCall = 0;
  for (int number = 1; std::getline(file, line); ++number) {
    isInStep |= line.find("uls.step") != std::string::npos;
    if (!isInStep)
      continue;
    size_t first = line.find_first_not_of(' ');
    if (line.find("dist.start") != std::string::npos) {
      handle = line.substr(first, line.find(' ', first) - first);
    } else if (line.find("dist.all_gather") != std::string::npos) {
      waiting[handle] = gathers.size();
      gathers.push_back({number, 0, 0, ""});
    } else if (size_t at = line.find("dist.wait "); at != std::string::npos) {
      size_t begin = at + 10;
      auto found = waiting.find(line.substr(begin, line.find(' ', begin) - begin));
      if (found != waiting.end())
        arrived.push_back(found->second);
    } else if (size_t at = line.find("uls.call @"); at != std::string::npos) {
      for (size_t index : arrived) {
        gathers[index].ahead = lastCall;
        gathers[index].call = number;
        gathers[index].callee = line.substr(at + 10, line.find('(', at) - at - 10);
      }
      arrived.clear();
      lastCall = number;
    }
  }
  return gathers;
}

/// In the module each unit's gather starts before the call ahead of the one that uses it.
TEST_P(Overlap, StartsAheadInTheModule) {
  const Case &c = GetParam();
  std::filesystem::path module =
      scratchDirectory("overlap-module-" + c.microbatches + c.reshard) / "scheduled.mlir";
  Words command{std::filesystem::path(ULSC_BUILD_DIR) / "bin" / "ulsc",
                "compile",
                goldenDirectory("llama"),
                "--emit",
                "scheduled",
                "-o",
                module};
  Words flags = c.flags();
  command.insert(command.end(), flags.begin(), flags.end());
  Outcome outcome = run(command);
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  std::vector<ModuleGather> gathers = readGathers(module);
  // Embedding, two layers and head, and the layers for their backward: microbatches are a loop.
  EXPECT_EQ(gathers.size(), size_t(c.reshard == "false" ? 4 : 6));
  for (const ModuleGather &gather : gathers) {
    ASSERT_NE(gather.call, 0);
    if (gather.callee != "embed.fwd")
      EXPECT_LT(gather.start, gather.ahead) << "of " << gather.callee;
  }
}

/// What a rank computed between the wait for one unit's gather and the next one's.
struct Unit {
  std::string source;
  double start = 0, wait = 0;
  double firstCompute = 0, lastCompute = 0;
  std::vector<std::string> products;
};

/// The gathered units of one step of a rank, in order; `events` are those of its compute lane.
std::vector<Unit> readUnits(const std::vector<json> &events) {
  std::vector<Unit> units;
  std::map<int64_t, Unit> started;
  for (const json &event : events) {
    const std::string &name = event.at("name"), &category = event.at("cat");
    double begin = event.at("ts"), end = begin + event.at("dur").get<double>();
    if (name == "all_gather start") {
      Unit unit;
      unit.source = event.at("args").at("source");
      unit.start = begin;
      started[event.at("args").at("slot")] = unit;
    } else if (name == "all_gather wait") {
      units.push_back(started.at(event.at("args").at("slot")));
      units.back().wait = begin;
    } else if (!units.empty() && (category == "kernel" || category == "gemm")) {
      if (units.back().firstCompute == 0)
        units.back().firstCompute = begin;
      units.back().lastCompute = end;
      if (category == "gemm")
        units.back().products.push_back(name);
    }
  }
  return units;
}

/// Events of a rank's compute lane, step by step.
std::vector<std::vector<json>> readSteps(const json &trace, int rank) {
  std::vector<json> lane;
  for (const json &event : trace.at("traceEvents"))
    if (event.at("ph") == "X" && event.at("pid") == rank && event.at("tid") == 1)
      lane.push_back(event);
  std::stable_sort(lane.begin(), lane.end(),
                   [](const json &a, const json &b) { return a.at("ts") < b.at("ts"); });
  std::vector<std::vector<json>> steps;
  for (json &event : lane) {
    if (event.at("cat") == "input")
      steps.emplace_back();
    else if (!steps.empty())
      steps.back().push_back(std::move(event));
  }
  return steps;
}

/// On every rank each unit's gather was started before the unit in front of it began to compute,
/// let alone ended; but for that of a microbatch's first, which nothing goes ahead of.
TEST_P(Overlap, StartsAheadInTheTrace) {
  const Case &c = GetParam();
  std::filesystem::path model = goldenDirectory("llama"),
                        trace = scratchDirectory("overlap-trace-" + c.microbatches + c.reshard) /
                                "trace.json";
  train(compile(model, c.flags()), c.ranks,
        {"--data", model / "tokens.bin", "--steps", "3", "--trace", trace});
  json document = readJson(trace);
  int64_t microbatches = std::stoll(c.microbatches);
  for (int rank = 0; rank < c.ranks; ++rank) {
    std::vector<std::vector<json>> steps = readSteps(document, rank);
    ASSERT_EQ(steps.size(), 2u) << "of rank " << rank;
    for (const std::vector<json> &events : steps) {
      std::vector<Unit> units = readUnits(events);
      ASSERT_EQ(units.size(), size_t(c.reshard == "false" ? 4 : 6) * microbatches);
      for (size_t i = 0; i < units.size(); ++i) {
        SCOPED_TRACE("rank " + std::to_string(rank) + ", gather " + std::to_string(i) + " of " +
                     units[i].source);
        ASSERT_GT(units[i].lastCompute, 0);
        // Layers compute with what was gathered for them.
        if (units[i].source == "model.layers.*") {
          ASSERT_FALSE(units[i].products.empty());
          EXPECT_EQ(units[i].products.front().find("model.layers.*."), 0u)
              << units[i].products.front();
        }
        if (units[i].source == "model.embed_tokens")
          continue;
        const Unit &ahead = units[i - 1];
        EXPECT_LT(units[i].start, ahead.lastCompute);
        // The head's forward and backward follow one another; the gather stands between them.
        if (ahead.source != "model.norm, lm_head")
          EXPECT_LE(units[i].start, ahead.firstCompute);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Llama, Overlap,
                         testing::Values(Case{"1", "true"}, Case{"2", "true"}, Case{"1", "false"},
                                         Case{"2", "2", 4}),
                         [](const auto &info) {
                           return "In" + info.param.microbatches + "_" + info.param.reshard;
                         });

} // namespace
