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
  static const StringRef keys[] = {"optimizer", "gradients", "parameters"};
  AxisNames *parts[] = {&storage.optimizer, &storage.gradients, &storage.parameters};
  storage.origin = origin;
  storage.location = file.getLocation("/storage");
  bool isLegal = true;
  for (const std::string &key : file.getKeys("/storage")) {
    std::string path = "/storage/" + key;
    const auto *known = llvm::find(keys, key);
    if (known == std::end(keys)) {
      file.emitError(path) << "\"" << key << "\" is no kind of storage; expected one of "
                           << llvm::join(ArrayRef(keys), ", ") << suggestNearest(key, keys);
      isLegal = false;
      continue;
    }
    AxisNames &axes = *parts[known - keys];
    axes.clear();
    isLegal &= readAxes(file, path, *value->getAsObject()->get(key), axes);
  }
  return isLegal;
}

bool ulsc::frontend::checkStorage(const Recipe &recipe) {
  const Storage &storage = recipe.storage;
  auto name = [](const AxisNames &axes) {
    return axes.empty() ? std::string("nothing") : llvm::join(axes, "+");
  };
  // What a rank updates must be what it holds the gradient and the state of.
  std::pair<const AxisNames *, StringRef> order[] = {{&storage.optimizer, "optimizer"},
                                                     {&storage.gradients, "gradients"},
                                                     {&storage.parameters, "parameters"}};
  for (size_t i = 1; i < 3; ++i) {
    auto [axes, what] = order[i];
    auto [outer, outerWhat] = order[i - 1];
    if (axes->empty() || *axes == *outer)
      continue;
    emitError(storage.location) << "\"storage\" splits " << what << " over " << name(*axes)
                                << " and " << outerWhat << " over " << name(*outer) << "; "
                                << outerWhat << " must be split over the same axes: "
                                << "write \"" << outerWhat << "\": \"" << axes->front() << "\"";
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
