//===- Memory.cpp - ulsc memory ---------------------------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "tools/ulsc/Compilation.h"
#include "tools/ulsc/MemoryInference.h"
#include "tools/ulsc/MemoryState.h"
#include "tools/ulsc/NamedFiles.h"
#include "tools/ulsc/Output.h"
#include "ulsc/Support/Quantity.h"

#include "dialects/Uls/Uls.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::tool;

static std::string getModelName(ModuleOp module) {
  auto model = module->getAttrOfType<DictionaryAttr>("uls.model");
  auto name = model ? model.getAs<StringAttr>("name") : StringAttr();
  return name ? name.str() : "model";
}

/// Whether `ulsc compile` has the strategy.
static bool isKnown(const memory::StateStrategy &strategy) {
  return llvm::is_contained(getStrategies(), strategy.name);
}

/// Why the compiler cannot make the program that is asked about, so that only its state is told, by
/// formula; empty where it can, and where the plan is exact. What the compiler learns leaves this
/// list by itself: it is what `ulsc compile` refuses.
static std::string findWhyStateOnly(const Arguments &arguments, const MemoryRequest &request) {
  if (request.strategy && !isKnown(*request.strategy))
    return "the compiler cannot compile strategy " + request.strategy->name.str() + " yet";
  if (!arguments.has("seq") && !arguments.has("batch"))
    return "they need --seq N and --batch N";
  return {};
}

static int runParameters(const MemoryRequest &request, MemoryOutput &output) {
  StateSubject subject;
  subject.parameters = *request.parameters;
  subject.mesh = *request.mesh;
  int64_t ranks = subject.mesh.getSize("tp");
  AxisNames axes = ranks > 1 ? AxisNames{"tp"} : AxisNames();
  subject.tensors = {memory::makeTensor(subject.parameters, ranks, axes)};
  printState(output, request, subject);
  if (ranks > 1)
    output.print("tp is taken to divide every parameter; a MODEL tells which it does not");
  StringRef reason = "they need a MODEL";
  output.print("model state only; activations, temporaries and communication are not included: " +
               reason);
  output.document["not_included"] = reason.str();
  return 0;
}

/// What to compile for the parameters of a model as they lie before data parallelism divides them.
static Arguments makeStateArguments(const Arguments &asked, const MemoryRequest &request) {
  Arguments arguments(asked);
  for (StringRef name : {"batch", "micro-batch", "microbatches", "dump-dir"})
    arguments.erase(name);
  if (request.dtypes.stored == memory::Dtype::F16)
    arguments.erase("dtype");
  bool isHybrid = request.mesh && request.mesh->isHybrid();
  bool canCompile =
      isHybrid ? request.strategy && request.strategy->isHybrid && isKnown(*request.strategy)
               : !request.strategy || isKnown(*request.strategy);
  if (canCompile && !request.findsDevices)
    return arguments;
  // Any other division by data ranks has the same tensors as ddp over all of them.
  std::vector<std::string> names = request.otherStrategies;
  if (!arguments.has("strategy") && request.mesh && request.mesh->has("tp"))
    names.push_back("tp");
  names.insert(names.begin(), "ddp");
  arguments.set("strategy", llvm::join(names, "+"));
  if (request.mesh) {
    arguments.set("mesh", request.mesh->describeFlat());
    arguments.erase("devices");
  }
  return arguments;
}

/// What a recipe divides, whatever it calls that.
static memory::ZeroStage getStage(const Storage &storage) {
  return !storage.parameters.empty()  ? memory::ZeroStage::Parameters
         : !storage.gradients.empty() ? memory::ZeroStage::Gradients
         : !storage.optimizer.empty() ? memory::ZeroStage::Optimizer
                                      : memory::ZeroStage::None;
}

/// The state of a model by formula.
static int runModelState(const Arguments &asked, const MemoryRequest &request, StringRef reason,
                         MemoryOutput &output) {
  Arguments arguments = makeStateArguments(asked, request);
  Compilation compilation(arguments, /*showsRemarks=*/false, Purpose::Parameters);
  if (!compilation.prepare() || failed(compilation.run("graph")))
    return 1;
  ModuleOp module = compilation.getModule();
  const Recipe &recipe = compilation.getRecipe();
  StateSubject subject{getModelName(module), report::countParameters(module),
                       memory::collectTensors(module),
                       request.mesh ? *request.mesh : makeMemoryMesh(recipe)};
  if (int64_t stages = subject.mesh.getSize("pp"); stages > 1)
    return reportUsageError("the mesh has pp=" + Twine(stages) +
                            ": stages hold different parameters, which the plan tells, not the "
                            "formula; " +
                            reason);
  // What a recipe says of storage holds, over whatever a strategy does.
  MemoryRequest told(request);
  memory::StateStrategy ofRecipe{recipe.strategy, getStage(recipe.storage)};
  bool isWhatWasAsked = arguments.get("strategy") == asked.get("strategy");
  if (asked.has("recipe") && isWhatWasAsked && !request.comparesDtypes && !request.findsDevices &&
      (!recipe.isStrategyImplied || ofRecipe.stage != memory::ZeroStage::None)) {
    told.strategy = &ofRecipe;
    told.otherStrategies.clear();
    subject.mesh = makeMemoryMesh(recipe);
    if (!recipe.storage.optimizer.empty())
      subject.mesh.dataAxes = recipe.storage.optimizer;
  }
  printState(output, told, subject);
  output.print("model state only; activations, temporaries and communication are not included: " +
               reason);
  output.document["not_included"] = reason.str();
  return 0;
}

static int64_t getLastingState(const memory::RankMemory &rank) {
  int64_t bytes = 0;
  for (const memory::Row &row : rank.rows)
    bytes += row.getLasting();
  return bytes;
}

/// Gradients that a step holds beside those that last: whole ones on their way to their chunks.
static int64_t getGradientsUnderWay(const memory::RankMemory &rank) {
  int64_t bytes = 0;
  for (const memory::Row &row : rank.rows)
    bytes += row.parts.empty() ? 0 : row.bytes - row.getLasting();
  return bytes;
}

/// The state of the plan beside that of the formula, and why they differ where that is known.
static void printFormula(MemoryOutput &output, const MemoryRequest &request,
                         const StateSubject &subject, const Storage &storage,
                         const memory::RankMemory &rank, memory::Dtype stored) {
  int64_t plan = getLastingState(rank), underWay = getGradientsUnderWay(rank);
  MemoryMesh mesh{subject.mesh.axes, storage.optimizer};
  memory::StateStrategy divided{"", getStage(storage)};
  int64_t formula = computeState({"", 0, subject.tensors, mesh}, request.dtypes, divided).total;
  output.document["state"] = llvm::json::Object{{"plan", plan}, {"formula", formula}};
  output.print("state in the plan " + formatExactBytes(plan) +
               (underWay ? " and " + formatExactBytes(underWay) + " under way" : "") +
               ", by the formula " + formatExactBytes(formula) + " (" +
               formatDecimalBytes(formula) + ")");
  if (stored != request.dtypes.stored)
    output.print("  the plan stores parameters in " + memory::getDtypeName(stored) +
                 ", which are their own master; each step makes their " +
                 memory::getDtypeName(request.dtypes.stored) +
                 " copy in memory that buffers share");
}

static memory::Dtype getStoredDtype(ModuleOp module) {
  for (auto param : module.getOps<uls::ParamOp>())
    if (Type type = param.getTensorType().getElementType(); !type.isF32())
      return type.isBF16() ? memory::Dtype::BF16 : memory::Dtype::F16;
  return memory::Dtype::F32;
}

/// The largest rank of the plan with another strategy of data parallelism beside what `own` names;
/// nothing where that can't be compiled.
static std::optional<Remedy> planStrategy(const Arguments &asked, const MemoryMesh &mesh,
                                          StringRef own, const memory::StateStrategy &strategy) {
  // Strategies divide over dp; a recipe's own storage is not to be replaced.
  if (asked.has("recipe") || mesh.getSize("dp") < 2)
    return std::nullopt;
  SmallVector<StringRef> names;
  own.split(names, '+', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  SmallVector<std::string> others;
  for (StringRef name : names)
    if (!memory::findStateStrategy(name))
      others.push_back(name.str());
  std::string full = joinStrategies(strategy, others);
  Arguments arguments(asked);
  arguments.set("strategy", full);
  arguments.erase("dump-dir");
  Compilation compilation(arguments, /*showsRemarks=*/false, Purpose::Plan);
  if (!compilation.prepare() || failed(compilation.run("exec")))
    return std::nullopt;
  Remedy remedy{full, 0};
  for (const memory::RankMemory &rank : memory::readPlan(compilation.getModule()))
    remedy.total = std::max(remedy.total, rank.total);
  return remedy;
}

static int64_t getMicroBatch(ModuleOp module) {
  auto batch = module->getAttrOfType<DictionaryAttr>(uls::UlsDialect::kBatchAttrName);
  auto micro = batch ? batch.getAs<IntegerAttr>("micro") : IntegerAttr();
  return micro ? micro.getInt() : 1;
}

/// The plan that the compiler makes, exactly.
static int runPlan(const Arguments &arguments, const MemoryRequest &request, MemoryOutput &output) {
  Compilation compilation(arguments, /*showsRemarks=*/false);
  if (!compilation.prepare() || failed(compilation.run("exec")))
    return 1;
  ModuleOp module = compilation.getModule();
  std::vector<memory::RankMemory> ranks = memory::readPlan(module);
  StateSubject subject{getModelName(module), report::countParameters(module),
                       memory::collectTensors(module), makeMemoryMesh(compilation.getRecipe())};
  printSubject(output, request, subject);
  const std::string &strategy = compilation.getRecipe().strategy;
  if (!strategy.empty()) {
    output.print("strategy " + strategy);
    output.document["strategy"] = strategy;
  }
  const memory::RankMemory *largest = nullptr;
  for (const memory::RankMemory &rank : ranks) {
    output.print(rank, "peak");
    if (!largest || rank.total > largest->total)
      largest = &rank;
  }
  if (!largest)
    return reportUsageError("the stage exec left no plan; take plugins out");
  MemoryRequest compiled(request);
  compiled.dtypes.stored = getStoredDtype(module);
  const Storage &storage = compilation.getRecipe().storage;
  memory::StateStrategy divided{"", getStage(storage)};
  compiled.strategy = &divided;
  subject.tensors = memory::collectTensors(module, largest->stage);
  printFormula(output, request, subject, storage, *largest, compiled.dtypes.stored);
  printFit(output, compiled, subject, *largest, getMicroBatch(module),
           [&](const memory::StateStrategy &other) {
             return planStrategy(arguments, subject.mesh, strategy, other);
           });
  return 0;
}

static int runModel(const Arguments &arguments, const MemoryRequest &request,
                    MemoryOutput &output) {
  std::string reason = request.findsDevices     ? "--min-devices is about the state"
                       : request.comparesDtypes ? "--compare-dtype is about the state"
                                                : findWhyStateOnly(arguments, request);
  bool isLegal = true;
  if (!reason.empty())
    for (StringRef name : {"memory-limit", "recompute", "reshard-after-forward"})
      if (arguments.has(name))
        isLegal = !reportUsageError("--" + name +
                                    " is about activations, temporaries and communication, which "
                                    "are not told: " +
                                    reason);
  if (!isLegal)
    return 2;
  return reason.empty() ? runPlan(arguments, request, output)
                        : runModelState(arguments, request, reason, output);
}

static int runMemory(const Arguments &arguments) {
  std::optional<MemoryRequest> request = readMemoryRequest(arguments);
  if (!request)
    return 2;
  if (failed(checkFiles(arguments)))
    return 2;
  if (failed(checkFolder(request->json)))
    return 1;
  MemoryOutput output;
  int status = request->parameters    ? runParameters(*request, output)
               : request->isInference ? runInference(arguments, *request, output)
                                      : runModel(arguments, *request, output);
  return status ? status : failed(output.write(request->json));
}

const CommandSpec ulsc::tool::kMemoryCommand = {
    "memory",
    "MODEL | --params N [--mesh dp=64] [--seq N --batch N] [--device-memory 80e9] [options]",
    "Tells the memory of each rank before the run.", getMemoryOptions(), runMemory};
