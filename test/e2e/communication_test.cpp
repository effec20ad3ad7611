//===- communication_test.cpp - What travels is what the report says
//------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <map>

using namespace ulsc::test;
using nlohmann::json;

namespace {
constexpr int64_t kSteps = 3, kBatch = 16, kSeq = 32;

struct Case {
  std::string model;
  int64_t dp, tp, microbatches;
  std::string strategy = "";

  std::string mesh() const { return "dp=" + std::to_string(dp) + ",tp=" + std::to_string(tp); }
  int ranks() const { return int(dp * tp); }
};

class Communication : public testing::TestWithParam<Case> {};

/// What travels in a step for one reason: the report has a line for it, the program one or more
/// collectives.
struct Traffic {
  int64_t count = 0, bytes = 0;
  bool operator==(const Traffic &other) const {
    return count == other.count && bytes == other.bytes;
  }
};
std::ostream &operator<<(std::ostream &stream, const Traffic &traffic) {
  return stream << traffic.count << " calls, " << traffic.bytes << " bytes";
}

std::string reasonOf(const std::string &kind, const std::vector<std::string> &axes,
                     const std::string &phase, const std::string &cause) {
  return kind + " " + json(axes).dump() + " " + phase + ": " + cause;
}

std::string reasonOf(const json &entry) {
  return reasonOf(entry.at("kind"), entry.at("axes"), entry.at("phase"), entry.at("cause"));
}

using TrafficByReason = std::map<std::string, Traffic>;

/// Names the reasons that differ alone.
void expectEqual(const TrafficByReason &actual, const TrafficByReason &expected,
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
TrafficByReason counted(const std::filesystem::path &file, const json &manifest) {
  TrafficByReason traffic;
  json document = readJson(file);
  for (const auto &[identifier, entry] : document.at("collectives").items()) {
    Traffic &sum = traffic[reasonOf(manifest.at("collectives").at(std::stoul(identifier)))];
    sum.count += entry.at("calls").get<int64_t>();
    sum.bytes += entry.at("bytes").get<int64_t>();
  }
  return traffic;
}

/// What the report says of `steps` steps.
TrafficByReason reported(const json &report, int64_t steps) {
  TrafficByReason traffic;
  for (const json &entry : report.at("collectives")) {
    Traffic &sum = traffic[reasonOf(entry)];
    int64_t calls = entry.at("count_per_step").get<int64_t>() * steps;
    sum.count += calls;
    sum.bytes += calls * entry.at("bytes").get<int64_t>();
  }
  return traffic;
}

/// The program of a case, and its report in `report`.
std::filesystem::path compileCase(const Case &c, std::filesystem::path &report) {
  report = scratchDirectory("communication-" + c.model + c.mesh() + c.strategy +
                            std::to_string(c.microbatches)) /
           "report.json";
  return compile(goldenDirectory(c.model),
                 {"--seq", std::to_string(kSeq), "--batch", std::to_string(kBatch),
                  "--microbatches", std::to_string(c.microbatches), "--mesh", c.mesh(),
                  "--strategy", c.strategy.empty() ? "ddp+tp" : c.strategy},
                 report);
}

/// Names, and sizes in elements, of what a model exchanges.
struct Model {
  std::string embed, attentionOut, mlpOut, mlpIn, attentionIn, attentionInRule;
  int64_t layers, hidden;
  /// Gradients that become final together, and why they are summed; every tp rank has the whole of
  /// the first size, a part of the second.
  struct Bucket {
    int64_t calls, whole, divided;
    std::vector<std::string> summed;
  };
  std::vector<Bucket> buckets;
};

Model describe(const std::string &name, int64_t tp) {
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

/// What a step has to move, from the sizes of the model alone. Tensor parallelism, per microbatch:
/// two all-reduces of the hidden state a layer each way, one more each way for embedding and head,
/// and the loss's row statistics. Data parallelism: every gradient byte once a step, a block's in
/// one call. And the scalars: the count of targets before the first backward; norm, loss and stop
/// flags together at the end.
class ExpectedTraffic {
public:
  explicit ExpectedTraffic(const Case &c) : c(c), model(describe(c.model, c.tp)) {}

  TrafficByReason build() {
    if (c.tp > 1)
      addTensorParallel();
    if (c.dp > 1)
      addDataParallel();
    addScalars();
    return std::move(traffic);
  }

private:
  void add(const std::vector<std::string> &axes, const std::string &phase, const std::string &cause,
           int64_t count, int64_t bytes) {
    Traffic &sum = traffic[reasonOf("all_reduce", axes, phase, cause)];
    sum.count += count;
    sum.bytes += count * bytes;
  }

  void addTensorParallel() {
    int64_t m = c.microbatches, rows = kBatch / c.dp / m * kSeq, state = rows * model.hidden * 4;
    auto add = [&](const std::string &phase, const std::string &op, const std::string &factor,
                   const std::string &rule, int64_t count) {
      this->add({"tp"}, phase,
                op + " of " + factor + ", sharded by rule " + rule + "→tp (strategy tp)", count,
                state);
    };
    this->add({"tp"}, "forward",
              model.embed + ": sum over vocab, sharded by rule vocab→tp (strategy tp)", m, state);
    add("forward", model.attentionOut + ": contraction", "heads", "heads", m * model.layers);
    add("forward", model.mlpOut + ": contraction", "mlp", "mlp", m * model.layers);
    add("backward", model.mlpIn + ": contraction", "mlp", "mlp", m * model.layers);
    add("backward", model.attentionIn + ": contraction", "heads", model.attentionInRule,
        m * model.layers);
    add("backward", "lm_head: contraction", "vocab", "vocab", m);
    // The rows' maxima, then their sums of exponentials with the targets' logits.
    std::string statistics = "loss: row statistics of the loss, vocabulary sharded by rule "
                             "vocab→tp (strategy tp)";
    this->add({"tp"}, "forward", statistics, m, rows * 4);
    this->add({"tp"}, "forward", statistics, m, 2 * rows * 4);
  }

  void addDataParallel() {
    for (const Model::Bucket &bucket : model.buckets) {
      std::string cause;
      for (const std::string &summed : bucket.summed) {
        bool isSum = summed.find(": sum") != std::string::npos;
        cause += (cause.empty() ? "" : "; ") + summed + (isSum ? " over " : " of ") +
                 "batch, sharded by rule batch→dp";
      }
      add({"dp"}, "backward", cause, bucket.calls, (bucket.whole + bucket.divided / c.tp) * 4);
    }
  }

  void addScalars() {
    std::vector<std::string> axes;
    std::string cause;
    if (c.dp > 1) {
      add({"dp"}, "step", "forward: sum over batch, sharded by rule batch→dp", 1, 4);
      axes.push_back("dp");
    }
    if (c.tp > 1) {
      axes.push_back("tp");
      cause += "norm of the gradients that are sharded over tp; ";
    }
    if (c.dp > 1)
      cause += "loss: sum over batch, sharded by rule batch→dp; ";
    add(axes, "step", cause + "forward: uls.sum_ranks sums over ranks", 1,
        4 * int64_t(axes.size() + 1));
  }

  const Case &c;
  Model model;
  TrafficByReason traffic;
};

void expectReportEqualsWhatTravelled(const Case &c) {
  std::filesystem::path report, program = compileCase(c, report);
  std::filesystem::path directory = report.parent_path();
  train(program, c.ranks(),
        {"--data", goldenDirectory(c.model) / "tokens.bin", "--steps", std::to_string(kSteps)},
        preload("ulsc_pmpi_shim", {{"ULSC_PMPI_OUT", directory / "pmpi.%r.json"}}));
  json manifest = json::parse(run({program, "--describe"}).output);
  TrafficByReason expected = reported(readJson(report), kSteps);
  ASSERT_FALSE(expected.empty());
  for (int rank = 0; rank < c.ranks(); ++rank)
    expectEqual(counted(directory / ("pmpi." + std::to_string(rank) + ".json"), manifest), expected,
                "on rank " + std::to_string(rank));
}

TEST_P(Communication, ReportEqualsWhatTravelled) { expectReportEqualsWhatTravelled(GetParam()); }

TEST_P(Communication, IsExactlyWhatTheParallelismNeeds) {
  const Case &c = GetParam();
  std::filesystem::path report;
  compileCase(c, report);
  expectEqual(reported(readJson(report), 1), ExpectedTraffic(c).build(), "in the report");
}

INSTANTIATE_TEST_SUITE_P(Meshes, Communication,
                         testing::Values(Case{"llama", 2, 1, 1}, Case{"llama", 2, 1, 4},
                                         Case{"llama", 1, 2, 1}, Case{"llama", 1, 2, 4},
                                         Case{"llama", 2, 2, 1}, Case{"llama", 2, 2, 4},
                                         Case{"gpt2", 2, 1, 1}, Case{"gpt2", 2, 1, 4},
                                         Case{"gpt2", 1, 2, 1}, Case{"gpt2", 1, 2, 4},
                                         Case{"gpt2", 2, 2, 1}, Case{"gpt2", 2, 2, 4}),
                         [](const auto &info) {
                           const Case &c = info.param;
                           return c.model + "Dp" + std::to_string(c.dp) + "Tp" +
                                  std::to_string(c.tp) + "In" + std::to_string(c.microbatches);
                         });

//===---------------------------------------------------------------------------------------===//
// Split state
//===---------------------------------------------------------------------------------------===//

class StorageCommunication : public testing::TestWithParam<Case> {};

/// Bytes of a step's gathers and scatters by kind and phase.
std::map<std::string, int64_t> measureVolume(const json &report) {
  std::map<std::string, int64_t> volume;
  for (const json &entry : report.at("collectives")) {
    std::string kind = entry.at("kind");
    if (kind == "all_gather" || kind == "reduce_scatter")
      volume[kind + " " + entry.at("phase").get<std::string>()] +=
          entry.at("count_per_step").get<int64_t>() * entry.at("bytes").get<int64_t>();
  }
  return volume;
}

/// The volumes of ZeRO (Rajbhandari et al. 2020, section 7), in bytes of Ψ parameters, with what
/// deviates: the embedding's backward needs no table and that of an addition no bias, the head's
/// follows its forward and shares its gather, and a tied table is gathered and scattered for both
/// of its uses.
std::map<std::string, int64_t> expectedVolume(const Case &c) {
  Model model = describe(c.model, 1);
  int64_t all = 0, m = c.microbatches;
  for (const Model::Bucket &bucket : model.buckets)
    all += bucket.calls * (bucket.whole + bucket.divided) * 4;
  bool isTied = c.model == "gpt2";
  int64_t table = (c.model == "llama" ? 256 : 257) * model.hidden * 4,
          positions = isTied ? 128 * model.hidden * 4 : 0;
  // The final norm and the table that the head multiplies with.
  int64_t head = (isTied ? 2 : 1) * model.hidden * 4 + table, tied = isTied ? table : 0;
  // q, k and v, the attention's output, and the MLP's inner and outer size.
  int64_t biases = isTied ? model.layers * (3 + 1 + 4 + 1) * model.hidden * 4 : 0;
  if (c.strategy == "zero1")
    return {{"reduce_scatter backward", all}, {"all_gather step", all}};
  if (c.strategy == "zero2")
    return {{"reduce_scatter backward", m * (all + tied)}, {"all_gather step", all}};
  return {{"reduce_scatter backward", m * (all + tied)},
          {"all_gather forward", m * (all + tied)},
          {"all_gather backward", m * (all - (isTied ? positions : table) - head - biases)}};
}

TEST_P(StorageCommunication, ReportEqualsWhatTravelled) {
  expectReportEqualsWhatTravelled(GetParam());
}

TEST_P(StorageCommunication, IsTheVolumeOfZero) {
  const Case &c = GetParam();
  std::filesystem::path report;
  compileCase(c, report);
  EXPECT_EQ(measureVolume(readJson(report)), expectedVolume(c));
}

/// Each parameter that travels more or less often than the formula says is named with its reason.
TEST_P(StorageCommunication, DeviationsAreNamed) {
  const Case &c = GetParam();
  std::filesystem::path report;
  compileCase(c, report);
  std::map<std::string, std::string> reasons;
  json storage = readJson(report).at("storage");
  for (const json &entry : storage.at("deviations"))
    reasons[entry.at("collective").get<std::string>() + " " +
            entry.at("parameter").get<std::string>()] = entry.at("reason");
  std::map<std::string, std::string> expected;
  std::string unused = "the backward does not need it",
              shared = "the backward follows its forward and shares the gather";
  bool isTied = c.model == "gpt2";
  if (c.strategy != "zero1" && isTied)
    expected["reduce_scatter transformer.wte.weight"] = "several units add to its gradient";
  if (c.strategy == "zero3" && !isTied)
    expected.insert({{"all_gather model.embed_tokens.weight", unused},
                     {"all_gather model.norm.weight", shared},
                     {"all_gather lm_head.weight", shared}});
  // The tied table is gathered for the embedding and for the head, whose backward shares it: twice.
  if (c.strategy == "zero3" && isTied) {
    expected.insert({{"all_gather transformer.wpe.weight", unused},
                     {"all_gather transformer.ln_f.weight", shared},
                     {"all_gather transformer.ln_f.bias", shared}});
    for (const char *linear : {"attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"})
      expected["all_gather transformer.h.*." + std::string(linear) + ".bias"] = unused;
  }
  EXPECT_EQ(reasons, expected);
}

std::vector<Case> storageCases() {
  std::vector<Case> cases;
  for (const char *model : {"llama", "gpt2"})
    for (const char *strategy : {"zero1", "zero2", "zero3"})
      for (int64_t microbatches : {1, 4})
        cases.push_back({model, 4, 1, microbatches, strategy});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Strategies, StorageCommunication, testing::ValuesIn(storageCases()),
                         [](const auto &info) {
                           const Case &c = info.param;
                           return c.model + "_" + c.strategy + "In" +
                                  std::to_string(c.microbatches);
                         });
} // namespace
