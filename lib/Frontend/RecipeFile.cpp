//===- RecipeFile.cpp - Reading of a recipe file
//-----------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "lib/Frontend/RecipeFile.h"

#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::frontend;

namespace {
/// Reads one file; errors are counted, so that one run shows all.
class RecipeReader {
public:
  explicit RecipeReader(RecipeFile &result) : result(result), file(*result.json) {}

  bool run();

private:
  InFlightDiagnostic fail(StringRef path) {
    isLegal = false;
    return file.emitError(path);
  }
  void checkKeys(StringRef path, ArrayRef<StringRef> known, StringRef what);
  std::optional<StringRef> readText(StringRef path, const llvm::json::Value &value);
  void readMesh(const llvm::json::Value &value);
  void readPins(const llvm::json::Value &value);
  void readDims(const std::string &path, const llvm::json::Value &value, Pin &pin);
  void readGroups(const llvm::json::Value &value);
  void readFrozen(const llvm::json::Value &value);
  double readScale(StringRef path, const llvm::json::Value &value);

  RecipeFile &result;
  const JsonFile &file;
  bool isLegal = true;
};
} // namespace

void RecipeReader::checkKeys(StringRef path, ArrayRef<StringRef> known, StringRef what) {
  for (const std::string &key : file.getKeys(path))
    if (!llvm::is_contained(known, key))
      fail((path + "/" + key).str())
          << "\"" << key << "\" is no key of " << what << "; expected one of "
          << llvm::join(known, ", ") << suggestNearest(key, known);
}

std::optional<StringRef> RecipeReader::readText(StringRef path, const llvm::json::Value &value) {
  if (auto text = value.getAsString())
    return *text;
  fail(path) << "is " << describeJson(value) << ", expected a text in quotes";
  return std::nullopt;
}

void RecipeReader::readMesh(const llvm::json::Value &value) {
  if (auto text = value.getAsString()) {
    if (auto mesh = parseMesh(file.getLocation("/mesh"), *text))
      result.mesh = *mesh;
    else
      isLegal = false;
    return;
  }
  const llvm::json::Object *object = value.getAsObject();
  if (!object) {
    fail("/mesh") << "\"mesh\" is " << describeJson(value)
                  << ", expected an object as in {\"dp\": 2, \"tp\": 2}";
    return;
  }
  for (const std::string &axis : file.getKeys("/mesh")) {
    const llvm::json::Value &size = *object->get(axis);
    std::string text = size.getAsString() ? size.getAsString()->str() : describeJson(size);
    if (auto number = parseAxisSize(file.getLocation("/mesh/" + axis), axis, text))
      result.mesh.emplace_back(axis, *number);
    else
      isLegal = false;
  }
}

void RecipeReader::readDims(const std::string &path, const llvm::json::Value &value, Pin &pin) {
  if (const llvm::json::Array *list = value.getAsArray()) {
    for (auto [i, element] : llvm::enumerate(*list)) {
      AxisNames axes;
      isLegal &= readAxes(file, path + "/" + std::to_string(i), element, axes);
      pin.dims.push_back(std::move(axes));
    }
    return;
  }
  if (const llvm::json::Object *object = value.getAsObject()) {
    pin.isNamed = true;
    for (const std::string &axis : file.getKeys(path)) {
      AxisNames axes;
      isLegal &= readAxes(file, path + "/" + axis, *object->get(axis), axes);
      pin.named.emplace_back(axis, std::move(axes));
    }
    return;
  }
  fail(path) << "\"dims\" is " << describeJson(value)
             << ", expected a list with an entry a dimension, as in [null, \"tp\"], or an object "
                "from logical axes, "
                "as in {\"heads\": \"tp\"}";
}

void RecipeReader::readPins(const llvm::json::Value &value) {
  const llvm::json::Array *list = value.getAsArray();
  if (!list) {
    fail("/sharding") << "\"sharding\" is " << describeJson(value)
                      << ", expected a list of objects with \"match\" and \"dims\"";
    return;
  }
  for (auto [i, element] : llvm::enumerate(*list)) {
    std::string path = "/sharding/" + std::to_string(i);
    const llvm::json::Object *object = element.getAsObject();
    if (!object || !object->get("match") || !object->get("dims")) {
      fail(path) << "is " << describeJson(element)
                 << ", expected an object with \"match\" and \"dims\"";
      continue;
    }
    checkKeys(path, {"match", "dims"}, "a pin");
    Pin pin;
    if (auto match = readText(path + "/match", *object->get("match")))
      pin.match = match->str();
    readDims(path + "/dims", *object->get("dims"), pin);
    pin.origin =
        "pin " + pin.match + " (recipe line " + std::to_string(file.getLine(path + "/match")) + ")";
    pin.location = file.getLocation(path + "/match");
    result.pins.push_back(std::move(pin));
  }
}

double RecipeReader::readScale(StringRef path, const llvm::json::Value &value) {
  auto number = value.getAsNumber();
  if (number && std::isfinite(*number) && *number >= 0 && *number <= 1e6)
    return *number;
  fail(path) << "\"" << path.rsplit('/').second << "\" is " << describeJson(value)
             << ", expected a number from 0 to 1e6";
  return 1.0;
}

void RecipeReader::readGroups(const llvm::json::Value &value) {
  const llvm::json::Array *list = value.getAsArray();
  if (!list) {
    fail("/groups") << "\"groups\" is " << describeJson(value)
                    << ", expected a list of objects with \"match\"";
    return;
  }
  for (auto [i, element] : llvm::enumerate(*list)) {
    std::string path = "/groups/" + std::to_string(i);
    const llvm::json::Object *object = element.getAsObject();
    if (!object || !object->get("match")) {
      fail(path) << "is " << describeJson(element) << ", expected an object with \"match\"";
      continue;
    }
    checkKeys(path, {"match", "weight_decay", "weight_decay_scale", "lr_scale"},
              "a parameter group");
    ParameterGroup group;
    if (auto match = readText(path + "/match", *object->get("match")))
      group.match = match->str();
    group.location = file.getLocation(path + "/match");
    if (const llvm::json::Value *scale = object->get("lr_scale"))
      group.lrScale = readScale(path + "/lr_scale", *scale);
    if (const llvm::json::Value *scale = object->get("weight_decay_scale"))
      group.weightDecayScale = readScale(path + "/weight_decay_scale", *scale);
    if (object->get("weight_decay") && object->get("weight_decay_scale"))
      fail(path + "/weight_decay_scale")
          << "\"weight_decay_scale\" is given beside \"weight_decay\", and both say what the "
             "decay is; keep one of them";
    if (const llvm::json::Value *decay = object->get("weight_decay")) {
      // The decay itself is a flag of the program; a group can only turn it off or scale it.
      if (decay->getAsNumber() && *decay->getAsNumber() == 0)
        group.weightDecayScale = 0;
      else
        fail(path + "/weight_decay")
            << "\"weight_decay\" is " << describeJson(*decay)
            << ", expected 0; for another decay give \"weight_decay_scale\", a factor of the "
               "program's --weight-decay";
    }
    result.groups.push_back(std::move(group));
  }
}

void RecipeReader::readFrozen(const llvm::json::Value &value) {
  const llvm::json::Array *list = value.getAsArray();
  if (!list) {
    fail("/frozen") << "\"frozen\" is " << describeJson(value)
                    << ", expected a list of name patterns";
    return;
  }
  for (auto [i, element] : llvm::enumerate(*list)) {
    std::string path = "/frozen/" + std::to_string(i);
    if (auto text = readText(path, element))
      result.frozen.emplace_back(text->str(), LocationAttr(file.getLocation(path)));
  }
}

bool RecipeReader::run() {
  const llvm::json::Object *root = file.getRoot().getAsObject();
  if (!root) {
    fail("") << "is " << describeJson(file.getRoot()) << ", expected a JSON object";
    return false;
  }
  if (root->get("allow"))
    fail("/allow")
        << "\"allow\", the communication contract, is not supported yet; take it out, and see the "
           "collectives with ulsc explain";
  checkKeys("",
            {"description", "mesh", "mesh_order", "strategy", "rules", "storage", "pipeline",
             "sharding", "groups", "frozen", "allow"},
            "a recipe");
  if (const llvm::json::Value *value = root->get("mesh"))
    readMesh(*value);
  if (const llvm::json::Value *value = root->get("mesh_order"))
    result.meshOrder = readText("/mesh_order", *value).value_or("").str();
  if (const llvm::json::Value *value = root->get("strategy"))
    result.strategy = readText("/strategy", *value).value_or("").str();
  result.hasRules = root->get("rules") != nullptr;
  isLegal &= readPipeline(file, result.pipeline);
  if (const llvm::json::Value *value = root->get("sharding"))
    readPins(*value);
  if (const llvm::json::Value *value = root->get("groups"))
    readGroups(*value);
  if (const llvm::json::Value *value = root->get("frozen"))
    readFrozen(*value);
  return isLegal;
}

std::optional<RecipeFile> ulsc::frontend::readRecipeFile(MLIRContext *context, StringRef path) {
  RecipeFile result;
  result.json = JsonFile::load(context, path);
  if (!result.json || !RecipeReader(result).run())
    return std::nullopt;
  return result;
}
