//===- Compilation.h - One compilation, as the command line asks for it ------------ -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_COMPILATION_H
#define ULSC_TOOLS_ULSC_COMPILATION_H

#include "passes/Schedule/ReshardPolicy.h"
#include "tools/ulsc/CommandLine.h"
#include "ulsc/Frontend.h"
#include "ulsc/PipelineSchedule.h"
#include "ulsc/Pipelines.h"
#include "ulsc/Recipe.h"
#include "ulsc/Report.h"
#include "ulsc/Timeline/Timeline.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

namespace ulsc::tool {

/// Options of what is compiled, which `compile` and `explain` share.
llvm::ArrayRef<OptionSpec> getModelOptions();

/// What a compilation is for: a step; its plan, which says nothing on the way; or only the model
/// and how its parameters lie, which needs no batch and no sequence and says nothing, too.
enum class Purpose { Step, Plan, Parameters };

/// From the command line to the module of a stage.
class Compilation {
public:
  Compilation(const Arguments &arguments, bool showsRemarks, Purpose purpose = Purpose::Step);
  ~Compilation();

  /// Asks for what `getTimeline` gives.
  void predictTimes() { isTimed = true; }
  /// Reads options, recipe and model; nothing of the pipeline has run then. False after errors.
  bool prepare();
  /// Runs the stages up to `last`.
  mlir::LogicalResult run(llvm::StringRef last);

  mlir::ModuleOp getModule() { return *module; }
  const Recipe &getRecipe() const { return recipe; }
  /// The table that the pipeline's ranks follow; nothing without stages.
  const std::optional<pipeline::Schedule> &getSchedule() const { return table; }
  llvm::ArrayRef<report::CollectiveRow> getCollectives() const { return collectives; }
  /// After stage `scheduled`, if it was asked for or the report has it.
  const std::optional<timeline::Timeline> &getTimeline() const { return predicted; }
  /// Empty without pipeline stages. As documents take it: a path may hold any bytes.
  std::string getScheduleName() const {
    return recipe.getAxisSize("pp") > 1 ? llvm::json::fixUTF8(schedule) : "";
  }
  /// What is compiled for what, in one line, which is UTF-8.
  std::string getTitle() const;
  /// The document of `--report`.
  llvm::json::Object makeReport() const;
  /// Adds to the seconds of a stage that is no pass pipeline.
  void addSeconds(llvm::StringRef stage, double seconds);
  void printModule(llvm::raw_ostream &stream);

private:
  bool loadPlugins();
  bool readOptions();
  bool readPrecision();
  bool readSchedule();
  bool makeTable();
  bool checkPipelineOptions();
  bool checkReshard();
  bool readBatch();
  bool readPipelinesAfter();
  void addStageOptions();
  void handle(mlir::Diagnostic &diagnostic);
  void mentionRemarks();
  mlir::LogicalResult predictTimeline();
  mlir::LogicalResult finishStage(const Stage &stage, double seconds);

  const Arguments &arguments;
  Purpose purpose;
  mlir::DialectRegistry registry;
  std::unique_ptr<mlir::MLIRContext> context;
  RecipeOptions recipeOptions;
  Recipe recipe;
  ImportOptions importOptions;
  StageOptions stageOptions;
  std::string optimizer, dumpDirectory;
  /// Options of the stages `train` and `local`.
  std::string statePrecision, reduceDtype;
  int64_t threads = 16;
  std::string target = "cpu", attention = "auto";
  bool fusesEpilogues = true;
  /// Chunks of each rank along `pp`, 0 while nobody said how many; and what the ranks do, where
  /// there is more than one.
  int64_t chunksPerRank = 0;
  /// Who asked for the schedule, and for the chunks.
  mlir::LocationAttr scheduleLocation, chunksLocation;
  std::optional<pipeline::Schedule> table;
  /// Bytes that a device's memory may take at most.
  std::optional<int64_t> memoryLimit;
  /// The policy asked for; empty without one.
  std::string recompute;
  ReshardPolicy reshard;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<report::CollectiveRow, 0> collectives;
  std::string schedule;
  bool isTimed = false;
  std::optional<timeline::Timeline> predicted;
  llvm::json::Object document;
  std::vector<std::pair<std::string, double>> seconds;
  unsigned dumps = 0;
  /// Remarks tell what propagation decided: of use to who asks, noise to who compiles.
  bool showsRemarks;
  unsigned hiddenRemarks = 0;
};

} // namespace ulsc::tool

#endif // ULSC_TOOLS_ULSC_COMPILATION_H
