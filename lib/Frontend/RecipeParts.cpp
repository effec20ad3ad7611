//===- RecipeParts.cpp - Rules and pins as users write them
//------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "lib/Frontend/RecipeParts.h"

#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::frontend;

ArrayRef<StringRef> ulsc::getLogicalAxes() {
  static const StringRef axes[] = {"batch",    "seq", "embed", "heads", "head_group", "kv_heads",
                                   "head_dim", "qkv", "mlp",   "vocab", "positions",  "experts"};
  return axes;
}

bool ulsc::frontend::readAxes(const JsonFile &file, StringRef path, const llvm::json::Value &value,
                              AxisNames &axes) {
  // "-" is what --shard has for a dimension that stays whole.
  if (value.kind() == llvm::json::Value::Null || value.getAsString() == "-")
    return true;
  if (auto text = value.getAsString()) {
    axes.push_back(text->str());
    return true;
  }
  if (const llvm::json::Array *list = value.getAsArray()) {
    for (const llvm::json::Value &element : *list) {
      auto text = element.getAsString();
      if (!text)
        break;
      axes.push_back(text->str());
    }
    if (axes.size() == list->size())
      return true;
  }
  file.emitError(path) << "is " << describeJson(value)
                       << ", expected a mesh axis such as \"tp\", a list of them, or null";
  return false;
}

static std::string joinAxes(ArrayRef<std::string> axes) { return llvm::join(axes, "+"); }

bool ulsc::frontend::readRules(const JsonFile &file, std::vector<AxisRule> &rules,
                               llvm::function_ref<std::string(StringRef)> source, bool isExplicit) {
  const llvm::json::Value *value = file.getRoot().getAsObject()->get("rules");
  if (!value)
    return true;
  if (!value->getAsObject()) {
    file.emitError("/rules") << "\"rules\" is " << describeJson(*value)
                             << ", expected an object from logical axes to mesh axes";
    return false;
  }
  bool isLegal = true;
  for (const std::string &key : file.getKeys("/rules")) {
    std::string path = "/rules/" + key;
    AxisRule rule;
    rule.logicalAxis = key;
    rule.isExplicit = isExplicit;
    rule.location = file.getLocation(path);
    if (!llvm::is_contained(getLogicalAxes(), key)) {
      file.emitError(path) << "\"" << key << "\" is no logical axis; expected one of "
                           << llvm::join(getLogicalAxes(), ", ")
                           << suggestNearest(key, getLogicalAxes());
      isLegal = false;
      continue;
    }
    if (!readAxes(file, path, *value->getAsObject()->get(key), rule.meshAxes)) {
      isLegal = false;
      continue;
    }
    rule.origin = "rule " + key + "→" + joinAxes(rule.meshAxes) + " (" + source(path) + ")";
    llvm::erase_if(rules, [&](const AxisRule &other) { return other.logicalAxis == key; });
    if (!rule.meshAxes.empty())
      rules.push_back(std::move(rule));
  }
  return isLegal;
}

std::optional<Pin> ulsc::frontend::parsePin(Location location, StringRef text) {
  auto [match, dims] = text.split('=');
  Pin pin;
  pin.match = match.str();
  pin.origin = "pin " + match.str() + " (--shard)";
  pin.location = location;
  if (match.empty() || dims.empty()) {
    emitError(location) << "--shard \"" << text
                        << "\" is not PATTERN=DIMS, as in model.layers.*.mlp.down_proj.weight=-,tp";
    return std::nullopt;
  }
  SmallVector<StringRef> parts;
  dims.split(parts, ',');
  for (const StringRef &part : parts) {
    auto [first, second] = part.trim().split(':');
    bool isNamed = !second.empty();
    if (&part != parts.begin() && isNamed != pin.isNamed) {
      emitError(location) << "--shard \"" << text
                          << "\" mixes dimensions and logical axes; write either one entry a "
                          << "dimension (-,tp) or only AXIS:MESH (heads:tp)";
      return std::nullopt;
    }
    pin.isNamed = isNamed;
    AxisNames axes;
    SmallVector<StringRef> names;
    StringRef list = isNamed ? second : first;
    if (list != "-" && !list.empty())
      list.split(names, '+');
    for (StringRef name : names)
      axes.push_back(name.str());
    if (isNamed)
      pin.named.emplace_back(first.str(), axes);
    else
      pin.dims.push_back(axes);
  }
  return pin;
}
