//===- CollectiveTable.cpp - Numbers of collectives and groups --------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/CollectiveTable.h"

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "ulsc/Report.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// Adds to `calls` how often the body of `function`, run `times` times, runs each block.
static void countCalls(Operation *function, int64_t times, SymbolTable &symbols,
                       llvm::StringMap<int64_t> &calls) {
  function->walk([&](uls::CallOp call) {
    int64_t inner = times;
    if (auto loop = call->getParentOfType<uls::MicrobatchesOp>())
      inner *= loop.getCount();
    calls[call.getCallee()] += inner;
    if (Operation *callee = symbols.lookup(call.getCallee()))
      countCalls(callee, inner, symbols, calls);
  });
}

CollectiveTable::CollectiveTable(ModuleOp module) : module(module) {
  SymbolTable symbols(module);
  for (auto step : module.getOps<uls::StepOp>())
    countCalls(step, 1, symbols, calls);
  if (auto model = module->getAttrOfType<DictionaryAttr>("uls.model"))
    if (auto text = model.getAs<StringAttr>("weight_prefix"))
      prefix = text.str();
}

static int64_t sumBytes(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    bytes += exec::getBytes(cast<ShapedType>(value.getType()));
  return bytes;
}

int64_t CollectiveTable::addCollective(dist::CollectiveOpInterface collective, int64_t count) {
  Builder builder(module.getContext());
  std::string source;
  if (auto name = collective->getLoc()->findInstanceOf<NameLoc>())
    source = name.getName().str();
  if (!prefix.empty() && StringRef(source).starts_with(prefix))
    source = source.substr(prefix.size());
  StringAttr cause = collective.getCauseAttr();
  Type element = cast<RankedTensorType>(collective.getTravellingTypes().front()).getElementType();
  std::string dtype;
  llvm::raw_string_ostream(dtype) << element;
  int64_t bytes = std::max(sumBytes(collective.getInputs()), sumBytes(collective.getOutputs()));
  collectives.push_back(builder.getDictionaryAttr({
      builder.getNamedAttr("kind", builder.getStringAttr(collective.getKind())),
      builder.getNamedAttr("axes", collective.getAxes()),
      builder.getNamedAttr("phase", builder.getStringAttr(report::getPhase(collective))),
      builder.getNamedAttr("source", builder.getStringAttr(source)),
      builder.getNamedAttr("cause", cause ? cause : builder.getStringAttr("")),
      builder.getNamedAttr("dtype", builder.getStringAttr(dtype)),
      builder.getNamedAttr("count_per_step", builder.getI64IntegerAttr(count)),
      builder.getNamedAttr("bytes", builder.getI64IntegerAttr(bytes)),
  }));
  return collectives.size() - 1;
}

int64_t CollectiveTable::getGroup(ArrayAttr axes) {
  auto *it = llvm::find(groups, axes);
  int64_t index = it - groups.begin();
  if (it == groups.end())
    groups.push_back(axes);
  return index;
}

void CollectiveTable::attach() {
  Builder builder(module.getContext());
  module->setAttr(kCollectivesAttrName, builder.getArrayAttr(collectives));
  module->setAttr(kGroupsAttrName, builder.getArrayAttr(groups));
}
