//===- PropertyTest.cpp - Random models, meshes and shardings under the oracles
//------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// The third oracle: whatever the model, the mesh and the shardings, the partitioned step computes
/// what its source does, and the source's adjoints agree with finite differences. A few seeds run
/// by default; ULSC_EXHAUSTIVE=1 runs many, ULSC_SEED=N one and prints its modules.
///
//===---------------------------------------------------------------------------------------===//

#include "RandomModel.h"
#include "test/unit/Interpreter/GradientCheck.h"

#include "ulsc/InitAllDialects.h"
#include "ulsc/InitAllPasses.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

namespace {

std::vector<uint64_t> getSeeds() {
  if (const char *seed = std::getenv("ULSC_SEED"))
    return {std::strtoull(seed, nullptr, 10)};
  std::vector<uint64_t> seeds;
  for (uint64_t seed = 1; seed <= (std::getenv("ULSC_EXHAUSTIVE") ? 1000 : 40); ++seed)
    seeds.push_back(seed);
  return seeds;
}

class Property : public ::testing::TestWithParam<uint64_t> {
protected:
  Property() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
  }

  static DialectRegistry makeRegistry() {
    static bool registered = (registerAllPasses(), true);
    (void)registered;
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  /// Runs a pipeline given as text; the module must be valid after every pass.
  LogicalResult run(ModuleOp module, StringRef pipeline) {
    PassManager manager(&context, ModuleOp::getOperationName());
    manager.enableVerifier();
    std::string error;
    llvm::raw_string_ostream os(error);
    if (failed(parsePassPipeline(pipeline, manager, os))) {
      llvm::errs() << error << "\n";
      return failure();
    }
    return manager.run(module);
  }

  void print(StringRef title, ModuleOp module) {
    if (std::getenv("ULSC_SEED"))
      llvm::errs() << "// " << title << "\n" << module << "\n";
  }

  /// The joint forms of the blocks of `plain`, against finite differences.
  void checkAdjoints(ModuleOp plain, ModuleOp train) {
    for (auto joint : train.getOps<uls::BlockOp>()) {
      StringRef name = joint.getSymName().split(".variant").first;
      auto block = llvm::cast<uls::BlockOp>(SymbolTable::lookupSymbolIn(plain, name));
      if (!joint.isJoint())
        continue;
      for (const std::string &failure : checkGradients(block, joint, GetParam(), 1e-6))
        ADD_FAILURE() << "@" << joint.getSymName().str() << ": " << failure;
    }
  }

  /// Whether the step of a random model computes the same on a random mesh, with stages or without.
  void checkPartitioned(bool hasStages);

  MLIRContext context;
};

TEST_P(Property, AdjointsAgreeWithFiniteDifferences) {
  test::RandomModel model = test::drawModel(GetParam());
  OwningOpRef<ModuleOp> plain = parseSourceString<ModuleOp>(model.text, &context);
  ASSERT_TRUE(plain) << model.text;
  OwningOpRef<ModuleOp> train = plain->clone();
  ASSERT_TRUE(succeeded(run(*train, "ulsc-train-pipeline")));
  print("train", *train);
  if (model.isSmooth)
    checkAdjoints(*plain, *train);
}

/// Which ranks of the module's mesh were told to stop.
static SmallVector<double> drawStops(ModuleOp module, uint64_t seed) {
  SmallVector<double> stops;
  for (auto mesh : module.getOps<dist::MeshOp>())
    for (int64_t rank = 0; rank < mesh.getMesh().getDeviceCount(); ++rank)
      stops.push_back((rank + seed) % 3 == 0);
  return stops;
}

/// Splits states, maybe gradients, maybe parameters, over some of the data axes, or nothing.
static void drawStorage(ModuleOp module, uint64_t seed) {
  auto batch = module->getAttrOfType<DictionaryAttr>("uls.batch");
  auto axes = batch ? batch.getAs<ArrayAttr>("data_axes") : ArrayAttr();
  if (!axes || axes.empty())
    return;
  Builder builder(module.getContext());
  auto some = builder.getArrayAttr(axes.getValue().drop_front(seed / 4 % axes.size()));
  NamedAttrList storage;
  uint64_t stage = seed % 4;
  constexpr StringLiteral kinds[] = {"optimizer", "gradients", "parameters"};
  for (auto [i, kind] : llvm::enumerate(kinds))
    storage.set(kind, i < stage ? some : builder.getArrayAttr({}));
  storage.set("origin", builder.getStringAttr("drawn"));
  module->setAttr(uls::UlsDialect::kStorageAttrName, storage.getDictionary(module.getContext()));
}

/// Cuts what blocks hand on along the sequence over an axis that is no data axis, after all else
/// has had its say or not, or leaves it.
static void drawSequence(ModuleOp module, uint64_t seed) {
  auto batch = module->getAttrOfType<DictionaryAttr>("uls.batch");
  auto data = batch ? batch.getAs<ArrayAttr>("data_axes") : ArrayAttr();
  auto mesh = *module.getOps<dist::MeshOp>().begin();
  Builder builder(module.getContext());
  SmallVector<StringAttr> axes;
  for (dist::MeshAxisAttr axis : mesh.getMesh().getAxes())
    if (StringAttr name = builder.getStringAttr(axis.getName());
        !data || !llvm::is_contained(data, name))
      axes.push_back(name);
  if (axes.empty() || seed % 3 == 0)
    return;
  StringAttr axis = axes[seed / 3 % axes.size()];
  auto makeDim = [&](ArrayRef<StringAttr> axes, int64_t priority) {
    return dist::DimShardingAttr::get(module.getContext(), axes, /*isOpen=*/true, priority);
  };
  for (auto block : module.getOps<uls::BlockOp>())
    for (BlockArgument argument : block.getEntry().getArguments()) {
      auto type = llvm::dyn_cast<RankedTensorType>(argument.getType());
      if (!type || type.getRank() != 3 || !llvm::isa<FloatType>(type.getElementType()) ||
          block.getArgAttr(argument.getArgNumber(), "uls.parameter") ||
          type.getDimSize(1) % *mesh.getMesh().getAxisSize(axis) != 0)
        continue;
      block.setArgAttr(argument.getArgNumber(), dist::DistDialect::kShardingAttrName,
                       dist::ShardingAttr::get(
                           module.getContext(), FlatSymbolRefAttr::get(mesh.getSymNameAttr()),
                           {makeDim({}, 0), makeDim(axis, seed / 3 % 2), makeDim({}, 0)}, {}, {},
                           {}));
    }
  module->setAttr("uls.rules", builder.getDictionaryAttr(
                                   builder.getNamedAttr("seq", builder.getArrayAttr({axis}))));
}

/// Puts an axis `pp` before the others, of at most as many ranks as the step has calls, and returns
/// the pipeline that builds its stages by some schedule; empty where the model is one call.
static std::string drawStages(ModuleOp module, uint64_t seed) {
  int64_t calls = 0, microbatches = 1;
  for (auto step : module.getOps<uls::StepOp>())
    step.walk([&](uls::MicrobatchesOp loop) {
      microbatches = loop.getCount();
      calls = llvm::range_size(loop.getBody().getOps<uls::CallOp>());
    });
  int64_t ranks = std::min<int64_t>(calls, 2 + seed % 2);
  if (ranks < 2)
    return "";
  SmallVector<std::string> legal = {"gpipe", "1f1b", "zb-h1", "zb-h2"};
  if (calls >= 2 * ranks) {
    legal.push_back("zbv");
    if (microbatches % ranks == 0)
      legal.push_back("interleaved");
  }
  const std::string &schedule = legal[seed / 2 % legal.size()];
  auto mesh = *module.getOps<dist::MeshOp>().begin();
  SmallVector<dist::MeshAxisAttr> axes = {
      dist::MeshAxisAttr::get(module.getContext(), "pp", ranks)};
  llvm::append_range(axes, mesh.getMesh().getAxes());
  mesh.setMeshAttr(dist::MeshAttr::get(module.getContext(), axes));
  bool isInTwo = schedule == "zbv" || schedule == "interleaved";
  return "ulsc-stage-pipeline{schedule=" + schedule + " chunks=" + (isInTwo ? "2" : "1") + "}";
}

/// All-reduces of numbers about the whole step.
static int64_t countScalarReductions(ModuleOp module) {
  int64_t count = 0;
  for (auto step : module.getOps<uls::StepOp>())
    for (auto reduce : step.getEntry().getOps<dist::AllReduceOp>())
      count += llvm::cast<dist::CollectiveOpInterface>(reduce.getOperation()).isScalar();
  return count;
}

void Property::checkPartitioned(bool hasStages) {
  test::RandomModel model = test::drawModel(GetParam());
  OwningOpRef<ModuleOp> source = parseSourceString<ModuleOp>(model.text, &context);
  ASSERT_TRUE(source) << model.text;
  ASSERT_TRUE(succeeded(run(*source, "ulsc-train-pipeline")));
  FailureOr<Shape> shape = getGlobalInputShape(*source);
  ASSERT_TRUE(succeeded(shape));
  StepInputs inputs = drawStepInputs(*shape, getVocabulary(*source), GetParam(), 0);
  Options options;
  options.control.seed = GetParam();
  FailureOr<StepResult> expected = runStep(*source, inputs, options);
  ASSERT_TRUE(succeeded(expected));
  OwningOpRef<ModuleOp> module = source->clone();
  drawStorage(*module, GetParam());
  drawSequence(*module, GetParam());
  std::string stages = hasStages ? drawStages(*module, GetParam()) : "ulsc-stage-pipeline";
  if (stages.empty())
    GTEST_SKIP() << "the model is one call";
  // The source has one rank; on a mesh each that was told to stop counts once.
  options.control.stopRequested = drawStops(*module, GetParam());
  expected->stopCount = std::accumulate(options.control.stopRequested.begin(),
                                        options.control.stopRequested.end(), 0.0);
  ASSERT_TRUE(succeeded(run(*module, "ulsc-shard-pipeline")));
  print("sharded", *module);
  SCOPED_TRACE(stages);
  ASSERT_TRUE(succeeded(run(*module, stages)));
  print("staged", *module);
  for (StringRef stage : {"partition", "schedule"}) {
    SCOPED_TRACE(stage.str());
    ASSERT_TRUE(succeeded(run(*module, ("ulsc-" + stage + "-pipeline").str())));
    print(stage, *module);
    // The count of targets, and at the end norm, loss and stop flags together.
    if (stage == "partition" && !hasStages)
      EXPECT_LE(countScalarReductions(*module), 2);
    FailureOr<StepResult> actual = runStep(*module, inputs, options);
    ASSERT_TRUE(succeeded(actual));
    for (const std::string &difference : compareSteps(*actual, *expected, 1e-9))
      ADD_FAILURE() << difference;
  }
}

/// Partitioning, then scheduling: each must compute what the source does.
TEST_P(Property, PartitionedStepComputesTheSame) { checkPartitioned(/*hasStages=*/false); }

/// The same with an axis `pp` before the others.
TEST_P(Property, StagesComputeTheSame) { checkPartitioned(/*hasStages=*/true); }

INSTANTIATE_TEST_SUITE_P(Seeds, Property, ::testing::ValuesIn(getSeeds()),
                         [](const auto &info) { return "seed" + std::to_string(info.param); });

} // namespace
