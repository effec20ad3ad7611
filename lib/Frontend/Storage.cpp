//===- Storage.cpp - Over which axes states, gradients and parameters are split ---------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "lib/Frontend/RecipeParts.h"

#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::frontend;

/// Reads `["model.layers.*.mlp.*"]`.
static bool readUnits(const JsonFile &file, const llvm::json::Value &value, Storage &storage) {
  constexpr StringLiteral path = "/storage/units";
  storage.units.clear();
  const llvm::json::Array *list = value.getAsArray();
  if (!list && !value.getAsNull()) {
    file.emitError(path) << "\"units\" is " << describeJson(value)
                         << ", expected a list of name patterns, as [\"model.layers.*.mlp.*\"]";
    return false;
  }
  bool isLegal = true;
  if (list)
    for (auto [i, element] : llvm::enumerate(*list)) {
      std::string place = (path + "/" + Twine(i)).str();
      if (auto text = element.getAsString()) {
        storage.units.emplace_back(text->str(), LocationAttr(file.getLocation(place)));
        continue;
      }
      file.emitError(place) << "is " << describeJson(element) << ", expected a text in quotes";
      isLegal = false;
    }
  return isLegal;
}

bool ulsc::frontend::readStorage(const JsonFile &file, Storage &storage,
                                 const std::string &origin) {
  const llvm::json::Value *value = file.getRoot().getAsObject()->get("storage");
  if (!value)
    return true;
  if (!value->getAsObject()) {
    file.emitError("/storage") << "\"storage\" is " << describeJson(*value)
                               << ", expected an object as in {\"optimizer\": \"dp\"}";
    return false;
  }
  SmallVector<StringRef> keys(std::begin(Storage::kKinds), std::end(Storage::kKinds));
  keys.push_back("units");
  bool isLegal = true;
  for (const std::string &key : file.getKeys("/storage")) {
    std::string path = "/storage/" + key;
    size_t index = llvm::find(keys, key) - keys.begin();
    if (index == keys.size()) {
      file.emitError(path) << "\"" << key << "\" is no kind of storage; expected one of "
                           << llvm::join(keys, ", ") << suggestNearest(key, keys);
      isLegal = false;
      continue;
    }
    const llvm::json::Value &entry = *value->getAsObject()->get(key);
    if (key == "units") {
      isLegal &= readUnits(file, entry, storage);
      continue;
    }
    // Units say nothing of how state is split: who does is the origin.
    storage.origin = origin;
    storage.location = file.getLocation("/storage");
    AxisNames &axes = *storage.getAxes()[index];
    axes.clear();
    isLegal &= readAxes(file, path, entry, axes);
  }
  return isLegal;
}

bool ulsc::frontend::checkStorage(const Recipe &recipe) {
  const Storage &storage = recipe.storage;
  auto name = [](const AxisNames &axes) {
    return axes.empty() ? std::string("nothing") : llvm::join(axes, "+");
  };
  auto write = [](const AxisNames &axes) {
    std::string text = "\"" + llvm::join(axes, "\", \"") + "\"";
    return axes.size() == 1 ? text : "[" + text + "]";
  };
  // What a rank updates must be what it holds the gradient and the state of.
  for (size_t i = 1; i < std::size(Storage::kKinds); ++i) {
    const AxisNames *axes = storage.getAxes()[i], *outer = storage.getAxes()[i - 1];
    StringRef what = Storage::kKinds[i], outerWhat = Storage::kKinds[i - 1];
    if (axes->empty() || *axes == *outer)
      continue;
    emitError(storage.location) << "\"storage\" splits " << what << " over " << name(*axes)
                                << " and " << outerWhat << " over " << name(*outer) << "; "
                                << outerWhat << " must be split over the same axes: "
                                << "write \"" << outerWhat << "\": " << write(*axes);
    return false;
  }
  AxisNames data = recipe.getDataAxes();
  for (const std::string &axis : storage.optimizer)
    if (!llvm::is_contained(data, axis)) {
      emitError(storage.location)
          << "\"storage\" splits optimizer over " << axis
          << ", which does not distribute the batch (batch is over " << name(data)
          << "), so that its ranks hold no pending sums of gradients; take an axis of batch";
      return false;
    }
  return true;
}
