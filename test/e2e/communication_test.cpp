//===- communication_test.cpp - What travels is what the report says
//---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "communication.h"

#include <gtest/gtest.h>

using namespace ulsc::test;
using namespace ulsc::test::communication;
using nlohmann::json;

namespace {

class Communication : public testing::TestWithParam<Case> {};

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
    add(axes, "step", cause + "forward: a sum over ranks", 1, 4 * int64_t(axes.size() + 1));
  }

  const Case &c;
  Model model;
  TrafficByReason traffic;
};

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
} // namespace
