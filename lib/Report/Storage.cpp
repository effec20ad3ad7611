//===- Storage.cpp - What moves because state is split, beside the formula --------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Report.h"

#include "dialects/Uls/Uls.h"
#include "lib/Report/Parts.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

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
        if (StringAttr name = findSource(input))
          travels[name].gathers += getTimes(op);
    } else if (auto scatter = llvm::dyn_cast<dist::ReduceScatterOp>(op)) {
      for (Value output : scatter.getOutputs()) {
        llvm::DenseSet<Value> seen;
        if (StringAttr name = findTarget(output, seen))
          travels[name].scatters += getTimes(op);
      }
    } else if (auto call = llvm::dyn_cast<uls::CallOp>(op);
               call && report::isBackwardPart(call.getCallee())) {
      for (Value operand : call.getArguments())
        if (StringAttr name = findSource(operand))
          travels[name].isUsedBackward = true;
    }
  }

  /// The parameter that a value is, or is a new value of.
  static StringAttr findSource(Value value) {
    while (auto result = llvm::dyn_cast<OpResult>(value)) {
      Operation *op = result.getOwner();
      if (auto materialize = llvm::dyn_cast<uls::MaterializeOp>(op))
        return materialize.getParameterAttr().getAttr();
      if (auto update = llvm::dyn_cast<uls::UpdateOp>(op))
        return llvm::cast<StringAttr>(update.getParameters()[result.getResultNumber()]);
      if (auto wait = llvm::dyn_cast<dist::WaitOp>(op)) {
        auto start = wait.getHandle().getDefiningOp<dist::StartOp>();
        value = start.getCollective().getInputs()[result.getResultNumber()];
      } else if (llvm::isa<uls::SliceOp, uls::ReshapeOp, uls::ConvertOp>(op)) {
        value = op->getOperand(0);
      } else {
        break;
      }
    }
    return {};
  }

  /// The parameter that a gradient goes to.
  static StringAttr findTarget(Value value, llvm::DenseSet<Value> &seen) {
    if (llvm::cast<RankedTensorType>(value.getType()).getRank() == 0 || !seen.insert(value).second)
      return {};
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      unsigned index = use.getOperandNumber();
      if (auto update = llvm::dyn_cast<uls::UpdateOp>(user))
        return llvm::cast<StringAttr>(update.getParameters()[index]);
      SmallVector<Value> next;
      if (auto loop = llvm::dyn_cast<uls::MicrobatchesOp>(user))
        next = {loop.getResult(index), loop.getBody().getArgument(index + 1)};
      else if (auto outer = llvm::dyn_cast<uls::MicrobatchesOp>(user->getParentOp());
               outer && llvm::isa<uls::YieldOp>(user))
        next = {outer.getResult(index)};
      else if (auto start = llvm::dyn_cast<dist::StartOp>(user->getParentOp()))
        next = {llvm::cast<dist::WaitOp>(*start.getHandle().user_begin()).getResult(index)};
      else if (user->getNumResults() == 1)
        next = {user->getResult(0)};
      for (Value other : next)
        if (StringAttr name = findTarget(other, seen))
          return name;
    }
    return {};
  }

  ModuleOp module;
  llvm::MapVector<StringAttr, Travels> travels;
};
} // namespace

/// Layers' numbers as `*`.
static std::string getPattern(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (StringRef &part : parts)
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      part = "*";
  return llvm::join(parts, ".");
}

static StringRef explain(bool isGather, int64_t count, int64_t expected, const Travels &travels) {
  if (count > expected)
    return isGather ? "it is a part of several units" : "several units add to its gradient";
  if (!isGather)
    return "units share a scatter";
  return travels.isUsedBackward ? "the backward follows its forward and shares the gather"
                                : "the backward does not need it";
}

json::Object report::makeStorage(ModuleOp module) {
  auto storage = module->getAttrOfType<DictionaryAttr>(uls::UlsDialect::kStorageAttrName);
  auto batch = module->getAttrOfType<DictionaryAttr>(uls::UlsDialect::kBatchAttrName);
  if (!storage || !batch)
    return {};
  json::Object object;
  auto getAxes = [&](StringRef kind) {
    json::Array axes;
    if (auto list = storage.getAs<ArrayAttr>(kind))
      for (StringRef axis : list.getAsValueRange<StringAttr>())
        axes.push_back(axis);
    return axes;
  };
  for (StringRef kind : {"optimizer", "gradients", "parameters"})
    object[kind] = getAxes(kind);
  int64_t microbatches = batch.getAs<IntegerAttr>("microbatches").getInt();
  bool splitsGradients = !getAxes("gradients").empty(), splitsAll = !getAxes("parameters").empty();
  bool reshards = !module->hasAttr(uls::UlsDialect::kKeepsGatheredAttrName);
  int64_t gathers = splitsAll ? microbatches * (reshards ? 2 : 1) : 1,
          scatters = splitsGradients ? microbatches : 1, gathered = 0, scattered = 0;
  std::map<std::pair<std::string, bool>, json::Object> deviations;
  for (auto &[name, travel] : TravelCounter(module).count()) {
    gathered += travel.gathers * travel.elements;
    scattered += travel.scatters * travel.elements;
    std::string pattern = getPattern(name.getValue());
    for (bool isGather : {true, false}) {
      int64_t count = isGather ? travel.gathers : travel.scatters,
              expected = isGather ? gathers : scatters;
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
  return object;
}
