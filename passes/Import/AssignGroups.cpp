//===- AssignGroups.cpp - Puts parameters into the optimizer's groups, and freezes some
//--------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

#include "dialects/Uls/Uls.h"
#include "ulsc/Recipe.h"
#include "ulsc/Support/NamePattern.h"
#include "ulsc/Support/Nearest.h"

#define DEBUG_TYPE "ulsc-assign-groups"

namespace ulsc {
#define GEN_PASS_DEF_ASSIGNGROUPSPASS
#include "passes/Import/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

namespace {
struct AssignGroupsPass : public ulsc::impl::AssignGroupsPassBase<AssignGroupsPass> {
  using AssignGroupsPassBase::AssignGroupsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<Recipe> resolved = Recipe();
    if (!recipe.empty())
      resolved = readRecipeGroups(&getContext(), recipe);
    if (!resolved)
      return signalPassFailure();
    SmallVector<bool> groupIsUsed(resolved->groups.size()), frozenIsUsed(resolved->frozen.size());
    SmallVector<StringRef> names;
    Builder builder(&getContext());
    for (auto param : module.getOps<uls::ParamOp>()) {
      names.push_back(param.getSymName());
      assignGroup(param, *resolved, groupIsUsed);
      for (auto [i, entry] : llvm::enumerate(resolved->frozen))
        if (matchesGlob(entry.first, param.getSymName())) {
          param.setFrozen(true);
          frozenIsUsed[i] = true;
        }
    }
    setGroups(module, *resolved);
    for (auto [group, isUsed] : llvm::zip_equal(resolved->groups, groupIsUsed))
      if (!isUsed)
        reportUnused(group.location, group.match, names);
    for (auto [entry, isUsed] : llvm::zip_equal(resolved->frozen, frozenIsUsed))
      if (!isUsed)
        reportUnused(entry.second, entry.first, names);
    checkSomeTrain(module, *resolved);
  }

private:
  void assignGroup(uls::ParamOp param, const Recipe &recipe, SmallVectorImpl<bool> &isUsed) {
    bool isAssigned = false;
    for (auto [i, group] : llvm::enumerate(recipe.groups)) {
      if (!matchesGlob(group.match, param.getSymName()))
        continue;
      isUsed[i] = true;
      if (!isAssigned)
        param.setGroup(i + 1);
      isAssigned = true;
    }
  }

  /// Group 0 holds all parameters that no group of the recipe names.
  void setGroups(ModuleOp module, const Recipe &recipe) {
    Builder builder(&getContext());
    SmallVector<Attribute> groups;
    auto add = [&](const ParameterGroup &group) {
      groups.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("match", builder.getStringAttr(group.match)),
           builder.getNamedAttr("weight_decay_scale",
                                builder.getF64FloatAttr(group.weightDecayScale)),
           builder.getNamedAttr("lr_scale", builder.getF64FloatAttr(group.lrScale))}));
    };
    add(ParameterGroup());
    for (const ParameterGroup &group : recipe.groups)
      add(group);
    module->setAttr("uls.groups", builder.getArrayAttr(groups));
  }

  /// With all parameters frozen there would be no step to take.
  void checkSomeTrain(ModuleOp module, const Recipe &recipe) {
    auto params = module.getOps<uls::ParamOp>();
    if (recipe.frozen.empty() ||
        !llvm::all_of(params, [](uls::ParamOp param) { return param.getFrozen(); }))
      return;
    std::string patterns;
    for (auto &[pattern, location] : recipe.frozen) {
      patterns += (patterns.empty() ? "\"" : ", \"") + pattern + "\"";
      if (auto place = llvm::dyn_cast<FileLineColLoc>(location))
        patterns += " (recipe line " + std::to_string(place.getLine()) + ")";
    }
    emitError(recipe.frozen.front().second)
        << "every parameter is frozen by " << patterns << "; train at least one";
    signalPassFailure();
  }

  void reportUnused(LocationAttr location, StringRef pattern, ArrayRef<StringRef> names) {
    emitError(location) << "\"" << pattern << "\" matches no parameter"
                        << suggestPattern(pattern, names);
    signalPassFailure();
  }
};
} // namespace
