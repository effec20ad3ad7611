//===- Compile.cpp - ulsc compile and ulsc explain
//---------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "tools/ulsc/Compilation.h"
#include "tools/ulsc/Output.h"

#include "ulsc/PipelineScheduleFile.h"
#include "ulsc/Target/Cpu.h"
#include "ulsc/Timeline/Timeline.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"

#include <chrono>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::tool;

static const std::vector<OptionSpec> &getCompileOptions() {
  static const std::vector<OptionSpec> options = [] {
    std::vector<OptionSpec> all = {
        {"o", "FILE", "the program, or with --emit the module (default stdout)"},
        {"emit", "STAGE",
         "stop after a stage and print it: graph, train, sharded, staged, local, scheduled, exec, "
         "llvm, ptx (of the target cuda), exe"},
        {"report", "FILE", "write what was compiled as one JSON document"},
        {"remarks", "", "tell what shardings gave up where they were in conflict"},
    };
    all.insert(all.end(), getModelOptions().begin(), getModelOptions().end());
    return all;
  }();
  return options;
}

static LogicalResult writeReport(const Arguments &arguments, Compilation &compilation) {
  if (!arguments.has("report"))
    return success();
  llvm::json::Value document(compilation.makeReport());
  return writeFile(arguments.get("report"), [&](raw_ostream &stream) {
    stream << llvm::formatv("{0:2}", document) << "\n";
  });
}

/// Machine code of the module at stage llvm, linked beside `output` and moved there when it is
/// whole.
static LogicalResult emitProgram(const std::string &output, StringRef target,
                                 Compilation &compilation) {
  auto start = std::chrono::steady_clock::now();
  std::string object = output + ".partial.o", program = output + ".partial";
  llvm::FileRemover removeObject(object), removeProgram(program);
  Location location = UnknownLoc::get(compilation.getModule().getContext());
  std::string tool =
      llvm::sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&emitProgram));
  if (failed(emitCpuObject(compilation.getModule(), CpuOptions(), object)) ||
      failed(linkProgram(location, {object}, target, program, tool)))
    return failure();
  if (std::error_code error = llvm::sys::fs::rename(program, output))
    return emitError(location) << "can't write " << output << ": " << error.message()
                               << "; give a path in an existing, writable directory";
  removeProgram.releaseFile();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  compilation.addSeconds("exe", seconds.count());
  return success();
}

/// The text that the program of a device loads, without its NUL.
static void printKernels(raw_ostream &stream, ModuleOp module) {
  if (auto kernels = module.lookupSymbol<LLVM::GlobalOp>("ulsc_kernels"))
    stream << cast<StringAttr>(kernels.getValueAttr()).getValue().rtrim('\0');
}

static int compile(const Arguments &arguments) {
  SmallVector<StringRef> stages;
  for (const Stage &stage : getStages())
    stages.push_back(stage.name);
  stages.append({"ptx", "exe"});
  auto emit = arguments.getChoice("emit", stages, "exe");
  if (!emit)
    return 2;
  bool isProgram = *emit == "exe", isPtx = *emit == "ptx";
  if (isPtx && arguments.get("target", "cpu") != "cuda")
    return reportUsageError(
        "--emit=ptx prints the kernels of the target cuda; add --target cuda, or "
        "give --emit=llvm");
  if (isProgram && !arguments.has("o"))
    return reportUsageError(
        "compile needs -o FILE for the program, or --emit=STAGE to print a module");
  Compilation compilation(arguments, arguments.has("remarks"));
  if (failed(checkFolder(arguments.get("o"), isProgram)) ||
      failed(checkFolder(arguments.get("report"))) || !compilation.prepare())
    return 1;
  if (failed(compilation.run(isProgram || isPtx ? "llvm" : *emit)))
    return 1;
  std::string output = arguments.get("o", "-");
  LogicalResult written = isProgram
                              ? emitProgram(output, arguments.get("target", "cpu"), compilation)
                              : writeFile(output, [&](raw_ostream &stream) {
                                  if (isPtx)
                                    printKernels(stream, compilation.getModule());
                                  else
                                    compilation.printModule(stream);
                                });
  if (failed(written))
    return 1;
  if (succeeded(writeReport(arguments, compilation)))
    return 0;
  // What failed leaves nothing that looks as if it had not.
  if (output != "-" && llvm::sys::fs::is_regular_file(output))
    llvm::sys::fs::remove(output);
  return 1;
}

/// Whether `--timeline` names a file of a kind that there is.
static bool checkTimeline(const Arguments &arguments) {
  if (!arguments.has("timeline"))
    return true;
  std::string path = arguments.get("timeline");
  StringRef extension = llvm::sys::path::extension(path);
  if (extension == ".json" || extension == ".html")
    return true;
  return !reportUsageError("--timeline is \"" + path +
                           "\", expected a file that ends in .json (Chrome trace events, for "
                           "Perfetto) or .html (a page)");
}

static LogicalResult writeTimeline(const Arguments &arguments, Compilation &compilation) {
  if (!arguments.has("timeline"))
    return success();
  std::string path = arguments.get("timeline");
  const timeline::Timeline &made = *compilation.getTimeline();
  return writeFile(path, [&](raw_ostream &stream) {
    if (llvm::sys::path::extension(path) == ".json")
      timeline::writeTrace(stream, made);
    else
      timeline::writePage(stream, made, compilation.getTitle(), compilation.getScheduleName());
  });
}

/// The table in use, to start another one from.
static LogicalResult writeScheduleTable(const Arguments &arguments, Compilation &compilation) {
  if (!arguments.has("schedule-out"))
    return success();
  if (!compilation.getSchedule()) {
    reportUsageError("--schedule-out: there is no schedule without pipeline stages; add pp=2 or "
                     "more to --mesh");
    return failure();
  }
  return writeFile(arguments.get("schedule-out"), [&](raw_ostream &stream) {
    pipeline::writeSchedule(stream, *compilation.getSchedule());
  });
}

static int explain(const Arguments &arguments) {
  if (!checkTimeline(arguments))
    return 2;
  Compilation compilation(arguments, /*showsRemarks=*/true);
  compilation.predictTimes();
  for (StringRef file : {"report", "timeline", "schedule-out"})
    if (failed(checkFolder(arguments.get(file))))
      return 1;
  if (!compilation.prepare() || failed(writeScheduleTable(arguments, compilation)) ||
      failed(compilation.run("scheduled")))
    return 1;
  if (failed(writeFile("-", [&](raw_ostream &stream) {
        report::printCollectives(stream, compilation.getCollectives());
        stream << "\n";
        timeline::print(stream, *compilation.getTimeline(), compilation.getScheduleName());
        if (arguments.has("costs"))
          stream << "these times are predicted for the cluster description; --costs only cut the "
                    "model into stages\n";
      })))
    return 1;
  return failed(writeTimeline(arguments, compilation)) ||
         failed(writeReport(arguments, compilation));
}

static const std::vector<OptionSpec> &getExplainOptions() {
  static const std::vector<OptionSpec> options = [] {
    std::vector<OptionSpec> all = {
        {"report", "FILE", "write the same as one JSON document"},
        {"timeline", "FILE",
         "write when each rank does what, as predicted: .html is a page, .json Chrome trace events "
         "for Perfetto"},
        {"schedule-out", "FILE", "write the pipeline's schedule as a table for --pp-schedule"}};
    all.insert(all.end(), getModelOptions().begin(), getModelOptions().end());
    return all;
  }();
  return options;
}

const CommandSpec ulsc::tool::kCompileCommand = {
    "compile", "MODEL --seq N --batch N [--mesh dp=2,tp=2] [options] -o PROGRAM",
    "Compiles a model into a training program.", getCompileOptions(), compile};
const CommandSpec ulsc::tool::kExplainCommand = {
    "explain", "MODEL --seq N --batch N [--mesh dp=2,tp=2] [options]",
    "Tells why each collective is there, what it costs, and how ranks spend a step.",
    getExplainOptions(), explain};
