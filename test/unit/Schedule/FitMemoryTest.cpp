//===- FitMemoryTest.cpp - The search for a policy against all sets of saved values
//------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// Small models whose layer has few values: every set of them that can be kept is planned, with
/// every number and group of layers run forward again. What the best of these fits, the search
/// must fit, too.
///
//===---------------------------------------------------------------------------------------===//

#include "test/unit/RunPasses.h"
#include "passes/Schedule/FitMemory.h"
#include "passes/Schedule/SavedValues.h"
#include "ulsc/Report.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::test;

namespace {

/// A layer: its parameters in order of use are a norm's weight, what leads in and what leads out.
struct Layer {
  const char *name, *body;
};

const Layer kLayers[] = {
    {"FeedForward", R"(
    %n, %s = uls.rms_norm %x, %w epsilon 1.0e-5 : tensor<4x32x16xf32>, tensor<16xf32> -> tensor<4x32xf32>
    %h = uls.einsum "bse,em->bsm" %n, %up : tensor<4x32x16xf32>, tensor<16x64xf32> -> tensor<4x32x64xf32>
    %g = uls.gelu tanh %h : tensor<4x32x64xf32>
    %d = uls.einsum "bsm,me->bse" %g, %down : tensor<4x32x64xf32>, tensor<64x16xf32> -> tensor<4x32x16xf32>
    %r = uls.add %x, %d : tensor<4x32x16xf32>, tensor<4x32x16xf32>)"},
    // The square is smaller than what it takes to compute the next value again.
    {"Gated", R"(
    %h = uls.einsum "bse,em->bsm" %x, %up : tensor<4x32x16xf32>, tensor<16x64xf32> -> tensor<4x32x64xf32>
    %g = uls.silu %h : tensor<4x32x64xf32>
    %m = uls.mul %g, %h : tensor<4x32x64xf32>, tensor<4x32x64xf32>
    %d = uls.einsum "bsm,me->bse" %m, %down : tensor<4x32x64xf32>, tensor<64x16xf32> -> tensor<4x32x16xf32>
    %e = uls.mul %d, %d : tensor<4x32x16xf32>, tensor<4x32x16xf32>
    %r, %s = uls.rms_norm %e, %w epsilon 1.0e-5 : tensor<4x32x16xf32>, tensor<16xf32> -> tensor<4x32xf32>)"},
};

std::string getParameters(int layers) {
  std::string text;
  for (int i = 0; i < layers; ++i) {
    std::string prefix = "  uls.param @\"h." + std::to_string(i);
    text += prefix + ".w\" : tensor<16xf32> axes [\"embed\"] init <ones> sharding <@mesh, [{}]>\n";
    text += prefix + ".up\" : tensor<16x64xf32> axes [\"embed\", \"mlp\"] init <normal, 0.2> " +
            "sharding <@mesh, [{}, {}]>\n";
    text += prefix + ".down\" : tensor<64x16xf32> axes [\"mlp\", \"embed\"] init <normal, 0.2> " +
            "sharding <@mesh, [{}, {}]>\n";
  }
  return text;
}

std::string getCalls(int layers) {
  std::string text;
  for (int i = 0; i < layers; ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += "    %w" + n + " = uls.materialize @\"h." + n + ".w\" : tensor<16xf32>\n";
    text += "    %u" + n + " = uls.materialize @\"h." + n + ".up\" : tensor<16x64xf32>\n";
    text += "    %d" + n + " = uls.materialize @\"h." + n + ".down\" : tensor<64x16xf32>\n";
    text += "    %x" + next + " = uls.call @layer(%x" + n + ", %w" + n + ", %u" + n + ", %d" + n +
            ") {layer = " + n + " : i64} : (tensor<4x32x16xf32>, tensor<16xf32>, " +
            "tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<4x32x16xf32>\n";
  }
  return text;
}

/// A model of the stage `local` on one device.
OwningOpRef<ModuleOp> makeModel(const char *body, int layers) {
  std::string text = R"(module attributes {
  uls.model = {family = "test", name = "test", config = "{}", vocabulary = 16 : i64, weight_prefix = ""},
  uls.batch = {global = 4 : i64, micro = 4 : i64, microbatches = 1 : i64, seq = 32 : i64, data_axes = []},
  uls.gradient_dtype = f32} {
  dist.mesh @mesh <["dp"=1]>
  uls.param @"table" : tensor<16x16xf32> axes ["vocab", "embed"] init <normal, 0.2> sharding <@mesh, [{}, {}]>
)" + getParameters(layers) +
                     R"(
  uls.block @embed(%tokens: tensor<4x32xi32> {uls.axes = ["batch", "seq"]},
                   %table: tensor<16x16xf32> {uls.axes = ["vocab", "embed"], uls.parameter}) -> (tensor<4x32x16xf32>) {
    %0 = uls.embedding %tokens, %table : tensor<4x32xi32>, tensor<16x16xf32> -> tensor<4x32x16xf32>
    uls.yield %0 : tensor<4x32x16xf32>
  }
  uls.block @layer(%x: tensor<4x32x16xf32> {uls.axes = ["batch", "seq", "embed"]}, %w: tensor<16xf32> {uls.axes = ["embed"], uls.parameter},
                   %up: tensor<16x64xf32> {uls.axes = ["embed", "mlp"], uls.parameter},
                   %down: tensor<64x16xf32> {uls.axes = ["mlp", "embed"], uls.parameter}) -> (tensor<4x32x16xf32>) {)" +
                     body + R"(
    uls.yield %r : tensor<4x32x16xf32>
  }
  uls.block @head(%x: tensor<4x32x16xf32>, %targets: tensor<4x32xi32>,
                  %table: tensor<16x16xf32> {uls.axes = ["vocab", "embed"], uls.parameter}) -> (tensor<f32>) {
    %logits = uls.einsum "bse,ve->bsv" %x, %table : tensor<4x32x16xf32>, tensor<16x16xf32> -> tensor<4x32x16xf32>
    %loss, %lse = uls.cross_entropy %logits, %targets vocabulary 16 : tensor<4x32x16xf32>, tensor<4x32xi32> -> tensor<4x32xf32>
    %sum = uls.reduce sum %loss dims [0, 1] : tensor<4x32xf32> -> tensor<f32>
    uls.yield %sum : tensor<f32>
  }
  uls.forward @forward(%tokens: tensor<4x32xi32> {uls.axes = ["batch", "seq"]}, %targets: tensor<4x32xi32> {uls.axes = ["batch", "seq"]},
                       %context: !uls.context) -> (tensor<f32>) {
    %table = uls.materialize @"table" : tensor<16x16xf32>
    %x0 = uls.call @embed(%tokens, %table) : (tensor<4x32xi32>, tensor<16x16xf32>) -> tensor<4x32x16xf32>
)" + getCalls(layers) +
                     "    %loss = uls.call @head(%x" + std::to_string(layers) +
                     R"(, %targets, %table)
      : (tensor<4x32x16xf32>, tensor<4x32xi32>, tensor<16x16xf32>) -> tensor<f32>
    uls.yield %loss : tensor<f32>
  }
})";
  auto module = parseSourceString<ModuleOp>(text, &getContext());
  EXPECT_TRUE(module &&
              succeeded(runPasses(
                  *module, "ulsc-train-pipeline{optimizer=sgd},"
                           "ulsc-shard-pipeline,ulsc-stage-pipeline,ulsc-partition-pipeline")));
  return module;
}

/// The exact plan of a copy, made once per model and policy.
FailureOr<PlannedPolicy> plan(ModuleOp module, const std::string &policy) {
  static std::map<std::pair<Operation *, std::string>, PlannedPolicy> plans;
  auto known = plans.find({module, policy});
  if (known != plans.end())
    return known->second;
  OwningOpRef<ModuleOp> copy(module.clone());
  if (failed(runPasses(*copy, "ulsc-schedule-pipeline{recompute=" + policy + "}")))
    return failure();
  double us = *report::makeRecompute(*copy).getNumber("predicted_us");
  if (failed(runPasses(*copy, "ulsc-lower-pipeline")))
    return failure();
  return plans[{module, policy}] = PlannedPolicy{
             policy, *report::makeMemory(*copy)[0].getAsObject()->getInteger("peak"), 0, us};
}

uls::BlockOp getLayer(ModuleOp module) { return module.lookupSymbol<uls::BlockOp>("layer"); }

unsigned countForwardValues(ModuleOp module) {
  unsigned count = 0;
  for (Operation &op : getLayer(module).getEntry()) {
    if (isa<uls::ResultOp>(op))
      break;
    count += op.getNumResults();
  }
  return count;
}

/// The policy that keeps exactly the values of the layer whose bits are set.
std::string keeping(const std::string &policy, uint64_t mask) {
  std::string text = policy + ",keep=layer";
  for (unsigned i = 0; mask >> i; ++i)
    if (mask >> i & 1)
      text += "+" + std::to_string(i);
  return text;
}

/// The smallest peak of all sets of values that a layer may keep, under all ways to run layers
/// forward again.
PlannedPolicy searchAll(ModuleOp module, int layers) {
  PlannedPolicy smallest;
  std::set<std::vector<const void *>> seen;
  unsigned numValues = countForwardValues(module);
  for (uint64_t mask = 0; mask < uint64_t(1) << numValues; ++mask) {
    std::string problem;
    auto all = RecomputePolicy::parse(keeping("selective:price=0", mask), problem);
    FailureOr<SavedValues> saved = chooseSavedValues(getLayer(module), *all);
    if (failed(saved))
      continue;
    std::vector<const void *> set;
    for (Value value : saved->results)
      set.push_back(value.getAsOpaquePointer());
    if (!seen.insert(set).second)
      continue;
    SmallVector<std::string> policies{"selective:price=0"};
    for (int group = 1; group <= layers; ++group)
      for (int count = group; count <= layers; ++count)
        policies.push_back("full:group=" + std::to_string(group) +
                           ",layers=" + std::to_string(count) + ",price=0");
    for (const std::string &policy : policies) {
      FailureOr<PlannedPolicy> planned = plan(module, keeping(policy, mask));
      EXPECT_TRUE(succeeded(planned)) << keeping(policy, mask);
      if (smallest.policy.empty() || planned->peakBytes < smallest.peakBytes)
        smallest = *planned;
    }
  }
  EXPECT_GT(seen.size(), 4u) << "no choice";
  return smallest;
}

class FitMemory : public testing::TestWithParam<std::tuple<int, int>> {
protected:
  /// Models live as long as their plans.
  static ModuleOp getModel(std::tuple<int, int> parameters) {
    static std::map<std::tuple<int, int>, OwningOpRef<ModuleOp>> models;
    OwningOpRef<ModuleOp> &model = models[parameters];
    if (!model)
      model = makeModel(kLayers[std::get<0>(parameters)].body, std::get<1>(parameters));
    return *model;
  }

  ModuleOp model = getModel(GetParam());

  MemoryFit fit(int64_t limit) {
    FailureOr<MemoryFit> found =
        fitMemory(model, limit, [&](const std::string &policy) { return plan(model, policy); });
    EXPECT_TRUE(succeeded(found));
    return *found;
  }
};

TEST_P(FitMemory, RefusesNothingThatFits) {
  PlannedPolicy best = searchAll(model, std::get<1>(GetParam()));
  MemoryFit found = fit(best.peakBytes);
  EXPECT_TRUE(found.chosen.has_value())
      << "the smallest peak found is " << found.smallest.peakBytes << " with "
      << found.smallest.policy << ", but " << best.peakBytes << " with " << best.policy
      << " is possible";
}

TEST_P(FitMemory, NeverExceedsAndPaysNoMoreThanItMust) {
  FailureOr<PlannedPolicy> none = plan(model, "none");
  ASSERT_TRUE(succeeded(none));
  int64_t smallest = fit(1).smallest.peakBytes, step = (none->peakBytes - smallest) / 4 + 1;
  EXPECT_FALSE(fit(smallest - 1).chosen);
  double last = 0;
  for (int64_t limit = none->peakBytes; limit >= smallest; limit -= step) {
    MemoryFit found = fit(limit);
    ASSERT_TRUE(found.chosen) << limit;
    EXPECT_LE(found.chosen->peakBytes, limit);
    FailureOr<PlannedPolicy> again = plan(model, found.chosen->policy);
    EXPECT_EQ(again->peakBytes, found.chosen->peakBytes) << "the policy's name is the policy";
    EXPECT_GE(found.chosen->recomputedUs, last) << "less memory can't be had for less time";
    last = found.chosen->recomputedUs;
    if (limit == none->peakBytes)
      EXPECT_EQ(found.chosen->policy, "none");
  }
  EXPECT_GT(last, 0);
}

/// More layers than every way to run them again is tried for: what a policy that has a name fits is
/// fitted.
TEST(FitMemoryOfManyLayers, RefusesNoNamedPolicy) {
  OwningOpRef<ModuleOp> model = makeModel(kLayers[1].body, 6);
  auto planModel = [&](const std::string &policy) { return plan(*model, policy); };
  for (const char *policy : {"none", "selective:norm,act,gather", "selective:attn,norm,act,gather",
                             "full", "full:layers=3", "full:group=2"}) {
    std::string problem;
    std::string text = RecomputePolicy::parse(policy, problem)->str();
    FailureOr<PlannedPolicy> named = planModel(text);
    ASSERT_TRUE(succeeded(named)) << policy;
    FailureOr<MemoryFit> found = fitMemory(*model, named->peakBytes, planModel);
    ASSERT_TRUE(succeeded(found)) << policy;
    EXPECT_TRUE(found->chosen) << policy << " takes " << named->peakBytes
                               << ", but the smallest is " << found->smallest.peakBytes << " with "
                               << found->smallest.policy;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, FitMemory,
                         testing::Values(std::tuple(0, 1), std::tuple(0, 3), std::tuple(1, 1)),
                         [](const testing::TestParamInfo<std::tuple<int, int>> &info) {
                           return kLayers[std::get<0>(info.param)].name +
                                  std::to_string(std::get<1>(info.param));
                         });

} // namespace
