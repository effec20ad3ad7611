//===- Storage.cpp - What moves because state is split, beside the formula --------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Report.h"

#include "dialects/Uls/ParameterFlow.h"
#include "lib/Report/Parts.h"
#include "ulsc/Recipe.h"
#include "ulsc/Support/NamePattern.h"

#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;
using namespace ulsc;
namespace json = llvm::json;

namespace {
/// How often a step gathers a parameter and scatters its gradient, and who uses it.
struct Travels {
  int64_t gathers = 0, scatters = 0, elements = 0;
  bool isTrained = false, isUsedBackward = false;
};

/// Counts over one step; linear in its ops but for chains of accumulation.
class TravelCounter {
public:
  explicit TravelCounter(ModuleOp module) : module(module) {
    for (auto param : module.getOps<uls::ParamOp>())
      travels[param.getSymNameAttr()].elements = param.getTensorType().getNumElements();
    for (auto state : module.getOps<uls::StateOp>())
      travels[state.getParameterAttr().getAttr()].isTrained = true;
  }

  llvm::MapVector<StringAttr, Travels> count() {
    for (auto step : module.getOps<uls::StepOp>())
      step.walk([&](Operation *op) { visit(op); });
    return std::move(travels);
  }

private:
  static int64_t getTimes(Operation *op) {
    auto loop = op->getParentOfType<uls::MicrobatchesOp>();
    return loop ? loop.getCount() : 1;
  }

  void visit(Operation *op) {
    if (auto gather = llvm::dyn_cast<dist::AllGatherOp>(op)) {
      for (Value input : gather.getInputs())
        if (StringAttr name = uls::findParameter(input))
          travels[name].gathers += getTimes(op);
    } else if (auto scatter = llvm::dyn_cast<dist::ReduceScatterOp>(op)) {
      for (Value output : scatter.getOutputs())
        if (StringAttr name = uls::findUpdatedParameter(output))
          travels[name].scatters += getTimes(op);
    } else if (auto call = llvm::dyn_cast<uls::CallOp>(op);
               call && report::isBackwardPart(call.getCallee())) {
      for (Value operand : call.getArguments())
        if (StringAttr name = uls::findParameter(operand))
          travels[name].isUsedBackward = true;
    }
  }

  ModuleOp module;
  llvm::MapVector<StringAttr, Travels> travels;
};
} // namespace

static StringRef explain(bool isGather, int64_t count, int64_t expected, const Travels &travels) {
  if (count > expected)
    return isGather ? "it is a part of several units" : "several units add to its gradient";
  if (!isGather)
    return "units share a scatter";
  return travels.isUsedBackward ? "the backward follows its forward and shares the gather"
                                : "the backward does not need it";
}

/// The patterns of `uls.units`, each with the parameters that it is the first to match.
static json::Array describeUnits(ModuleOp module, ArrayAttr list) {
  auto patterns = llvm::to_vector(list.getAsValueRange<StringAttr>());
  std::vector<std::pair<int64_t, int64_t>> sums(patterns.size() + 1);
  for (auto param : module.getOps<uls::ParamOp>()) {
    auto &[count, elements] = sums[findFirstMatch(patterns, param.getSymName())];
    ++count;
    elements += param.getTensorType().getNumElements();
  }
  json::Array units;
  for (auto [pattern, sum] : llvm::zip_first(patterns, sums))
    units.push_back(
        json::Object{{"match", pattern}, {"parameters", sum.first}, {"elements", sum.second}});
  return units;
}

namespace {
/// How often a step should move each parameter.
struct Formula {
  int64_t gathers, scatters;
};
} // namespace

/// Sums over all parameters, and which of them deviate.
static void addTravels(ModuleOp module, const Formula &formula, json::Object &object) {
  int64_t gathered = 0, scattered = 0;
  std::map<std::pair<std::string, bool>, json::Object> deviations;
  for (auto &[name, travel] : TravelCounter(module).count()) {
    gathered += travel.gathers * travel.elements;
    scattered += travel.scatters * travel.elements;
    std::string pattern = getLayerPattern(name.getValue());
    for (bool isGather : {true, false}) {
      int64_t count = isGather ? travel.gathers : travel.scatters,
              expected = isGather ? formula.gathers : formula.scatters;
      if (count == expected || !travel.isTrained)
        continue;
      deviations.try_emplace(
          std::pair(pattern, isGather),
          json::Object{{"parameter", pattern},
                       {"collective", isGather ? "all_gather" : "reduce_scatter"},
                       {"count_per_step", count},
                       {"formula", expected},
                       {"reason", explain(isGather, count, expected, travel)}});
    }
  }
  object["gathered_elements"] = gathered;
  object["scattered_elements"] = scattered;
  json::Array list;
  for (auto &[key, deviation] : deviations)
    list.push_back(std::move(deviation));
  object["deviations"] = std::move(list);
}

json::Object report::makeStorage(ModuleOp module) {
  auto storage = module->getAttrOfType<DictionaryAttr>(uls::UlsDialect::kStorageAttrName);
  auto batch = module->getAttrOfType<DictionaryAttr>(uls::UlsDialect::kBatchAttrName);
  auto units = module->getAttrOfType<ArrayAttr>(uls::kUnitsAttrName);
  if (!batch || (!storage && !units))
    return {};
  json::Object object;
  auto getAxes = [&](StringRef kind) {
    json::Array axes;
    if (auto list = storage ? storage.getAs<ArrayAttr>(kind) : ArrayAttr())
      for (StringRef axis : list.getAsValueRange<StringAttr>())
        axes.push_back(axis);
    return axes;
  };
  for (StringRef kind : Storage::kKinds)
    object[kind] = getAxes(kind);
  if (units)
    object["units"] = describeUnits(module, units);
  if (!storage)
    return object;
  int64_t microbatches = batch.getAs<IntegerAttr>("microbatches").getInt();
  bool splitsGradients = !getAxes("gradients").empty(), splitsAll = !getAxes("parameters").empty();
  auto kept = module->getAttrOfType<IntegerAttr>(uls::UlsDialect::kKeptRanksAttrName);
  bool reshards = !kept || kept.getInt() > 1;
  if (splitsAll)
    object["reshard_after_forward"] =
        kept && reshards ? json::Value(kept.getInt()) : json::Value(reshards);
  addTravels(
      module,
      {splitsAll ? microbatches * (reshards ? 2 : 1) : 1, splitsGradients ? microbatches : 1},
      object);
  return object;
}
