//===- Recipe.cpp - Presets, recipe and command line put together
//------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "ulsc/Recipe.h"

#include "lib/Frontend/RecipeFile.h"

#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::frontend;

int64_t Recipe::getAxisSize(StringRef axis) const {
  for (auto &[name, size] : mesh)
    if (name == axis)
      return size;
  return 0;
}

int64_t Recipe::getDeviceCount() const {
  int64_t count = 1;
  for (auto &axis : mesh)
    count *= axis.second;
  return count;
}

const AxisRule *Recipe::findRule(StringRef logicalAxis) const {
  for (const AxisRule &rule : rules)
    if (rule.logicalAxis == logicalAxis)
      return &rule;
  return nullptr;
}

static int64_t getProduct(const Recipe &recipe, const AxisNames &axes) {
  int64_t product = 1;
  for (const std::string &axis : axes)
    product *= std::max<int64_t>(recipe.getAxisSize(axis), 1);
  return product;
}

AxisNames Recipe::getDataAxes() const {
  const AxisRule *rule = findRule("batch");
  return rule ? rule->meshAxes : AxisNames();
}
int64_t Recipe::getDataRanks() const { return getProduct(*this, getDataAxes()); }

int64_t Recipe::getVocabularyMultiple() const {
  int64_t multiple = 1;
  if (const AxisRule *rule = findRule("vocab"))
    multiple = getProduct(*this, rule->meshAxes);
  // A pin may cut a vocabulary, too: any of its dimensions may be the one.
  for (const Pin &pin : pins) {
    for (const AxisNames &axes : pin.dims)
      multiple = std::lcm(multiple, getProduct(*this, axes));
    for (auto &[axis, axes] : pin.named)
      if (axis == "vocab")
        multiple = std::lcm(multiple, getProduct(*this, axes));
  }
  return multiple;
}

std::string Recipe::describe() const {
  std::string text = "mesh ";
  for (auto [i, axis] : llvm::enumerate(mesh))
    text += (i ? " × " : "") + axis.first + "=" + std::to_string(axis.second);
  text += " (" + std::to_string(getDeviceCount()) + (getDeviceCount() == 1 ? " rank)" : " ranks)");
  if (!strategy.empty())
    text += ", strategy " + strategy + (isStrategyImplied ? " (implied by the mesh)" : "");
  text += "\n";
  for (const AxisRule &rule : rules)
    text += "  " + rule.origin + "\n";
  for (auto [what, axes] : llvm::zip_equal(Storage::kKinds, storage.getAxes()))
    if (!axes->empty())
      text += "  storage of " + what.str() + " over " + llvm::join(*axes, "+") + " (" +
              storage.origin + ")\n";
  for (auto &[pattern, location] : storage.units)
    text += "  unit " + pattern + " (recipe line " +
            std::to_string(llvm::cast<FileLineColLoc>(location).getLine()) + ")\n";
  for (const Pin &pin : pins)
    text += "  " + pin.origin + "\n";
  return text;
}

/// The axis that strategies use and that `name`, which they don't know, is likely meant for.
static StringRef findMeantAxis(StringRef name) {
  StringRef axes[] = {"dp", "tp", "pp"};
  if (llvm::is_contained(axes, name) || name == "cp")
    return {};
  if (name.starts_with_insensitive("pipe") || name.starts_with_insensitive("stage"))
    return "pp";
  // One letter in two is all that may differ, so that `x` is no suggestion's reason.
  for (unsigned distance : {0u, 1u})
    for (StringRef axis : axes)
      if (name.size() > 1 && name.edit_distance_insensitive(axis) == distance)
        return axis;
  return {};
}

namespace {
/// Puts together what holds for one compilation.
class Resolver {
public:
  Resolver(MLIRContext *context, const RecipeOptions &options)
      : options(options), location(NameLoc::get(StringAttr::get(context, "command line"))) {}

  std::optional<Recipe> run();

private:
  bool resolveMesh();
  /// Where the recipe says `key`; the command line where an option of it, `given`, came over it.
  Location getPlace(StringRef given, StringRef key) const {
    bool isOfFile = given.empty() && file && file->json->getRoot().getAsObject()->get(key);
    return isOfFile ? file->json->getLocation(("/" + key).str()) : location;
  }
  bool resolveStrategy();
  bool addPreset(StringRef name);
  /// The axis of the mesh that may be meant for `known`.
  StringRef findMisspelled(StringRef known) const {
    for (auto &axis : recipe.mesh)
      if (findMeantAxis(axis.first) == known)
        return axis.first;
    return {};
  }
  bool resolvePins();
  bool checkAxisNames(Location where, StringRef what, AxisNames &axes);
  bool checkMeshIsUsed();
  bool checkSequence();

  const RecipeOptions &options;
  Location location;
  std::optional<RecipeFile> file;
  Recipe recipe;
};
} // namespace

bool Resolver::resolveMesh() {
  MeshText mesh;
  if (!options.mesh.empty()) {
    std::optional<MeshText> parsed = parseMesh(location, options.mesh);
    if (!parsed)
      return false;
    mesh = *parsed;
  } else if (file) {
    mesh = file->mesh;
  }
  StringRef order = options.meshOrder;
  if (order.empty() && file)
    order = file->meshOrder;
  std::optional<MeshText> complete =
      completeMesh(getPlace(options.mesh, "mesh"), getPlace(options.meshOrder, "mesh_order"), mesh,
                   options.devices, order);
  if (!complete)
    return false;
  recipe.mesh = *complete;
  return true;
}

bool Resolver::addPreset(StringRef name) {
  Location where = getPlace(options.strategy, "strategy");
  std::optional<JsonFile> preset = loadPreset(where, name);
  if (!preset)
    return false;
  std::vector<AxisRule> rules;
  std::string source = ("strategy " + name).str();
  if (!readRules(*preset, rules, [&](StringRef) { return source; }, /*isExplicit=*/false))
    return false;
  for (AxisRule &rule : rules) {
    for (const std::string &axis : rule.meshAxes)
      if (!recipe.getAxisSize(axis)) {
        StringRef near = findMisspelled(axis);
        emitError(where) << "strategy " << name << " needs the mesh axis " << axis
                         << ", which the mesh lacks; "
                         << (near.empty() ? "" : "is " + near.str() + " meant for it? ") << "add "
                         << axis << "=1 or more to the mesh, or take " << name << " out";
        return false;
      }
    llvm::erase_if(recipe.rules,
                   [&](const AxisRule &other) { return other.logicalAxis == rule.logicalAxis; });
    recipe.rules.push_back(std::move(rule));
  }
  std::string before = recipe.storage.origin;
  if (!readStorage(*preset, recipe.storage, source))
    return false;
  if (before.empty() || before == recipe.storage.origin)
    return true;
  emitError(where) << before << " and " << source
                   << " both say how state is split; keep one of them";
  return false;
}

bool Resolver::resolveStrategy() {
  recipe.strategy = options.strategy;
  if (recipe.strategy.empty() && file)
    recipe.strategy = file->strategy;
  // A mesh alone implies the presets of its axes; a recipe with rules of its own says all itself.
  if (recipe.strategy.empty() && !(file && file->hasRules)) {
    recipe.isStrategyImplied = true;
    for (auto [axis, preset] : {std::pair<StringRef, StringRef>("dp", "ddp"), {"tp", "tp"}})
      if (recipe.getAxisSize(axis) > 0)
        recipe.strategy += (recipe.strategy.empty() ? "" : "+") + preset.str();
  }
  SmallVector<StringRef> names;
  if (!recipe.strategy.empty())
    StringRef(recipe.strategy).split(names, '+');
  for (StringRef name : names)
    if (!addPreset(name.trim()))
      return false;
  if (!file)
    return true;
  const JsonFile &json = *file->json;
  auto describe = [&](StringRef path) {
    return "recipe line " + std::to_string(json.getLine(path));
  };
  bool isLegal = readRules(json, recipe.rules, describe, /*isExplicit=*/true);
  return readStorage(json, recipe.storage, describe("/storage")) && isLegal;
}

bool Resolver::resolvePins() {
  if (file) {
    recipe.pins = file->pins;
    recipe.pipeline = file->pipeline;
  }
  for (const std::string &text : options.shard) {
    std::optional<Pin> pin = parsePin(location, text);
    if (!pin)
      return false;
    recipe.pins.push_back(*pin);
  }
  return true;
}

/// Refuses an axis that `axes` names more than once: its ranks can be cut only once.
static bool checkRepeats(Location where, StringRef what, const AxisNames &axes) {
  bool isLegal = true;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    // The second place tells; a third would only say it again.
    if (llvm::count(ArrayRef(axes).take_front(i), axis) != 1)
      continue;
    emitError(where) << what << " names the mesh axis " << axis << ' '
                     << (llvm::count(axes, axis) == 2
                             ? std::string("twice")
                             : std::to_string(llvm::count(axes, axis)) + " times")
                     << "; keep it once";
    isLegal = false;
  }
  return isLegal;
}

/// Refuses axes the mesh lacks or that are repeated, and drops those of size 1, along which there
/// is nothing to do.
bool Resolver::checkAxisNames(Location where, StringRef what, AxisNames &axes) {
  if (!checkRepeats(where, what, axes))
    return false;
  if (llvm::is_contained(axes, "pp")) {
    emitError(where) << what
                     << " names the mesh axis pp, whose ranks hold different layers and cut "
                        "no tensor; take another axis";
    return false;
  }
  for (const std::string &axis : axes)
    if (!recipe.getAxisSize(axis)) {
      std::string mesh;
      for (auto &known : recipe.mesh)
        mesh += (mesh.empty() ? "" : ", ") + known.first;
      emitError(where) << what << " names the mesh axis " << axis
                       << ", which the mesh lacks; it has " << mesh << "; add " << axis
                       << "=1 to the mesh or change it";
      return false;
    }
  llvm::erase_if(axes, [&](const std::string &axis) { return recipe.getAxisSize(axis) == 1; });
  return true;
}

bool Resolver::checkMeshIsUsed() {
  bool isUsed = true;
  for (auto &axis : recipe.mesh) {
    StringRef name = axis.first;
    auto names = [&](const AxisNames &axes) -> bool { return llvm::is_contained(axes, name); };
    bool found =
        axis.second == 1 || name == "pp" ||
        llvm::any_of(recipe.rules, [&](const AxisRule &rule) { return names(rule.meshAxes); }) ||
        llvm::any_of(recipe.pins, [&](const Pin &pin) {
          return llvm::any_of(pin.dims, names) ||
                 llvm::any_of(pin.named, [&](auto &entry) { return names(entry.second); });
        });
    if (found)
      continue;
    isUsed = false;
    std::string fix = name == "dp"              ? "add ddp to the strategy"
                      : name.starts_with("dp_") ? "add hsdp to the strategy, as in --mesh "
                                                  "dp_replicate=2,dp_shard=2 --strategy hsdp"
                      : name == "tp"            ? "add tp to the strategy"
                                                : "add a rule for it to a recipe";
    StringRef known = findMeantAxis(name);
    if (!known.empty() && !recipe.getAxisSize(known))
      fix += ", or did you mean " + known.str();
    emitError(getPlace(options.mesh, "mesh"))
        << "mesh axis " << name << "=" << axis.second
        << " is used by no rule and no pin, so that its ranks would all do the same; " << fix;
  }
  return isUsed;
}

/// Sequences are cut between the parts of a block that an axis cuts otherwise (Megatron's sequence
/// parallelism); over an axis of their own they would be context parallelism.
bool Resolver::checkSequence() {
  const AxisRule *seq = recipe.findRule("seq");
  if (!seq)
    return true;
  bool isLegal = true;
  for (const std::string &axis : seq->meshAxes) {
    if (llvm::is_contained(recipe.getDataAxes(), axis)) {
      emitError(seq->location) << seq->origin << " and " << recipe.findRule("batch")->origin
                               << " both cut the activations over " << axis
                               << "; take one of them out";
      isLegal = false;
      continue;
    }
    bool isTensorParallel = llvm::any_of(recipe.rules, [&](const AxisRule &rule) {
      return &rule != seq && llvm::is_contained(rule.meshAxes, axis);
    });
    if (isTensorParallel)
      continue;
    emitError(seq->location) << seq->origin << " cuts the sequence over " << axis
                             << ", which no rule for heads, mlp or vocab names; sequence "
                                "parallelism goes with tensor parallelism: "
                             << (axis == "tp" ? "add tp to the strategy, as in tp+sp"
                                              : "add such rules for " + axis);
    isLegal = false;
  }
  return isLegal;
}

std::optional<Recipe> Resolver::run() {
  if (!options.recipe.empty()) {
    file = readRecipeFile(location.getContext(), options.recipe);
    if (!file)
      return std::nullopt;
    recipe.groups = file->groups;
    recipe.frozen = file->frozen;
  }
  if (!resolveMesh() || !resolveStrategy() || !resolvePins())
    return std::nullopt;
  bool isLegal = true;
  for (AxisRule &rule : recipe.rules)
    isLegal &= checkAxisNames(rule.location, "the rule for " + rule.logicalAxis, rule.meshAxes);
  llvm::erase_if(recipe.rules, [](const AxisRule &rule) { return rule.meshAxes.empty(); });
  for (Pin &pin : recipe.pins) {
    for (AxisNames &axes : pin.dims)
      isLegal &= checkAxisNames(pin.location, "the pin of " + pin.match, axes);
    for (auto &entry : pin.named)
      isLegal &= checkAxisNames(pin.location, "the pin of " + pin.match, entry.second);
  }
  for (auto [what, axes] : llvm::zip_equal(Storage::kKinds, recipe.storage.getAxes()))
    if (!axes->empty())
      isLegal &= checkAxisNames(recipe.storage.location, ("the storage of " + what).str(), *axes);
  if (!isLegal || !checkSequence() || !checkMeshIsUsed() || !checkStorage(recipe))
    return std::nullopt;
  return std::move(recipe);
}

std::optional<Recipe> ulsc::resolveRecipe(MLIRContext *context, const RecipeOptions &options) {
  return Resolver(context, options).run();
}

std::optional<Recipe> ulsc::readRecipeGroups(MLIRContext *context, StringRef path) {
  std::optional<RecipeFile> file = readRecipeFile(context, path);
  if (!file)
    return std::nullopt;
  Recipe recipe;
  recipe.groups = file->groups;
  recipe.frozen = file->frozen;
  return recipe;
}

std::optional<Pipeline> ulsc::readRecipePipeline(MLIRContext *context, StringRef path) {
  std::optional<RecipeFile> file = readRecipeFile(context, path);
  return file ? std::optional<Pipeline>(file->pipeline) : std::nullopt;
}
