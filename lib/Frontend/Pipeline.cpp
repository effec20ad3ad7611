//===- Pipeline.cpp - How a recipe cuts a model into pipeline stages --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "lib/Frontend/RecipeParts.h"

#include "ulsc/PipelineScheduleFile.h"
#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::frontend;

static bool readScheduleName(const JsonFile &file, const llvm::json::Value &value,
                             Pipeline &pipeline) {
  constexpr StringLiteral path = "/pipeline/schedule";
  std::optional<StringRef> text = value.getAsString();
  if (!text) {
    file.emitError(path) << "\"schedule\" is " << describeJson(value)
                         << ", expected the name of a schedule or the path of a JSON file";
    return false;
  }
  if (text->empty()) {
    file.emitError(path) << "\"schedule\" is empty, expected one of "
                         << llvm::join(pipeline::getScheduleNames(), ", ")
                         << ", or the path of a JSON file; give one or leave the key out";
    return false;
  }
  pipeline.schedule = text->str();
  pipeline.scheduleLocation = file.getLocation(path);
  if (pipeline::isScheduleFile(*text) && !llvm::sys::path::is_absolute(*text)) {
    SmallString<128> whole(llvm::sys::path::parent_path(file.getPath()));
    llvm::sys::path::append(whole, *text);
    pipeline.schedule = whole.str().str();
  }
  return true;
}

static bool readChunks(const JsonFile &file, const llvm::json::Value &value, Pipeline &pipeline) {
  constexpr StringLiteral path = "/pipeline/chunks";
  std::optional<int64_t> number = value.getAsInteger();
  if (!number || *number < 1) {
    file.emitError(path) << "\"chunks\" is " << describeJson(value)
                         << ", expected a whole number from 1, the chunks of each rank along pp";
    return false;
  }
  pipeline.chunksPerRank = *number;
  pipeline.chunksLocation = file.getLocation(path);
  return true;
}

/// Reads `["model.layers.4", "model.layers.9"]`.
static bool readStages(const JsonFile &file, const llvm::json::Value &value, Pipeline &pipeline) {
  constexpr StringLiteral path = "/pipeline/stages";
  const llvm::json::Array *list = value.getAsArray();
  if (!list) {
    file.emitError(path) << "\"stages\" is " << describeJson(value)
                         << ", expected a list of the blocks that begin the chunks after the "
                            "first, as [\"model.layers.4\"]";
    return false;
  }
  bool isLegal = true;
  pipeline.stagesLocation = file.getLocation(path);
  for (auto [i, element] : llvm::enumerate(*list)) {
    std::string place = (path + "/" + Twine(i)).str();
    if (auto text = element.getAsString()) {
      pipeline.stages.emplace_back(text->str(), LocationAttr(file.getLocation(place)));
      continue;
    }
    file.emitError(place) << "\"stages\" has " << describeJson(element)
                          << ", expected the name of a block in quotes, as \"model.layers.4\"";
    isLegal = false;
  }
  return isLegal;
}

bool ulsc::frontend::readPipeline(const JsonFile &file, Pipeline &pipeline) {
  const llvm::json::Value *value = file.getRoot().getAsObject()->get("pipeline");
  if (!value)
    return true;
  const llvm::json::Object *object = value->getAsObject();
  if (!object) {
    file.emitError("/pipeline") << "\"pipeline\" is " << describeJson(*value)
                                << ", expected an object as in {\"schedule\": \"1f1b\"}";
    return false;
  }
  struct {
    StringRef name;
    bool (*read)(const JsonFile &, const llvm::json::Value &, Pipeline &);
  } const keys[] = {{"schedule", readScheduleName}, {"chunks", readChunks}, {"stages", readStages}};
  SmallVector<StringRef> names;
  for (const auto &key : keys)
    names.push_back(key.name);
  bool isLegal = true;
  for (const std::string &key : file.getKeys("/pipeline")) {
    size_t index = llvm::find(names, key) - names.begin();
    if (index < names.size()) {
      isLegal &= keys[index].read(file, *object->get(key), pipeline);
      continue;
    }
    file.emitError("/pipeline/" + key)
        << "\"" << shorten(key) << "\" is no key of a pipeline; expected one of "
        << llvm::join(names, ", ") << suggestNearest(key, names);
    isLegal = false;
  }
  return isLegal;
}
