//===- BlockNames.cpp - How users name the blocks that a step calls ---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Stage/BlockNames.h"

#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::stage;

/// The modules of a call's parameters: `model.layers.0.mlp` of `model.layers.0.mlp.weight`.
static SmallVector<StringRef> getModules(uls::CallOp call) {
  SmallVector<StringRef> modules;
  for (Value operand : call.getOperands())
    if (auto materialize = operand.getDefiningOp<uls::MaterializeOp>())
      modules.push_back(materialize.getParameter().rsplit('.').first);
  return modules;
}

/// The longest run of whole parts that all names begin with.
static StringRef getCommonModule(ArrayRef<StringRef> modules) {
  if (modules.empty())
    return {};
  StringRef common = modules.front();
  for (StringRef other : modules.drop_front())
    while (!common.empty() && other != common && !other.starts_with((common + ".").str()))
      common = common.contains('.') ? common.rsplit('.').first : StringRef();
  return common;
}

std::string stage::getCallName(uls::CallOp call) {
  std::string name = call.getCallee().str();
  if (std::optional<int64_t> layer = call.getLayer())
    name += "." + std::to_string(*layer);
  return name;
}

BlockNames::BlockNames(ArrayRef<uls::CallOp> calls) {
  llvm::StringSet<> whole;
  for (auto [i, call] : llvm::enumerate(calls))
    for (StringRef module : getModules(call)) {
      whole.insert(module);
      for (StringRef name = module; !name.empty();
           name = name.contains('.') ? name.rsplit('.').first : StringRef()) {
        auto [known, isNew] = callOf.try_emplace(name, i);
        // A tied table is where it is first used; other modules with parts in several calls are no
        // block.
        if (!isNew && known->second != i && !whole.contains(name))
          known->second = std::nullopt;
      }
    }
  for (auto [i, call] : llvm::enumerate(calls)) {
    std::string own = getCallName(call);
    StringRef common = getCommonModule(getModules(call));
    names.push_back(find(common) == i ? common.str() : own);
    callOf.try_emplace(own, i);
  }
}

std::optional<size_t> BlockNames::find(StringRef name) const {
  auto it = callOf.find(name);
  return it == callOf.end() ? std::nullopt : it->second;
}

std::string BlockNames::suggest(StringRef name) const {
  // Deep models have more than a message should.
  constexpr size_t first = 3, last = 2;
  std::vector<std::string> shown = names;
  if (shown.size() > first + last + 1) {
    shown.erase(shown.begin() + first, shown.end() - last);
    shown.insert(shown.begin() + first, "…");
  }
  SmallVector<StringRef> known(names.begin(), names.end());
  std::string nearest = suggestNearest(name, known);
  // What has no module of its own is known by its block: `head`, for who says `lm_head`.
  StringRef module = name.rsplit('.').second.empty() ? name : name.rsplit('.').second;
  for (const std::string &own : names)
    if (nearest.empty() && !StringRef(own).contains('.') && module.ends_with("_" + own))
      nearest = "; did you mean " + own;
  if (nearest.empty()) {
    SmallVector<StringRef> all;
    for (const auto &entry : callOf)
      if (entry.getValue())
        all.push_back(entry.getKey());
    llvm::sort(all);
    nearest = suggestNearest(name, all);
  }
  return "the blocks are " + llvm::join(shown, ", ") + nearest;
}
