//===- Presets.cpp - Strategies: recipes that are built in
//-------------------------------------===//
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

namespace {
struct Preset {
  StringRef name, text;
};
struct LaterStrategy {
  StringRef name, what;
};
} // namespace

/// The files of lib/Frontend/presets, as the build put them in.
static const Preset kPresets[] = {
#include "lib/Frontend/Presets.inc"
};

static const LaterStrategy kLater[] = {{"cp", "context parallelism"}, {"ep", "expert parallelism"}};

/// Another name of zero3.
static constexpr StringLiteral kFsdp = "fsdp";

std::vector<StringRef> ulsc::getStrategies() {
  std::vector<StringRef> names = {kFsdp};
  for (const Preset &preset : kPresets)
    names.push_back(preset.name);
  return names;
}

std::optional<JsonFile> ulsc::frontend::loadPreset(Location location, StringRef name) {
  for (const Preset &preset : kPresets)
    if (preset.name == (name == kFsdp ? "zero3" : name))
      return JsonFile::parse(location.getContext(), ("strategy " + name).str(), preset.text);
  std::string supported = llvm::join(getStrategies(), ", ");
  for (const LaterStrategy &later : kLater)
    if (later.name == name) {
      emitError(location) << "strategy " << name << " (" << later.what
                          << ") is not supported yet; supported are " << supported
                          << ", joined by +";
      return std::nullopt;
    }
  if (name == "pp") {
    emitError(location)
        << "strategy pp: stages come from the mesh axis pp, as in --mesh pp=2; leave "
           "pp out of the strategy";
    return std::nullopt;
  }
  if (name.empty()) {
    emitError(location) << "a strategy joined by + is empty; as in ddp+tp";
    return std::nullopt;
  }
  emitError(location) << "strategy \"" << name << "\" is unknown; supported are " << supported
                      << ", joined by +" << suggestNearest(name, getStrategies());
  return std::nullopt;
}
