//===- CommandLine.cpp - Options of the subcommands, as data
//-----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "tools/ulsc/CommandLine.h"

#include "ulsc/Support/Nearest.h"
#include "ulsc/Support/Quantity.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace ulsc;
using namespace ulsc::tool;
using llvm::ArrayRef;
using llvm::StringRef;

static bool wasUsageReported = false;

bool ulsc::tool::hasUsageError() { return wasUsageReported; }

int ulsc::tool::reportUsageError(const llvm::Twine &message) {
  wasUsageReported = true;
  llvm::errs() << "ulsc: error: " << message << "\n";
  return 2;
}

std::string Arguments::get(StringRef name, StringRef fallback) const {
  auto found = values.find(name);
  return found == values.end() ? fallback.str() : found->second.back();
}

std::vector<std::string> Arguments::getAll(StringRef name) const { return values.lookup(name); }

std::optional<int64_t> Arguments::getInteger(StringRef name, int64_t least,
                                             int64_t fallback) const {
  if (!has(name))
    return fallback;
  int64_t number = 0;
  constexpr int64_t most = int64_t(1) << 40;
  std::string text = get(name);
  if (!StringRef(text).getAsInteger(10, number) && number >= least && number <= most)
    return number;
  reportUsageError("--" + name + " is \"" + text + "\", expected a whole number from " +
                   llvm::Twine(least) + " to " + llvm::Twine(most));
  return std::nullopt;
}

std::optional<int64_t> Arguments::getQuantity(StringRef name, int64_t most, bool isOfBytes,
                                              bool &isLegal) const {
  if (!has(name))
    return std::nullopt;
  std::string text = get(name), problem;
  std::optional<int64_t> value = parseQuantity(text, most, isOfBytes, problem);
  if (!value) {
    reportUsageError("--" + name + " is \"" + text + "\", " + problem);
    isLegal = false;
  }
  return value;
}

std::optional<std::string> Arguments::getChoice(StringRef name, ArrayRef<StringRef> choices,
                                                StringRef fallback) const {
  if (!has(name))
    return fallback.str();
  std::string text = get(name);
  llvm::SmallVector<StringRef> spellings;
  for (StringRef choice : choices) {
    auto [spelling, meaning] = choice.split('=');
    if (spelling == text)
      return (meaning.empty() ? spelling : meaning).str();
    spellings.push_back(spelling);
  }
  reportUsageError("--" + name + " is \"" + text + "\", expected one of " +
                   llvm::join(spellings, ", ") + suggestNearest(text, spellings));
  return std::nullopt;
}

static const OptionSpec *findOption(const CommandSpec &command, StringRef name) {
  for (const OptionSpec &option : command.options)
    if (option.name == name)
      return &option;
  return nullptr;
}

/// What an option that a command lacks may have been meant to be.
static std::string findMeaning(const CommandSpec &command, StringRef name) {
  static constexpr StringRef axes[] = {"pp", "dp", "tp", "dp_replicate", "dp_shard"};
  if (llvm::is_contained(axes, name))
    return "mesh axes are given together, as --mesh " + name.str() + "=2";
  for (const CommandSpec *other :
       {&kCompileCommand, &kExplainCommand, &kMemoryCommand, &kDataCommand})
    if (const OptionSpec *option = findOption(*other, name); option && option->later.empty())
      return "ulsc " + other->name.str() + " has it";
  // A letter is near to every short word.
  llvm::SmallVector<StringRef> names;
  for (const OptionSpec &option : command.options)
    if (option.name.size() > 1 || name.size() == 1)
      names.push_back(option.name);
  StringRef nearest = findNearest(name, names);
  for (StringRef longer : names)
    if (longer.ends_with(("-" + name).str()))
      nearest = longer;
  if (nearest.empty())
    return "ulsc " + command.name.str() + " --help lists all";
  return "did you mean " + std::string(nearest.size() == 1 ? "-" : "--") + nearest.str();
}

static void reportUnknown(const CommandSpec &command, StringRef word) {
  StringRef name = word.ltrim('-').split('=').first;
  reportUsageError("unknown option " + word.split('=').first + "; " + findMeaning(command, name));
}

std::optional<Arguments> ulsc::tool::parseArguments(const CommandSpec &command,
                                                    ArrayRef<StringRef> words) {
  Arguments result;
  bool isLegal = true;
  for (size_t i = 0; i < words.size(); ++i) {
    StringRef word = words[i];
    if (word == "-" || !word.starts_with("-")) {
      result.positionals.push_back(word.str());
      continue;
    }
    auto [name, value] = word.ltrim('-').split('=');
    bool hasValue = word.contains('=');
    const OptionSpec *option = findOption(command, name);
    if (!option) {
      reportUnknown(command, word);
      isLegal = false;
      continue;
    }
    if (!option->later.empty()) {
      reportUsageError(word.split('=').first + " is not supported yet; " + option->later);
      isLegal = false;
    }
    if (option->value.empty() && hasValue) {
      reportUsageError("--" + name + " takes no value, found \"" + value + "\"");
      isLegal = false;
    }
    if (!option->value.empty() && !hasValue) {
      if (i + 1 == words.size() || (words[i + 1].size() > 1 && words[i + 1].starts_with("--"))) {
        reportUsageError(word + " needs a value: " + option->value);
        isLegal = false;
        continue;
      }
      value = words[++i];
    }
    // An empty value is what an unset variable of a script leaves, not a wish for the default.
    if (!option->value.empty() && value.empty()) {
      reportUsageError(word.split('=').first + " is empty, expected " + option->value +
                       "; give one or leave the option out");
      isLegal = false;
    }
    std::vector<std::string> &values = result.values[name];
    if (!values.empty() && !option->isRepeatable) {
      reportUsageError(word.split('=').first + " is given twice");
      isLegal = false;
    }
    values.push_back(value.str());
  }
  if (!isLegal)
    return std::nullopt;
  return result;
}

void ulsc::tool::printHelp(const CommandSpec &command) {
  llvm::outs() << "usage: ulsc " << command.name << " " << command.usage << "\n"
               << command.summary << "\n\n";
  for (const OptionSpec &option : command.options) {
    if (!option.later.empty())
      continue;
    std::string left = (option.name.size() == 1 ? "  -" : "  --") + option.name.str();
    if (!option.value.empty())
      left += " " + option.value.str();
    left.append(left.size() < 34 ? 34 - left.size() : 1, ' ');
    llvm::outs() << left << option.help << "\n";
  }
}
