//===- ConfigReader.cpp - Checked access to a model's configuration
//----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "lib/Frontend/ConfigReader.h"

#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::frontend;

ArrayRef<KeyRule> ulsc::frontend::getSharedKeys() {
  using K = KeyUse;
  static const KeyRule keys[] = {
      {"model_type", K::Used},
      {"torch_dtype", K::Used},
      {"dtype", K::Used},
      {"tie_word_embeddings", K::Used},
      {"initializer_range", K::Used},
      {"architectures", K::Neutral},
      {"_name_or_path", K::Neutral},
      {"name_or_path", K::Neutral},
      {"transformers_version", K::Neutral},
      {"bos_token_id", K::Neutral},
      {"eos_token_id", K::Neutral},
      {"pad_token_id", K::Neutral},
      {"sep_token_id", K::Neutral},
      {"use_cache", K::Neutral},
      {"output_attentions", K::Neutral},
      {"output_hidden_states", K::Neutral},
      {"return_dict", K::Neutral},
      {"task_specific_params", K::Neutral},
      {"id2label", K::Neutral},
      {"label2id", K::Neutral},
      {"problem_type", K::Neutral},
      {"finetuning_task", K::Neutral},
      {"tokenizer_class", K::Neutral},
      {"_attn_implementation", K::Neutral},
      {"attn_implementation", K::Neutral},
      {"_attn_implementation_autoset", K::Neutral},
      {"generation_config", K::Neutral},
      {"chunk_size_feed_forward", K::Neutral},
      {"gradient_checkpointing", K::Neutral},
      {"torchscript", K::Neutral},
      {"transformers.js_config", K::Neutral},
      {"auto_map", K::OnlyIf, "null|{}", "code of its own"},
      {"quantization_config", K::OnlyIf, "null", "quantised weights"},
      {"is_encoder_decoder", K::OnlyIf, "false|null", "an encoder beside the decoder"},
      {"is_decoder", K::Neutral},
      {"add_cross_attention", K::OnlyIf, "false|null", "attention to an encoder"},
      {"cross_attention_hidden_size", K::OnlyIf, "null", "attention to an encoder"},
      {"pruned_heads", K::OnlyIf, "null|{}", "heads taken out"},
      {"tie_encoder_decoder", K::OnlyIf, "false|null", "an encoder beside the decoder"},
  };
  return keys;
}

ConfigReader::ConfigReader(const JsonFile &file, std::string path, bool &hasErrors)
    : file(file), path(std::move(path)), object(file.getRoot().getAsObject()),
      hasErrors(hasErrors) {
  SmallVector<StringRef> parts;
  StringRef(this->path).split(parts, '/', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    object = object ? object->getObject(part) : nullptr;
}

InFlightDiagnostic ConfigReader::emitError(StringRef name) const {
  hasErrors = true;
  failed.insert(name);
  InFlightDiagnostic diagnostic = file.emitError(at(name));
  diagnostic << "\"" << StringRef(at(name)).drop_front() << "\" ";
  return diagnostic;
}

InFlightDiagnostic ConfigReader::emitWarning(StringRef name) const {
  InFlightDiagnostic diagnostic = file.emitWarning(at(name));
  diagnostic << "\"" << StringRef(at(name)).drop_front() << "\" ";
  return diagnostic;
}

static bool isAccepted(const llvm::json::Value &value, StringRef accepted) {
  SmallVector<StringRef> texts;
  accepted.split(texts, '|');
  return llvm::any_of(texts, [&](StringRef text) {
    auto legal = llvm::json::parse(text);
    return legal && *legal == value;
  });
}

static std::string listAccepted(StringRef accepted) {
  SmallVector<StringRef> texts;
  accepted.split(texts, '|');
  return llvm::join(texts, " or ");
}

void ConfigReader::checkKeys(ArrayRef<ArrayRef<KeyRule>> tables) const {
  SmallVector<StringRef> known;
  llvm::StringMap<const KeyRule *> rules;
  for (ArrayRef<KeyRule> table : tables)
    for (const KeyRule &rule : table)
      if (rules.try_emplace(rule.name, &rule).second)
        known.push_back(rule.name);
  for (const std::string &key : file.getKeys(path)) {
    const llvm::json::Value *value = object->get(key);
    const KeyRule *rule = rules.lookup(key);
    if (!rule) {
      emitWarning(key) << "is not a key this importer knows, and is ignored"
                       << suggestNearest(key, known);
    } else if (rule->use == KeyUse::OnlyIf && value && !isAccepted(*value, rule->accepted)) {
      emitError(key) << "is " << describeJson(*value) << ", which asks for " << rule->meaning
                     << " and is not supported; expected " << listAccepted(rule->accepted);
    }
  }
}

const llvm::json::Value *ConfigReader::find(StringRef name) const {
  const llvm::json::Value *value = object ? object->get(name) : nullptr;
  return value && value->kind() != llvm::json::Value::Null ? value : nullptr;
}

StringRef ConfigReader::findSpelling(ArrayRef<StringRef> names) const {
  auto found = llvm::find_if(names, [&](StringRef name) { return has(name); });
  return found == names.end() ? names.front() : *found;
}

StringRef ConfigReader::select(ArrayRef<StringRef> names, bool required, StringRef expected) const {
  StringRef found;
  for (StringRef name : names) {
    if (!find(name))
      continue;
    if (!found.empty() && *find(name) != *find(found))
      emitError(name) << "is " << describeJson(*find(name)) << " but \"" << found << "\" is "
                      << describeJson(*find(found)) << "; keep one of them";
    if (found.empty())
      found = name;
  }
  if (found.empty() && required) {
    for (StringRef name : names)
      if (object->get(name)) {
        emitError(name) << "is null, expected " << expected;
        return found;
      }
    hasErrors = true;
    failed.insert(names[0]);
    SmallVector<StringRef> present;
    for (const auto &entry : *object)
      present.push_back(entry.first);
    StringRef nearest = findNearest(names[0], present);
    file.emitError(path) << "lacks \"" << names[0] << "\", expected " << expected
                         << (nearest.empty() ? std::string()
                                             : "; is \"" + nearest.str() + "\" meant for it?");
  }
  return found;
}

int64_t ConfigReader::getInteger(ArrayRef<StringRef> names, int64_t least, int64_t most,
                                 std::optional<int64_t> fallback) const {
  std::string expected =
      "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  StringRef name = select(names, !fallback, expected);
  int64_t harmless = fallback.value_or(std::max<int64_t>(least, 1));
  if (name.empty())
    return harmless;
  const llvm::json::Value &value = *find(name);
  std::optional<int64_t> number;
  if (value.kind() == llvm::json::Value::Number)
    number = value.getAsInteger();
  if (number && *number >= least && *number <= most)
    return *number;
  InFlightDiagnostic diagnostic = emitError(name);
  diagnostic << "is " << describeJson(value) << ", expected " << expected;
  int64_t inQuotes;
  if (auto text = value.getAsString(); text && !text->getAsInteger(10, inQuotes))
    diagnostic << "; write " << inQuotes << " without quotes";
  else if (auto real = value.getAsNumber())
    diagnostic << "; the nearest is "
               << (*real <= double(least)  ? least
                   : *real >= double(most) ? most
                                           : int64_t(std::llround(*real)));
  return harmless;
}

/// As few digits as the number has.
static std::string formatNumber(double number) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::format("%g", number);
  return text;
}

double ConfigReader::getNumber(StringRef name, double least, double most, bool closed,
                               std::optional<double> fallback) const {
  std::string expected = "a number " + std::string(closed ? "from " : "above ") +
                         formatNumber(least) + " to " + formatNumber(most);
  double harmless = fallback.value_or(most);
  if (select(name, !fallback, expected).empty())
    return harmless;
  const llvm::json::Value &value = *find(name);
  std::optional<double> number;
  if (value.kind() == llvm::json::Value::Number)
    number = value.getAsNumber();
  if (number && std::isfinite(*number) && (closed ? *number >= least : *number > least) &&
      *number <= most)
    return *number;
  InFlightDiagnostic diagnostic = emitError(name);
  diagnostic << "is " << describeJson(value) << ", expected " << expected;
  double inQuotes;
  if (auto text = value.getAsString(); text && !text->getAsDouble(inQuotes))
    diagnostic << "; write " << *text << " without quotes";
  return harmless;
}

bool ConfigReader::getBool(StringRef name, bool fallback) const {
  const llvm::json::Value *value = find(name);
  if (!value)
    return fallback;
  if (auto flag = value->getAsBoolean())
    return *flag;
  emitError(name) << "is " << describeJson(*value) << ", expected true or false";
  return fallback;
}

std::string ConfigReader::getString(ArrayRef<StringRef> names,
                                    std::optional<StringRef> fallback) const {
  StringRef name = select(names, !fallback, "a text");
  if (name.empty())
    return fallback.value_or("").str();
  if (auto text = find(name)->getAsString())
    return text->str();
  emitError(name) << "is " << describeJson(*find(name)) << ", expected a text in quotes";
  return fallback.value_or("").str();
}

std::string ConfigReader::getChoice(ArrayRef<StringRef> names, ArrayRef<StringRef> choices,
                                    std::optional<StringRef> fallback) const {
  std::string list = "\"" + llvm::join(choices, "\", \"") + "\"";
  StringRef name = select(names, !fallback, "one of " + list);
  std::string harmless = fallback.value_or(choices.front()).str();
  if (name.empty())
    return harmless;
  auto text = find(name)->getAsString();
  if (text && llvm::is_contained(choices, *text))
    return text->str();
  emitError(name) << "is " << describeJson(*find(name)) << ", expected "
                  << (choices.size() > 1 ? "one of " : "") << list
                  << (text ? suggestNearest(*text, choices) : std::string());
  return harmless;
}

std::optional<ConfigReader> ConfigReader::getObject(StringRef name) const {
  const llvm::json::Value *value = find(name);
  if (!value)
    return std::nullopt;
  if (value->getAsObject())
    return ConfigReader(file, at(name), hasErrors);
  emitError(name) << "is " << describeJson(*value) << ", expected an object or null";
  return std::nullopt;
}
