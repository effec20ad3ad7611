// Attention and its gradient through the simulated cuDNN against plain loops in double precision.
#include "attention_case.h"

#include "simulator/core/graphs.h"
#include "simulator/core/memory.h"
#include "simulator/core/streams.h"
#include "ulsc/AttentionWorkspace.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ulsc::simulator::test {
namespace {

/// The largest difference, by the largest value expected.
double difference(const std::vector<double> &found, const std::vector<double> &expected) {
  EXPECT_EQ(found.size(), expected.size());
  double largest = 0, scale = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    // A NaN is no difference that a comparison sees.
    double off = std::abs(found[i] - expected[i]);
    largest = std::isnan(off) ? INFINITY : std::max(largest, off);
    scale = std::max(scale, std::abs(expected[i]));
  }
  return largest / scale;
}

double unitOf(int32_t dtype) { return dtype == ULSC_BF16 ? 1.0 / 256 : 1.0 / 2048; }

class AttentionNumbersTest : public testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionNumbersTest, AreThoseOfPlainLoops) {
  AttentionRun run(GetParam());
  run.forward();
  run.gradient();
  run.synchronize();
  AttentionNumbers expected = run.expected();
  // Probabilities are rounded once before they are multiplied, results once more.
  double unit = unitOf(run.given.dtype);
  EXPECT_LT(difference(run.out.read(), expected.out), 2 * unit);
  EXPECT_LT(difference(run.lse.read(), expected.lse), 1e-5);
  EXPECT_LT(difference(run.qGrad.read(), expected.qGrad), 2 * unit);
  EXPECT_LT(difference(run.kGrad.read(), expected.kGrad), 3 * unit);
  EXPECT_LT(difference(run.vGrad.read(), expected.vGrad), 3 * unit);
}

std::vector<AttentionCase> cases() {
  std::vector<AttentionCase> result;
  for (int32_t dtype : {ULSC_BF16, ULSC_F16})
    for (bool isCausal : {true, false})
      for (int64_t group : {1, 3}) {
        result.push_back({2, 24, 2, group, 16, dtype, isCausal});
        result.push_back({1, 65, 1, group, 64, dtype, isCausal});
      }
  result.push_back({3, 5, 2, 2, 8, ULSC_BF16, true});
  result.push_back({1, 40, 2, 1, 128, ULSC_BF16, true});
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, AttentionNumbersTest, testing::ValuesIn(cases()),
                         [](const auto &info) {
                           std::string name = info.param.name();
                           for (char &c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c)))
                               c = '_';
                           return name;
                         });

// With just enough for the second proposal, it is taken.
TEST(AttentionWorkspace, TakesTheFirstProposalThatFits) {
  AttentionRun roomy({}), tight({});
  const AttentionCase &given = tight.given;
  tight.gradientDesc.workspace_bytes =
      ulsc_attention_workspace_alignment + 256 +
      ulsc_attention_graph_bytes(given.batch, given.sequence, given.kvHeads, given.group,
                                 given.headSize);
  for (AttentionRun *run : {&roomy, &tight}) {
    run->forward();
    run->gradient();
    run->synchronize();
  }
  EXPECT_EQ(roomy.kGrad.read(), tight.kGrad.read());
}

// The begin of a workspace need not be aligned to what its parts are aligned to.
TEST(AttentionWorkspace, MayBeginAnywhere) {
  AttentionRun run({});
  DeviceTensor larger(ULSC_F32, run.workspace.elements + 16);
  run.forward();
  run.attention.run(run.gradientDesc,
                    {run.q.data, run.k.data, run.v.data, run.out.data, run.lse.data,
                     run.outGrad.data, run.qGrad.data, run.kGrad.data, run.vGrad.data},
                    larger.data + 64);
  run.synchronize();
  EXPECT_LT(difference(run.qGrad.read(), run.expected().qGrad), 2 * unitOf(ULSC_BF16));
}

// A captured step does what the eager one before it planned.
TEST(AttentionCapture, RunsAgainInAGraph) {
  AttentionRun run({2, 16, 2, 2, 16, ULSC_BF16, true});
  auto stream = reinterpret_cast<StreamHandle>(run.stream);
  run.forward();
  run.gradient();
  run.synchronize();
  std::vector<double> eager = run.qGrad.read();
  ASSERT_EQ(beginCapture(stream, CaptureMode::Strict), Status::Success);
  run.forward();
  run.gradient();
  Graph *graph = nullptr;
  ASSERT_EQ(endCapture(stream, graph), Status::Success);
  GraphExec *exec = instantiate(*graph);
  run.q.write(std::vector<double>(static_cast<size_t>(run.q.elements), 0.5));
  ASSERT_EQ(launchGraph(*exec, stream), Status::Success);
  run.synchronize();
  EXPECT_NE(run.qGrad.read(), eager);
  EXPECT_LT(difference(run.qGrad.read(), run.expected().qGrad), 2 * unitOf(ULSC_BF16));
  destroyGraphExec(exec);
  destroyGraph(graph);
}

} // namespace
} // namespace ulsc::simulator::test
