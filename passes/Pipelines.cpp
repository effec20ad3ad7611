//===- Pipelines.cpp - The stages of a compilation, in order
//-----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "ulsc/Pipelines.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

#include <chrono>

using namespace mlir;
using namespace ulsc;

ArrayRef<Stage> ulsc::getStages() {
  static const Stage stages[] = {
      {"graph", "ulsc-graph-pipeline"},     {"train", "ulsc-train-pipeline"},
      {"sharded", "ulsc-shard-pipeline"},   {"staged", "ulsc-stage-pipeline"},
      {"local", "ulsc-partition-pipeline"}, {"scheduled", "ulsc-schedule-pipeline"},
      {"exec", "ulsc-lower-pipeline"},      {"llvm", "ulsc-cpu-pipeline"},
  };
  return stages;
}

/// The passes inside `builtin.module(…)`, which a manager of modules needs no more.
static StringRef stripModule(StringRef text) {
  StringRef inner = text.trim();
  if (inner.consume_front("builtin.module(") && inner.consume_back(")"))
    return inner;
  return text;
}

LogicalResult ulsc::buildStage(OpPassManager &manager, const Stage &stage,
                               const StageOptions &options,
                               llvm::function_ref<LogicalResult(const Twine &)> fail) {
  auto chosen = options.pipelines.find(stage.name);
  StringRef name = chosen == options.pipelines.end() ? stage.pipeline : chosen->second;
  const PassPipelineInfo *pipeline = PassPipelineInfo::lookup(name);
  if (!pipeline)
    return fail("stage " + stage.name + " is not built in: no pipeline is called " + name);
  if (failed(pipeline->addToPipeline(manager, options.options.lookup(stage.name), fail)))
    return failure();
  for (auto &[name, text] : options.after) {
    if (name != stage.name)
      continue;
    std::string problems;
    llvm::raw_string_ostream stream(problems);
    if (failed(parsePassPipeline(stripModule(text), manager, stream)))
      return fail("the pipeline after stage " + name + " can't be read: " + problems);
  }
  return success();
}

LogicalResult ulsc::runStages(ModuleOp module, StringRef last, const StageOptions &options,
                              llvm::function_ref<LogicalResult(const Stage &, double)> done) {
  auto fail = [&](const Twine &message) -> LogicalResult {
    return emitError(UnknownLoc::get(module.getContext())) << message;
  };
  for (const Stage &stage : getStages()) {
    auto start = std::chrono::steady_clock::now();
    PassManager manager(module.getContext());
    manager.enableVerifier(options.verifiesEach);
    if (failed(buildStage(manager, stage, options, fail)) || failed(manager.run(module)))
      return failure();
    if (!options.verifiesEach && failed(verify(module)))
      return failure();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (failed(done(stage, seconds.count())))
      return failure();
    if (stage.name == last)
      return success();
  }
  return success();
}

namespace {
struct StagesOptions : PassPipelineOptions<StagesOptions> {
  Option<std::string> from{*this, "from", llvm::cl::desc("first stage"), llvm::cl::init("graph")};
  Option<std::string> to{*this, "to", llvm::cl::desc("last stage"), llvm::cl::init("scheduled")};
};
} // namespace

void ulsc::registerStagesPipeline() {
  PassPipelineRegistration<StagesOptions>(
      "ulsc-stages", "Runs the stages from one to another, with their default options",
      [](OpPassManager &manager, const StagesOptions &options) {
        bool isInside = false;
        auto fail = [](const Twine &message) -> LogicalResult {
          llvm::errs() << "error: " << message << "\n";
          return failure();
        };
        for (const Stage &stage : getStages()) {
          isInside |= stage.name == options.from;
          if (isInside && failed(buildStage(manager, stage, {}, fail)))
            return;
          if (stage.name == options.to)
            return;
        }
      });
}
