//===- CommandLine.h - Options of the subcommands, as data ------------------------- -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_COMMANDLINE_H
#define ULSC_TOOLS_ULSC_COMMANDLINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>
#include <vector>

namespace ulsc::tool {

/// An option of a subcommand. LLVM's own option library is not used: linked to LLVM, a program
/// would show and take the hundreds of options that LLVM's libraries register.
struct OptionSpec {
  llvm::StringRef name;
  /// What stands for its value in the help; a flag without one if empty.
  llvm::StringRef value;
  llvm::StringRef help;
  /// Set for options of later work: what to do instead.
  llvm::StringRef later = {};
  bool isRepeatable = false;
};

struct CommandSpec {
  llvm::StringRef name, usage, summary;
  llvm::ArrayRef<OptionSpec> options;
  int (*run)(const class Arguments &);
  /// Set for subcommands of later work.
  llvm::StringRef later = {};
};

/// What a command line gave.
class Arguments {
public:
  std::vector<std::string> positionals;

  bool has(llvm::StringRef name) const { return values.count(name); }
  /// The value given, or `fallback`.
  std::string get(llvm::StringRef name, llvm::StringRef fallback = "") const;
  std::vector<std::string> getAll(llvm::StringRef name) const;
  /// A whole number of at least `least`; reports anything else and returns nothing.
  std::optional<int64_t> getInteger(llvm::StringRef name, int64_t least, int64_t fallback) const;
  /// A number of up to `most`, as 70e9 or, of bytes, 80GiB; nothing where it is not given. Reports
  /// a wrong one, and `isLegal` is false then.
  std::optional<int64_t> getQuantity(llvm::StringRef name, int64_t most, bool isOfBytes,
                                     bool &isLegal) const;
  /// One of `choices`, which may be given as `spelling=meaning` for several spellings.
  std::optional<std::string> getChoice(llvm::StringRef name,
                                       llvm::ArrayRef<llvm::StringRef> choices,
                                       llvm::StringRef fallback) const;

  /// What the user could have given instead, for a command that runs another one's work.
  void set(llvm::StringRef name, llvm::StringRef value) { values[name] = {value.str()}; }
  void erase(llvm::StringRef name) { values.erase(name); }

private:
  friend std::optional<Arguments> parseArguments(const CommandSpec &,
                                                 llvm::ArrayRef<llvm::StringRef>);
  llvm::StringMap<std::vector<std::string>> values;
};

/// Reads the words after the subcommand; reports every wrong one.
std::optional<Arguments> parseArguments(const CommandSpec &command,
                                        llvm::ArrayRef<llvm::StringRef> words);

/// `ulsc: error: …` on stderr; returns the exit code of a wrong command line.
int reportUsageError(const llvm::Twine &message);
/// Whether one was reported, wherever it was found: what fails then ends with its exit code.
bool hasUsageError();

void printHelp(const CommandSpec &command);

extern const CommandSpec kCompileCommand, kExplainCommand, kDataCommand, kMemoryCommand;

} // namespace ulsc::tool

#endif // ULSC_TOOLS_ULSC_COMMANDLINE_H
