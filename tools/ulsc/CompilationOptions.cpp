//===- CompilationOptions.cpp - What the command line says of a compilation -------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "tools/ulsc/Compilation.h"

#include "dialects/Uls/Uls.h"
#include "passes/Schedule/RecomputePolicy.h"
#include "tools/ulsc/MemoryLimit.h"
#include "tools/ulsc/Output.h"
#include "ulsc/InitAllDialects.h"
#include "ulsc/InitAllPasses.h"
#include "ulsc/PipelineScheduleFile.h"
#include "ulsc/Support/Nearest.h"
#include "ulsc/Target/Cuda.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::tool;

/// Quotes a value for the text form of a pass pipeline's options.
static std::string quote(StringRef value) { return "\"" + value.str() + "\""; }

bool Compilation::loadPlugins() {
  registerAllDialects(registry);
  // A command may compile more than once.
  static const bool isRegistered = (registerAllPasses(), true);
  (void)isRegistered;
  bool isLegal = true;
  for (const std::string &path : arguments.getAll("load-pass-plugin")) {
    auto plugin = PassPlugin::load(path);
    if (plugin)
      plugin->registerPassRegistryCallbacks();
    else
      isLegal =
          !reportUsageError("pass plugin " + path + ": " + llvm::toString(plugin.takeError()));
  }
  for (const std::string &path : arguments.getAll("load-dialect-plugin")) {
    auto plugin = DialectPlugin::load(path);
    if (plugin)
      plugin->registerDialectRegistryCallbacks(registry);
    else
      isLegal =
          !reportUsageError("dialect plugin " + path + ": " + llvm::toString(plugin.takeError()));
  }
  return isLegal;
}

bool Compilation::readPipelinesAfter() {
  SmallVector<StringRef> stages;
  for (const Stage &stage : getStages())
    stages.push_back(stage.name);
  for (const std::string &text : arguments.getAll("pass-pipeline-at")) {
    auto [stage, pipeline] = StringRef(text).split(':');
    if (!llvm::is_contained(stages, stage) || pipeline.empty())
      return !reportUsageError("--pass-pipeline-at is \"" + text +
                               "\", expected STAGE:PIPELINE with a stage of " +
                               llvm::join(stages, ", ") + suggestNearest(stage, stages));
    stageOptions.after.emplace_back(stage.str(), pipeline.str());
  }
  // A user's pass that breaks the module should be named itself.
  stageOptions.verifiesEach = arguments.has("verify-each") || !stageOptions.after.empty();
  return true;
}

bool Compilation::readPrecision() {
  const StringRef known[] = {"f32",           "fp32=f32", "float32=f32", "bf16",
                             "bfloat16=bf16", "f16",      "fp16=f16",    "float16=f16"};
  // f32 and bf16 have one range, f16 has a smaller one that nothing but the loss scale watches.
  ArrayRef<StringRef> all(known), wideRange = all.drop_back(3);
  auto dtype = arguments.getChoice("dtype", all, "f32");
  auto gradient = arguments.getChoice("grad-dtype", wideRange, "f32");
  auto reduce = arguments.getChoice("reduce-dtype", wideRange, gradient.value_or("f32"));
  auto master =
      arguments.getChoice("master-dtype", {"f32", "fp32=f32", "float32=f32", "none"}, "f32");
  auto moment = arguments.getChoice("moment-dtype", wideRange, "f32");
  auto rounding = arguments.getChoice("stochastic-rounding", {"on", "off"}, "off");
  if (!dtype || !gradient || !reduce || !master || !moment || !rounding)
    return false;
  if (*dtype == "f16" && *master == "none")
    return !reportUsageError("--master-dtype none is not legal with --dtype f16, whose smallest "
                             "steps are too large for updates; use f32, or --dtype bf16");
  bool hasNarrowState = *moment == "bf16" || (*dtype == "bf16" && *master == "none");
  if (*rounding == "on" && !hasNarrowState)
    return !reportUsageError("--stochastic-rounding on is of state in bf16, and there is none: "
                             "add --moment-dtype bf16, or --dtype bf16 --master-dtype none");
  importOptions.computeDtype = *dtype;
  importOptions.gradientDtype = *gradient;
  reduceDtype = *reduce;
  statePrecision = " master-dtype=" + *master + " moment-dtype=" + *moment +
                   " stochastic-rounding=" + (*rounding == "on" ? "true" : "false");
  return true;
}

bool Compilation::readOptions() {
  auto chosenTarget = arguments.getChoice("target", {"cpu", "cuda"}, "cpu");
  auto arch = arguments.getChoice("arch", getCudaArchitectures(), "sm_90");
  auto chosenAttention = arguments.getChoice("attention", {"auto", "own", "cudnn"}, "auto");
  auto epilogues = arguments.getChoice("epilogues", {"on", "off"}, "on");
  auto chosen = arguments.getChoice("optimizer", {"adamw", "sgd"}, "adamw");
  auto dropout = arguments.getChoice("dropout", {"on", "off"}, "");
  auto devices = arguments.getInteger("devices", 1, 0);
  auto seq = arguments.getInteger("seq", 1, 0);
  auto most = arguments.getInteger("threads", 1, 16);
  if (!readPrecision() || !chosenTarget || !arch || !chosenAttention || !epilogues || !chosen ||
      !dropout || !devices || !seq || !most)
    return false;
  if (*most > 4096)
    return !reportUsageError("--threads is " + Twine(*most) + ", expected at most 4096");
  threads = *most;
  target = *chosenTarget;
  for (StringRef flag : {"arch", "attention", "epilogues"})
    if (arguments.has(flag) && target != "cuda")
      return !reportUsageError("--" + flag +
                               " is of the target cuda; add --target cuda, or leave it out");
  attention = *chosenAttention;
  fusesEpilogues = *epilogues == "on";
  if (target == "cuda") {
    stageOptions.pipelines["llvm"] = "ulsc-cuda-pipeline";
    stageOptions.options["llvm"] = "arch=" + *arch;
  }
  if (purpose == Purpose::Parameters && !arguments.has("seq"))
    seq = 1;
  else if (!arguments.has("seq"))
    return !reportUsageError("--seq is required: shapes are static; as --seq 1024");
  if (*seq > (int64_t(1) << 30))
    return !reportUsageError("--seq is " + Twine(*seq) + ", expected at most " +
                             Twine(int64_t(1) << 30));
  if (arguments.has("recompute")) {
    std::string problem;
    std::optional<RecomputePolicy> policy =
        RecomputePolicy::parse(arguments.get("recompute"), problem);
    if (!policy)
      return !reportUsageError("--recompute " + problem);
    recompute = policy->str();
  }
  if (arguments.has("reshard-after-forward")) {
    std::string problem;
    std::optional<ReshardPolicy> policy =
        ReshardPolicy::parse(arguments.get("reshard-after-forward"), problem);
    if (!policy)
      return !reportUsageError("--reshard-after-forward " + problem);
    reshard = *policy;
  }
  if (arguments.has("memory-limit")) {
    memoryLimit = parseBytes(arguments.get("memory-limit"));
    if (!memoryLimit)
      return !reportUsageError("--memory-limit is \"" + arguments.get("memory-limit") +
                               "\", expected a size of at least one byte, as 70GB, 512MiB or 80e9");
  }
  auto chunks = arguments.getInteger("pp-chunks", 1, 0);
  if (!chunks)
    return false;
  chunksPerRank = *chunks;
  importOptions.seq = *seq;
  if (!dropout->empty())
    importOptions.dropout = *dropout == "on";
  optimizer = *chosen;
  if (arguments.has("reshard-after-forward"))
    stageOptions.options["scheduled"] =
        "reshard-after-forward=" + arguments.get("reshard-after-forward");
  if (!recompute.empty() && !memoryLimit)
    stageOptions.options["scheduled"] += " recompute=" + recompute;
  dumpDirectory = arguments.get("dump-dir");
  recipeOptions = {arguments.get("mesh"),   arguments.get("mesh-order"), arguments.get("strategy"),
                   arguments.get("recipe"), arguments.getAll("shard"),   *devices};
  return readPipelinesAfter();
}

/// A number of ranks must fit those that store the parameters.
bool Compilation::checkReshard() {
  std::vector<std::pair<std::string, int64_t>> axes;
  for (const std::string &axis : recipe.storage.parameters)
    axes.emplace_back(axis, recipe.getAxisSize(axis));
  std::string problem = reshard.findProblem(axes);
  return problem.empty() || !reportUsageError("--reshard-after-forward " + problem);
}

/// Options about stages have no meaning on a mesh that can't have any.
bool Compilation::checkPipelineOptions() {
  bool isLegal = true;
  for (StringRef name : {"pp-schedule", "pp-chunks", "costs"})
    if (arguments.has(name) && !recipe.getAxisSize("pp"))
      isLegal = !reportUsageError("--" + name + " is \"" + arguments.get(name) +
                                  "\", but the mesh has no axis pp, so that there are no pipeline "
                                  "stages; add pp=2 or more to --mesh, or take it out");
  return isLegal;
}

/// The schedule of a pipeline and the chunks of each of its ranks: the command line's, the
/// recipe's, or what holds without either.
bool Compilation::readSchedule() {
  if (!checkPipelineOptions())
    return false;
  Location where = NameLoc::get(StringAttr::get(context.get(), "command line"));
  const Pipeline &asked = recipe.pipeline;
  schedule = arguments.get("pp-schedule", asked.schedule);
  scheduleLocation = chunksLocation = where;
  if (schedule.empty())
    schedule = "1f1b";
  else if (!arguments.has("pp-schedule"))
    scheduleLocation = asked.scheduleLocation;
  if (!arguments.has("pp-chunks")) {
    chunksPerRank = asked.chunksPerRank;
    if (chunksPerRank)
      chunksLocation = asked.chunksLocation;
  }
  std::optional<int64_t> usual = pipeline::findChunksPerRank(scheduleLocation, schedule);
  if (!usual)
    return false;
  int64_t ranks = recipe.getAxisSize("pp");
  // Blocks that are named say how many chunks there are, where any number is legal.
  int64_t named = asked.stagesLocation ? int64_t(asked.stages.size()) + 1 : 0;
  if (!chunksPerRank && named && ranks > 1 && named % ranks == 0 &&
      pipeline::takesAnyChunks(schedule))
    chunksPerRank = named / ranks;
  if (!chunksPerRank)
    chunksPerRank = *usual;
  stageOptions.options["staged"] =
      "schedule=" + quote(schedule) + " chunks=" + std::to_string(chunksPerRank);
  if (!recipeOptions.recipe.empty())
    stageOptions.options["staged"] += " recipe=" + quote(recipeOptions.recipe);
  if (arguments.has("costs"))
    stageOptions.options["staged"] += " costs=" + quote(arguments.get("costs"));
  // A limit without a policy is kept by computing again: what full recomputation needs must fit.
  if (memoryLimit)
    stageOptions.options["staged"] += " memory-limit=" + std::to_string(*memoryLimit) +
                                      " recompute=" + (recompute.empty() ? "full" : recompute);
  return true;
}

/// Makes the table of a pipeline. What is wrong with it is reported before anything is compiled,
/// and its size is checked first: that of numbers which nobody means is more than a machine has.
bool Compilation::makeTable() {
  int64_t ranks = recipe.getAxisSize("pp");
  if (ranks <= 1 || purpose == Purpose::Parameters)
    return true;
  pipeline::Shape shape{ranks, importOptions.microbatches, chunksPerRank};
  // The chunks' own fault, whoever asked for the schedule: one rank and one microbatch are legal.
  std::string problem = pipeline::checkSize({1, 1, chunksPerRank});
  if (problem.empty() && !pipeline::isScheduleFile(schedule))
    (void)pipeline::makeSchedule(schedule, {1, 1, chunksPerRank}, problem);
  Location where(problem.empty() ? scheduleLocation : chunksLocation);
  if (problem.empty())
    problem = pipeline::checkSize(shape);
  if (!problem.empty()) {
    emitError(where) << "schedule " << schedule << " " << problem;
    return false;
  }
  int64_t blocks = 0;
  module->walk([&](uls::CallOp) { ++blocks; });
  // Of a file, the numbers that it was made for say more.
  if (!pipeline::isScheduleFile(schedule))
    problem = pipeline::checkBlocks(shape, blocks, schedule);
  if (!problem.empty()) {
    emitError(chunksLocation) << problem;
    return false;
  }
  table = pipeline::findSchedule(scheduleLocation, schedule, shape);
  return table.has_value();
}

/// Solves batch = micro-batch × microbatches × data ranks for what was not given.
bool Compilation::readBatch() {
  if (purpose == Purpose::Parameters) {
    importOptions.dataRanks = recipe.getDataRanks();
    importOptions.dataAxes = recipe.getDataAxes();
    // Parameters don't depend on a length that was not given; let it divide.
    const AxisRule *rule = recipe.findRule("seq");
    if (rule && !arguments.has("seq"))
      for (const std::string &axis : rule->meshAxes)
        importOptions.seq *= recipe.getAxisSize(axis);
    return true;
  }
  auto batch = arguments.getInteger("batch", 1, 0),
       micro = arguments.getInteger("micro-batch", 1, 0);
  auto count = arguments.getInteger("microbatches", 1, 0);
  if (!batch || !micro || !count)
    return false;
  if (!*batch)
    return !reportUsageError("--batch is required: the global batch in sequences, as --batch 64");
  int64_t ranks = recipe.getDataRanks(), known = ranks;
  std::string product = std::to_string(ranks) + " data ranks";
  if (*micro) {
    known *= *micro;
    product = "micro-batch " + std::to_string(*micro) + " × " + product;
  }
  if (*count) {
    known *= *count;
    product = std::to_string(*count) + " microbatches × " + product;
  }
  bool isWhole = *batch % known == 0, isExact = !*micro || !*count || *batch == known;
  if (!isWhole || !isExact) {
    int64_t below = *batch / known * known;
    std::string fix = !isExact && *micro && *count ? std::to_string(known)
                      : below ? std::to_string(below) + " or " + std::to_string(below + known)
                              : std::to_string(known);
    return !reportUsageError("--batch " + Twine(*batch) + " is not " +
                             (isExact ? "a multiple of " : "") + product +
                             "; the nearest that is: " + fix);
  }
  if (!*micro && !*count)
    *count = 1;
  if (!*micro)
    *micro = *batch / (ranks * *count);
  if (!*count)
    *count = *batch / (ranks * *micro);
  // Their bytes, summed over a block, must stay far from the end of 64 bits.
  constexpr int64_t mostTokens = int64_t(1) << 32;
  if (*micro * ranks > mostTokens / importOptions.seq)
    return !reportUsageError("a microbatch has " + Twine(*micro * ranks) + " sequences of " +
                             Twine(importOptions.seq) + " tokens; more than " + Twine(mostTokens) +
                             " tokens are not supported; take more --microbatches");
  importOptions.microBatch = *micro;
  importOptions.microbatches = *count;
  importOptions.dataRanks = ranks;
  AxisNames axes = recipe.getDataAxes();
  importOptions.dataAxes.assign(axes.begin(), axes.end());
  if (purpose == Purpose::Step)
    llvm::errs() << "batch " << *batch << " = micro-batch " << *micro << " × " << *count
                 << (*count == 1 ? " microbatch × " : " microbatches × ") << ranks
                 << (ranks == 1 ? " data rank\n" : " data ranks\n");
  return true;
}

void Compilation::addStageOptions() {
  std::string graph = "devices=" + std::to_string(recipeOptions.devices);
  auto add = [&](StringRef key, StringRef value) {
    if (!value.empty())
      graph += (" " + key + "=").str() + quote(value);
  };
  add("mesh", recipeOptions.mesh);
  add("mesh-order", recipeOptions.meshOrder);
  add("strategy", recipeOptions.strategy);
  add("recipe", recipeOptions.recipe);
  add("shard", llvm::join(recipeOptions.shard, ";"));
  stageOptions.options["graph"] = graph;
  stageOptions.options["train"] = "optimizer=" + optimizer + statePrecision;
  stageOptions.options["local"] = "reduce-dtype=" + reduceDtype;
  // The most threads of a rank that scratch memory is there for.
  stageOptions.options["exec"] = "threads=" + std::to_string(threads) + " target=" + target +
                                 " attention=" + attention +
                                 " epilogues=" + (fusesEpilogues ? "true" : "false");
}
