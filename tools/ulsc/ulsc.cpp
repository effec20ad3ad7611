//===- ulsc.cpp - The compiler's command line
//--------------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "tools/ulsc/CommandLine.h"
#include "tools/ulsc/Output.h"
#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace ulsc;
using namespace ulsc::tool;
using llvm::StringRef;

static const CommandSpec kPlanCommand = {
    "plan", "", "", {}, nullptr, "ulsc explain shows what one mesh costs; compare several"};

static const CommandSpec *const kCommands[] = {&kCompileCommand, &kExplainCommand, &kDataCommand,
                                               &kMemoryCommand, &kPlanCommand};

static void printUsage(llvm::raw_ostream &stream) {
  stream << "usage: ulsc COMMAND ...\n\n";
  for (const CommandSpec *command : kCommands) {
    if (!command->run)
      continue;
    std::string name = "  " + command->name.str();
    name.append(12 - name.size(), ' ');
    stream << name << command->summary << "\n";
  }
  stream << "\nulsc COMMAND --help lists a command's options\n";
}

static int run(int argc, char **argv) {
  llvm::SmallVector<StringRef> words(argv + 1, argv + argc), names;
  if (words.empty()) {
    printUsage(llvm::errs());
    return 2;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    printUsage(llvm::outs());
    return 0;
  }
  if (words[0] == "--version") {
    llvm::outs() << "ulsc " << ULSC_VERSION << "\n";
    return 0;
  }
  for (const CommandSpec *command : kCommands) {
    names.push_back(command->name);
    if (command->name != words[0])
      continue;
    if (!command->later.empty())
      return reportUsageError("ulsc " + llvm::Twine(command->name) + " is not supported yet; " +
                              command->later);
    llvm::ArrayRef<StringRef> rest = llvm::ArrayRef(words).drop_front();
    if (llvm::is_contained(rest, "--help") || llvm::is_contained(rest, "-h")) {
      printHelp(*command);
      return 0;
    }
    std::optional<Arguments> arguments = parseArguments(*command, rest);
    return arguments ? command->run(*arguments) : 2;
  }
  std::string hint = suggestNearest(words[0], names);
  return reportUsageError("unknown command \"" + llvm::Twine(words[0]) + "\"" +
                          (hint.empty() ? "; ulsc --help lists all" : hint));
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  int status = run(argc, argv);
  if (failed(finishStdout()) && !status)
    status = 1;
  else if (status == 1 && hasUsageError())
    status = 2;
  // There is no one left to tell that stderr can't be written.
  llvm::errs().clear_error();
  return status;
}
