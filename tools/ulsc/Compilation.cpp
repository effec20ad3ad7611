//===- Compilation.cpp - One compilation, as the command line asks for it
//----------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "tools/ulsc/Compilation.h"

#include "tools/ulsc/MemoryLimit.h"
#include "tools/ulsc/NamedFiles.h"
#include "tools/ulsc/Output.h"
#include "ulsc/InitAllDialects.h"
#include "ulsc/InitAllPasses.h"
#include "ulsc/PipelineScheduleFile.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::tool;

//===---------------------------------------------------------------------------------------===//
// Diagnostics
//===---------------------------------------------------------------------------------------===//

/// `config.json:7:3` or the name of a module of the model; nothing for an unknown place.
static std::string describeLocation(Location location) {
  if (auto file = llvm::dyn_cast<FileLineColLoc>(location)) {
    std::string text = file.getFilename().str();
    if (file.getLine())
      text += ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn());
    return text;
  }
  if (auto name = llvm::dyn_cast<NameLoc>(location))
    return name.getName().str();
  if (auto fused = llvm::dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string text = describeLocation(part); !text.empty())
        return text;
  return {};
}

static void printDiagnostic(Diagnostic &diagnostic) {
  static const char *const severities[] = {"note", "warning", "error", "remark"};
  std::string place = describeLocation(diagnostic.getLocation());
  llvm::errs() << (place.empty() ? "ulsc" : place) << ": "
               << severities[unsigned(diagnostic.getSeverity())] << ": " << diagnostic.str()
               << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    printDiagnostic(note);
}

void Compilation::handle(Diagnostic &diagnostic) {
  // A plan beside the one that was asked for is made or not; the one asked for tells what is wrong.
  if (purpose == Purpose::Plan)
    return;
  if (diagnostic.getSeverity() == DiagnosticSeverity::Remark && !showsRemarks)
    ++hiddenRemarks;
  else
    printDiagnostic(diagnostic);
}

void Compilation::mentionRemarks() {
  if (hiddenRemarks)
    llvm::errs() << hiddenRemarks << (hiddenRemarks == 1 ? " remark" : " remarks")
                 << (hiddenRemarks == 1 ? " not shown; --remarks shows it\n"
                                        : " not shown; --remarks shows them\n");
}

//===---------------------------------------------------------------------------------------===//
// Preparation
//===---------------------------------------------------------------------------------------===//

Compilation::Compilation(const Arguments &arguments, bool showsRemarks, Purpose purpose)
    : arguments(arguments), purpose(purpose), showsRemarks(showsRemarks) {}
Compilation::~Compilation() = default;

bool Compilation::prepare() {
  if (arguments.positionals.size() != 1)
    return !reportUsageError(
        arguments.positionals.empty()
            ? Twine("needs a MODEL: a config.json or a directory that holds one")
            : "takes one MODEL, found " + Twine(arguments.positionals.size()) + ", \"" +
                  arguments.positionals[1] + "\" among them");
  if (!loadPlugins() || !readOptions())
    return false;
  context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  context->getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    handle(diagnostic);
    return success();
  });
  if (std::optional<Recipe> resolved = resolveRecipe(context.get(), recipeOptions))
    recipe = *resolved;
  else
    return false;
  if (purpose == Purpose::Step)
    llvm::errs() << recipe.describe();
  if (!checkReshard() || !readBatch() || !readSchedule() ||
      failed(checkFiles(arguments, pipeline::isScheduleFile(schedule) ? schedule : "")))
    return false;
  importOptions.vocabularyMultiple = recipe.getVocabularyMultiple();
  module = importModel(context.get(), arguments.positionals[0], importOptions);
  if (!module)
    return false;
  if (!makeTable())
    return false;
  if (purpose == Purpose::Step)
    llvm::errs() << report::countParameters(*module) << " parameters\n";
  addStageOptions();
  return true;
}

//===---------------------------------------------------------------------------------------===//
// Stages
//===---------------------------------------------------------------------------------------===//

void Compilation::printModule(raw_ostream &stream) {
  OpPrintingFlags flags;
  if (arguments.has("locations"))
    flags.enableDebugInfo(true, false);
  module->print(stream, flags);
  stream << "\n";
}

void Compilation::addSeconds(StringRef stage, double value) {
  seconds.emplace_back(stage.str(), value);
  if (purpose != Purpose::Step)
    return;
  std::string name = stage.str();
  name.append(name.size() < 10 ? 10 - name.size() : 1, ' ');
  llvm::errs() << name << llvm::formatv("{0:F2} s\n", value).str();
}

std::string Compilation::getTitle() const {
  std::string title = llvm::sys::path::filename(arguments.positionals[0]).str(), mesh;
  for (dist::MeshOp op : ModuleOp(*module).getOps<dist::MeshOp>())
    for (dist::MeshAxisAttr axis : op.getMesh().getAxes())
      mesh +=
          (mesh.empty() ? "" : " × ") + axis.getName().str() + "=" + std::to_string(axis.getSize());
  if (StringRef(title).ends_with(".json"))
    title = llvm::sys::path::filename(llvm::sys::path::parent_path(arguments.positionals[0])).str();
  return llvm::json::fixUTF8(title) + (mesh.empty() ? "" : " on " + mesh) + ", batch " +
         arguments.get("batch") + " in " + std::to_string(importOptions.microbatches) +
         (importOptions.microbatches == 1 ? " microbatch" : " microbatches");
}

/// Only for who asks: of a large program it takes as long as a stage.
LogicalResult Compilation::predictTimeline() {
  if (purpose != Purpose::Step || !(isTimed || arguments.has("report")))
    return success();
  FailureOr<timeline::Timeline> made = timeline::makeTimeline(*module, cost::Cluster::getDefault());
  if (failed(made))
    return failure();
  predicted = std::move(*made);
  llvm::json::Object pipeline = timeline::makeReport(*predicted, getScheduleName());
  if (llvm::json::Array chunks = report::makeChunks(*module); !chunks.empty())
    pipeline["chunks"] = std::move(chunks);
  document["pipeline"] = std::move(pipeline);
  return success();
}

LogicalResult Compilation::finishStage(const Stage &stage, double value) {
  addSeconds(stage.name, value);
  // Each part of the report is taken where the module still says it.
  if (stage.name == "graph")
    document = report::makeReport(*module);
  if (stage.name == "staged" && purpose == Purpose::Step)
    report::printChunks(llvm::errs(), *module);
  if (stage.name == "scheduled") {
    collectives = report::collectCollectives(*module);
    document["collectives"] = report::makeCollectives(collectives);
    document["recompute"] = report::makeRecompute(*module);
    if (llvm::json::Object storage = report::makeStorage(*module); !storage.empty())
      document["storage"] = std::move(storage);
    if (failed(predictTimeline()))
      return failure();
  }
  if (stage.name == "exec") {
    document["memory"] = report::makeMemory(*module);
    if (std::optional<llvm::json::Array> attention = report::makeAttention(*module))
      document["attention"] = std::move(*attention);
  }
  if (dumpDirectory.empty())
    return success();
  if (std::error_code error = llvm::sys::fs::create_directories(dumpDirectory)) {
    llvm::errs() << "ulsc: error: " << dumpDirectory << " can't be made: " << error.message()
                 << "\n";
    return failure();
  }
  SmallString<128> path(dumpDirectory);
  llvm::sys::path::append(path, llvm::formatv("{0,0+2}-{1}.mlir", ++dumps, stage.name).str());
  return writeFile(path, [&](raw_ostream &stream) { printModule(stream); });
}

LogicalResult Compilation::run(StringRef last) {
  LogicalResult result = runStages(
      *module, last, stageOptions, [&](const Stage &stage, double value) -> LogicalResult {
        bool isBeforeCut = stage.name == "local" && last != "local";
        if (isBeforeCut && memoryLimit &&
            failed(applyMemoryLimit(*module, *memoryLimit, recompute, stageOptions)))
          return failure();
        return finishStage(stage, value);
      });
  mentionRemarks();
  return result;
}

llvm::json::Object Compilation::makeReport() const {
  llvm::json::Object times, report(document);
  for (auto &[stage, value] : seconds)
    times[stage] = value;
  report["compile_seconds"] = std::move(times);
  return report;
}
