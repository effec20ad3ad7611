//===- communication.cpp - Programs whose traffic is counted
//-----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "communication.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace ulsc::test;
using namespace ulsc::test::communication;
using nlohmann::json;

std::string communication::reasonOf(const std::string &kind, const std::vector<std::string> &axes,
                                    const std::string &phase, const std::string &cause) {
  return kind + " " + json(axes).dump() + " " + phase + ": " + cause;
}

static std::string reasonOfEntry(const json &entry) {
  return reasonOf(entry.at("kind"), entry.at("axes"), entry.at("phase"), entry.at("cause"));
}

void communication::expectEqual(const TrafficByReason &actual, const TrafficByReason &expected,
                                const std::string &where) {
  for (const auto &[reason, traffic] : expected) {
    auto found = actual.find(reason);
    if (found == actual.end())
      ADD_FAILURE() << "missing " << where << ": " << reason;
    else
      EXPECT_EQ(found->second, traffic) << where << ": " << reason;
  }
  for (const auto &[reason, traffic] : actual)
    if (!expected.count(reason))
      ADD_FAILURE() << "unexpected " << where << ": " << reason << ", " << traffic;
}

/// What the shim counted, by the reason that the program's manifest gives for each collective.
static TrafficByReason counted(const std::filesystem::path &file, const json &manifest) {
  TrafficByReason traffic;
  json document = readJson(file);
  for (const auto &[identifier, entry] : document.at("collectives").items()) {
    Traffic &sum = traffic[reasonOfEntry(manifest.at("collectives").at(std::stoul(identifier)))];
    sum.count += entry.at("calls").get<int64_t>();
    sum.bytes += entry.at("bytes").get<int64_t>();
  }
  return traffic;
}

TrafficByReason communication::reported(const json &report, int64_t steps, int64_t stage) {
  TrafficByReason traffic;
  for (const json &entry : report.at("collectives")) {
    if (entry.value("stage", int64_t(-1)) != stage)
      continue;
    Traffic &sum = traffic[reasonOfEntry(entry)];
    int64_t calls = entry.at("count_per_step").get<int64_t>() * steps;
    sum.count += calls;
    sum.bytes += calls * entry.at("bytes").get<int64_t>();
  }
  return traffic;
}

std::filesystem::path communication::compileCase(const Case &c, std::filesystem::path &report) {
  std::filesystem::path directory = scratchDirectory(
      "communication-" + c.model + c.mesh() + c.strategy + std::to_string(c.microbatches) +
      c.reshard + std::to_string(c.units.size()) + c.recompute + c.schedule);
  report = directory / "report.json";
  Words flags{"--seq",
              std::to_string(kSeq),
              "--batch",
              std::to_string(kBatch),
              "--microbatches",
              std::to_string(c.microbatches),
              "--mesh",
              c.mesh(),
              "--strategy",
              c.strategy.empty() ? "ddp+tp" : c.strategy,
              "--reshard-after-forward",
              c.reshard,
              "--recompute",
              c.recompute};
  if (c.pp > 1)
    flags.insert(flags.end(),
                 {"--pp-schedule", c.schedule, "--pp-chunks", std::to_string(c.chunks)});
  if (!c.units.empty()) {
    std::ofstream(directory / "recipe.json") << json{{"storage", {{"units", c.units}}}};
    flags.insert(flags.end(), {"--recipe", directory / "recipe.json"});
  }
  return compile(goldenDirectory(c.model), flags, report);
}

void communication::expectReportEqualsWhatTravelled(const Case &c) {
  std::filesystem::path report, program = compileCase(c, report);
  std::filesystem::path directory = report.parent_path();
  train(program, c.ranks(),
        {"--data", goldenDirectory(c.model) / "tokens.bin", "--steps", std::to_string(kSteps)},
        preload("ulsc_pmpi_shim", {{"ULSC_PMPI_OUT", directory / "pmpi.%r.json"}}));
  json manifest = json::parse(run({program, "--describe"}).output);
  json document = readJson(report);
  for (int rank = 0; rank < c.ranks(); ++rank) {
    TrafficByReason expected = reported(document, kSteps, c.pp > 1 ? rank * c.pp / c.ranks() : -1);
    ASSERT_FALSE(expected.empty());
    expectEqual(counted(directory / ("pmpi." + std::to_string(rank) + ".json"), manifest), expected,
                "on rank " + std::to_string(rank));
  }
}

Model communication::describe(const std::string &name, int64_t tp) {
  const int64_t hidden = 64, layers = 2;
  if (name == "llama") {
    const int64_t ffn = 160, kv = 32, vocabulary = 256;
    std::string layer = "model.layers.*.";
    return {"model.embed_tokens",
            layer + "self_attn.o_proj",
            layer + "mlp.down_proj",
            layer + "mlp.up_proj",
            layer + "self_attn.v_proj",
            "kv_heads",
            layers,
            hidden,
            {{1, hidden, vocabulary * hidden, {"model.norm: sum", "lm_head: contraction"}},
             {layers,
              2 * hidden,
              2 * hidden * hidden + 2 * kv * hidden + 3 * ffn * hidden,
              {layer + "input_layernorm: sum", layer + "self_attn.q_proj: contraction",
               layer + "self_attn.k_proj: contraction", layer + "self_attn.v_proj: contraction",
               layer + "self_attn.o_proj: contraction", layer + "post_attention_layernorm: sum",
               layer + "mlp.gate_proj: contraction", layer + "mlp.up_proj: contraction",
               layer + "mlp.down_proj: contraction"}},
             {1, 0, vocabulary * hidden, {"model.embed_tokens: sum"}}}};
  }
  // The head is the table of the embedding: one gradient, final with the position table's.
  const int64_t positions = 128, vocabulary = (257 + tp - 1) / tp * tp, ffn = 4 * hidden;
  std::string layer = "transformer.h.*.", attention = layer + "attn.", mlp = layer + "mlp.";
  return {"transformer.wte",
          attention + "c_proj",
          mlp + "c_proj",
          mlp + "c_fc",
          attention + "c_attn",
          "heads",
          layers,
          hidden,
          {{1, 2 * hidden, 0, {"transformer.ln_f: sum"}},
           {layers,
            4 * hidden + 2 * hidden,
            3 * hidden * (hidden + 1) + hidden * hidden + ffn * (hidden + 1) + ffn * hidden,
            {layer + "ln_1: sum", attention + "c_attn: contraction", attention + "c_attn: sum",
             attention + "c_proj: contraction", attention + "c_proj: sum", layer + "ln_2: sum",
             mlp + "c_fc: contraction", mlp + "c_fc: sum", mlp + "c_proj: contraction",
             mlp + "c_proj: sum"}},
           {1,
            positions * hidden,
            vocabulary * hidden,
            {"lm_head: contraction", "transformer.wpe: sum"}}}};
}
