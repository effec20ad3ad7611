//===- Annotate.cpp - Chooses the mesh and the storage sharding of every parameter
//-------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

#include "dialects/Uls/ParameterFlow.h"
#include "passes/Import/Divisibility.h"
#include "ulsc/Recipe.h"
#include "ulsc/Support/NamePattern.h"
#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <map>

#define DEBUG_TYPE "ulsc-annotate"

namespace ulsc {
#define GEN_PASS_DEF_ANNOTATEPASS
#include "passes/Import/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

static constexpr StringLiteral kMesh = "mesh";

namespace {
/// The sharding of one parameter while it is found.
struct Placement {
  SmallVector<AxisNames> dims;
  /// Mesh axis to annotation.
  SmallVector<std::pair<std::string, std::string>> origins;
  Location location;

  /// Shards `dim`, unless an axis of it already shards another: then its name is returned.
  std::string add(int64_t dim, const AxisNames &axes, const std::string &origin) {
    for (const std::string &axis : axes) {
      if (llvm::any_of(origins, [&](auto &known) { return known.first == axis; }))
        return axis;
      dims[dim].push_back(axis);
      origins.emplace_back(axis, origin);
    }
    return {};
  }
};

struct AnnotatePass : public ulsc::impl::AnnotatePassBase<AnnotatePass> {
  using AnnotatePassBase::AnnotatePassBase;

  void runOnOperation() override;

private:
  void addMesh(const Recipe &recipe);
  void addStorage(const Storage &storage);
  LogicalResult checkBatch(const Recipe &recipe);
  void annotateSequences(const AxisRule &rule, Divisibility &divisibility);
  LogicalResult annotate(uls::ParamOp param, const Recipe &recipe, Divisibility &divisibility);
  LogicalResult applyRules(uls::ParamOp param, const Recipe &recipe, Placement &placement);
  LogicalResult applyPin(uls::ParamOp param, const Recipe &recipe, const Pin &pin,
                         Placement &placement);
  FailureOr<int64_t> findPinnedDim(uls::ParamOp param, const Recipe &recipe, const Pin &pin,
                                   int64_t external);
  LogicalResult checkAllUsed(const Recipe &recipe);
  LogicalResult checkNoAxisIdles(const Recipe &recipe);

  dist::MeshAttr meshAttr;
  /// How many parameters a pin and a later one both match, by their indices.
  std::map<std::pair<size_t, size_t>, int64_t> overridden;
  /// Mesh axes over which a parameter is cut.
  llvm::StringSet<> cuttingAxes;
};
} // namespace

void AnnotatePass::addMesh(const Recipe &recipe) {
  MLIRContext *context = &getContext();
  SmallVector<dist::MeshAxisAttr> axes;
  for (auto &[name, size] : recipe.mesh)
    axes.push_back(dist::MeshAxisAttr::get(context, name, size));
  meshAttr = dist::MeshAttr::get(context, axes);
  OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
  dist::MeshOp::create(builder, NameLoc::get(builder.getStringAttr("mesh")), kMesh, meshAttr);

  SmallVector<NamedAttribute> rules;
  for (const AxisRule &rule : recipe.rules) {
    SmallVector<StringRef> names(rule.meshAxes.begin(), rule.meshAxes.end());
    rules.push_back(builder.getNamedAttr(rule.logicalAxis, builder.getStrArrayAttr(names)));
  }
  getOperation()->setAttr("uls.rules", builder.getDictionaryAttr(rules));
  addStorage(recipe.storage);
}

/// The recipe's `storage` for the pass that splits it, once propagation has given all the rest, and
/// its units for those that put collectives together.
void AnnotatePass::addStorage(const Storage &storage) {
  Builder builder(&getContext());
  if (!storage.units.empty())
    getOperation()->setAttr(uls::kUnitsAttrName,
                            builder.getStrArrayAttr(llvm::map_to_vector(
                                storage.units, [](auto &unit) { return StringRef(unit.first); })));
  if (storage.optimizer.empty())
    return;
  NamedAttrList entries;
  for (auto [key, axes] : llvm::zip_equal(Storage::kKinds, storage.getAxes()))
    entries.set(key, builder.getStrArrayAttr(SmallVector<StringRef>(axes->begin(), axes->end())));
  entries.set("origin", builder.getStringAttr(storage.origin));
  getOperation()->setAttr(uls::UlsDialect::kStorageAttrName, entries.getDictionary(&getContext()));
}

/// Rows must come out even over the data ranks; they do when import knew the mesh.
LogicalResult AnnotatePass::checkBatch(const Recipe &recipe) {
  ModuleOp module = getOperation();
  auto batch = module->getAttrOfType<DictionaryAttr>("uls.batch");
  if (!batch)
    return success();
  Builder builder(&getContext());
  auto read = [&](StringRef key) {
    auto value = batch.getAs<IntegerAttr>(key);
    return value ? value.getInt() : 0;
  };
  int64_t global = read("global"), micro = read("micro"), microbatches = read("microbatches");
  if (global != micro * microbatches * recipe.getDataRanks())
    return module.emitError() << "global batch " << global << " is not micro-batch " << micro
                              << " × " << microbatches << " microbatches × "
                              << recipe.getDataRanks() << " data ranks; expected "
                              << micro * microbatches * recipe.getDataRanks();
  NamedAttrList entries(batch);
  AxisNames axes = recipe.getDataAxes();
  entries.set("data_axes",
              builder.getStrArrayAttr(SmallVector<StringRef>(axes.begin(), axes.end())));
  if (const AxisRule *rule = recipe.findRule("batch"))
    entries.set("origin", builder.getStringAttr(rule->origin));
  module->setAttr("uls.batch", entries.getDictionary(&getContext()));
  return success();
}

LogicalResult AnnotatePass::applyRules(uls::ParamOp param, const Recipe &recipe,
                                       Placement &placement) {
  auto axes = llvm::to_vector(param.getAxes().getAsValueRange<StringAttr>());
  for (auto [dim, axis] : llvm::enumerate(axes)) {
    const AxisRule *rule = recipe.findRule(axis);
    if (!rule)
      continue;
    std::string twice = placement.add(dim, rule->meshAxes, rule->origin);
    if (!twice.empty())
      return emitError(rule->location) << "the rules shard two dimensions of " << param.getSymName()
                                       << " [" << llvm::join(axes, ", ") << "] over " << twice
                                       << "; pin the tensor or take one rule out";
  }
  return success();
}

/// The dimension that a pin means by Hugging Face's dimension `external`: the major one of those
/// fused in it, whose blocks are Hugging Face's contiguous ones.
FailureOr<int64_t> AnnotatePass::findPinnedDim(uls::ParamOp param, const Recipe &recipe,
                                               const Pin &pin, int64_t external) {
  SmallVector<int64_t> fused = param.getExternalDims()[external];
  int64_t ranks = 1;
  for (const std::string &axis : pin.dims[external])
    ranks *= recipe.getAxisSize(axis);
  if (fused.size() == 1 || param.getTensorType().getDimSize(fused.front()) % ranks == 0)
    return fused.front();
  SmallVector<std::string> names;
  for (int64_t dim : fused)
    names.push_back((llvm::cast<StringAttr>(param.getAxes()[dim]).getValue() + "=" +
                     Twine(param.getTensorType().getDimSize(dim)))
                        .str());
  return emitError(pin.location) << "dimension " << external << " of " << param.getSymName()
                                 << " is fused of " << llvm::join(names, " × ")
                                 << ", and its blocks over " << llvm::join(pin.dims[external], "+")
                                 << " would cut the first; name the logical "
                                 << "axis instead, as in {\""
                                 << StringRef(names[fused.size() > 2 ? 1 : 0]).split('=').first
                                 << "\": \"" << pin.dims[external].front() << "\"}";
}

LogicalResult AnnotatePass::applyPin(uls::ParamOp param, const Recipe &recipe, const Pin &pin,
                                     Placement &placement) {
  placement.location = pin.location;
  auto add = [&](int64_t dim, const AxisNames &axes) -> LogicalResult {
    std::string twice = placement.add(dim, axes, pin.origin);
    if (twice.empty())
      return success();
    return emitError(pin.location)
           << "the pin shards two dimensions of " << param.getSymName() << " over " << twice;
  };
  auto names = llvm::to_vector(param.getAxes().getAsValueRange<StringAttr>());
  for (auto &[axis, axes] : pin.named) {
    auto found = llvm::find(names, axis);
    if (found == names.end())
      return emitError(pin.location)
             << param.getSymName() << " has no logical axis " << axis << "; it has "
             << llvm::join(names, ", ") << suggestNearest(axis, names);
    if (failed(add(found - names.begin(), axes)))
      return failure();
  }
  if (pin.isNamed)
    return success();
  SmallVector<int64_t> external = param.getExternalShape();
  if (pin.dims.size() != external.size()) {
    std::string shape;
    for (int64_t size : external)
      shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    return emitError(pin.location)
           << "the pin has " << pin.dims.size() << " dimensions, but " << param.getSymName()
           << " has " << external.size() << ": [" << shape << "]";
  }
  for (size_t dim = 0; dim < external.size(); ++dim) {
    if (pin.dims[dim].empty())
      continue;
    FailureOr<int64_t> inner = findPinnedDim(param, recipe, pin, dim);
    if (failed(inner) || failed(add(*inner, pin.dims[dim])))
      return failure();
  }
  return success();
}

LogicalResult AnnotatePass::annotate(uls::ParamOp param, const Recipe &recipe,
                                     Divisibility &divisibility) {
  Placement placement{SmallVector<AxisNames>(param.getTensorType().getRank()), {}, param.getLoc()};
  const Pin *pin = nullptr;
  for (const Pin &candidate : recipe.pins)
    if (matchesGlob(candidate.match, param.getSymName())) {
      if (pin)
        ++overridden[{pin - recipe.pins.data(), &candidate - recipe.pins.data()}];
      pin = &candidate;
    }
  if (failed(pin ? applyPin(param, recipe, *pin, placement) : applyRules(param, recipe, placement)))
    return failure();

  Builder builder(&getContext());
  SmallVector<SmallVector<StringAttr>> dims;
  for (auto [dim, axes] : llvm::enumerate(placement.dims)) {
    dims.emplace_back();
    for (const std::string &axis : axes)
      dims.back().push_back(builder.getStringAttr(axis));
    if (!axes.empty())
      divisibility.add(param, dim, axes, placement.origins);
  }
  param.setShardingAttr(
      dist::ShardingAttr::getClosed(FlatSymbolRefAttr::get(&getContext(), kMesh), dims));
  SmallVector<NamedAttribute> origins;
  for (auto &[axis, origin] : placement.origins) {
    origins.push_back(builder.getNamedAttr(axis, builder.getStringAttr(origin)));
    cuttingAxes.insert(axis);
  }
  if (!origins.empty())
    param->setAttr("dist.origin", builder.getDictionaryAttr(origins));
  return success();
}

/// What blocks hand on is cut along the sequence, after parameters and batch have had their say: an
/// axis that cuts heads inside a block cuts the sequence between blocks only. Indices follow their
/// uses.
void AnnotatePass::annotateSequences(const AxisRule &rule, Divisibility &divisibility) {
  MLIRContext *context = &getContext();
  Builder builder(context);
  SmallVector<StringAttr> axes;
  SmallVector<NamedAttribute> origins;
  for (const std::string &axis : rule.meshAxes) {
    axes.push_back(builder.getStringAttr(axis));
    origins.push_back(builder.getNamedAttr(axis, builder.getStringAttr(rule.origin)));
  }
  std::optional<int64_t> length;
  for (auto block : getOperation().getOps<uls::BlockOp>())
    for (unsigned i = 0; i < block.getNumArguments(); ++i) {
      auto names = block.getArgAttrOfType<ArrayAttr>(i, uls::UlsDialect::kAxesAttrName);
      auto type = llvm::dyn_cast<RankedTensorType>(block.getArgument(i).getType());
      if (!names || !type || !llvm::isa<FloatType>(type.getElementType()) ||
          block.getArgAttr(i, "uls.parameter"))
        continue;
      SmallVector<dist::DimShardingAttr> dims(
          type.getRank(), dist::DimShardingAttr::get(context, {}, /*isOpen=*/true, 0));
      auto list = llvm::to_vector(names.getAsValueRange<StringAttr>());
      auto *seq = llvm::find(list, "seq");
      if (seq == list.end())
        continue;
      dims[seq - list.begin()] =
          dist::DimShardingAttr::get(context, axes, /*isOpen=*/true, /*priority=*/1);
      length = type.getDimSize(seq - list.begin());
      auto mesh = FlatSymbolRefAttr::get(context, kMesh);
      block.setArgAttr(i, dist::DistDialect::kShardingAttrName,
                       dist::ShardingAttr::get(context, mesh, dims, {}, {}, {}));
      block.setArgAttr(i, "dist.origin", builder.getDictionaryAttr(origins));
    }
  if (length)
    divisibility.addSequence(*length, rule);
}

/// Pins and the user's own rules that touch nothing are mistakes.
LogicalResult AnnotatePass::checkAllUsed(const Recipe &recipe) {
  SmallVector<StringRef> names;
  llvm::StringSet<> axes;
  for (auto param : getOperation().getOps<uls::ParamOp>()) {
    names.push_back(param.getSymName());
    for (StringRef axis : param.getAxes().getAsValueRange<StringAttr>())
      axes.insert(axis);
  }
  LogicalResult result = success();
  auto reportUnused = [&](LocationAttr location, StringRef pattern) {
    result = emitError(location) << "\"" << pattern << "\" matches no parameter"
                                 << suggestPattern(pattern, names);
  };
  auto matchesNone = [&](StringRef pattern) {
    return llvm::none_of(names, [&](StringRef name) { return matchesGlob(pattern, name); });
  };
  // Those of groups and frozen, too, which a later pass applies: one run shows all.
  for (const Pin &pin : recipe.pins)
    if (matchesNone(pin.match))
      reportUnused(pin.location, pin.match);
  for (const ParameterGroup &group : recipe.groups)
    if (matchesNone(group.match))
      reportUnused(group.location, group.match);
  for (auto *patterns : {&recipe.frozen, &recipe.storage.units})
    for (auto &[pattern, location] : *patterns)
      if (matchesNone(pattern))
        reportUnused(location, pattern);
  for (const AxisRule &rule : recipe.rules)
    if (rule.isExplicit && rule.logicalAxis != "batch" && rule.logicalAxis != "seq" &&
        !axes.contains(rule.logicalAxis))
      emitWarning(rule.location) << "the rule for " << rule.logicalAxis
                                 << " touches nothing: no parameter of this model has that axis";
  return result;
}

/// A rule that touches nothing of this model leaves its mesh axis with ranks that all do the same,
/// as if there were no rule for the axis.
LogicalResult AnnotatePass::checkNoAxisIdles(const Recipe &recipe) {
  LogicalResult result = success();
  AxisNames dataAxes = recipe.getDataAxes();
  for (auto &[name, size] : recipe.mesh) {
    if (size == 1 || name == "pp" || cuttingAxes.contains(name) ||
        llvm::is_contained(dataAxes, name))
      continue;
    LocationAttr location = NameLoc::get(StringAttr::get(&getContext(), "command line"));
    std::string rules;
    for (const AxisRule &rule : recipe.rules)
      if (llvm::is_contained(rule.meshAxes, name)) {
        rules += (rules.empty() ? "" : ", ") + rule.origin;
        location = rule.location;
      }
    result = emitError(location) << "mesh axis " << name << "=" << size
                                 << " cuts no parameter and not the batch"
                                 << (rules.empty() ? "" : " (" + rules + ")")
                                 << ", so that its ranks would all do the same; give it a rule for "
                                    "an axis that this model has, or take it out of the mesh";
  }
  return result;
}

void AnnotatePass::runOnOperation() {
  ModuleOp module = getOperation();
  if (!module.getOps<dist::MeshOp>().empty()) {
    module.emitError("has a mesh already; annotation comes once");
    return signalPassFailure();
  }
  SmallVector<StringRef> texts;
  StringRef(shard).split(texts, ';', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::vector<std::string> pins(texts.begin(), texts.end());
  std::optional<Recipe> resolved =
      resolveRecipe(&getContext(), {mesh, meshOrder, strategy, recipe, pins, devices});
  if (!resolved)
    return signalPassFailure();
  addMesh(*resolved);
  bool isLegal = succeeded(checkBatch(*resolved));
  Divisibility divisibility(*resolved);
  for (auto param : llvm::make_early_inc_range(module.getOps<uls::ParamOp>()))
    isLegal &= succeeded(annotate(param, *resolved, divisibility));
  if (const AxisRule *rule = resolved->findRule("seq"))
    annotateSequences(*rule, divisibility);
  isLegal &= succeeded(checkAllUsed(*resolved));
  // A pin or a rule that failed may have been the one that uses the axis.
  isLegal = isLegal && succeeded(checkNoAxisIdles(*resolved));
  if (!isLegal || failed(divisibility.report(module)))
    return signalPassFailure();
  for (auto &[pair, count] : overridden) {
    const Pin &earlier = resolved->pins[pair.first];
    emitRemark(earlier.location) << "of " << earlier.origin << " and "
                                 << resolved->pins[pair.second].origin
                                 << ", which both match, the later one holds for " << count
                                 << (count == 1 ? " parameter" : " parameters");
  }
}
