//===- Buckets.cpp - Collectives that travel together -----------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/Buckets.h"

#include "dialects/Uls/ParameterFlow.h"
#include "ulsc/Support/NamePattern.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

UnitPatterns::UnitPatterns(ModuleOp module) {
  if (auto list = module->getAttrOfType<ArrayAttr>(kUnitsAttrName))
    patterns = llvm::to_vector(list.getAsValueRange<StringAttr>());
}

Unit UnitPatterns::getUnit(Operation *call, StringAttr parameter) const {
  return {call, parameter ? findFirstMatch(patterns, parameter) : patterns.size()};
}

BucketKey uls::getBucketKey(const Unit &unit, dist::CollectiveOpInterface collective) {
  auto type = cast<RankedTensorType>(collective.getInputs().front().getType());
  return {unit.call,
          unit.pattern,
          collective->getName(),
          collective.getAxes(),
          collective->getAttr("reduction"),
          type.getElementType()};
}

std::string uls::joinSources(ArrayRef<std::string> sources) {
  SmallVector<StringRef> distinct;
  for (const std::string &source : sources)
    if (!source.empty() && !llvm::is_contained(distinct, source))
      distinct.push_back(source);
  if (distinct.empty())
    return {};
  StringRef common = distinct.front();
  auto isInside = [&](StringRef source) {
    return source == common || source.starts_with((common + ".").str());
  };
  while (common.contains('.') && !llvm::all_of(distinct, isInside))
    common = common.rsplit('.').first;
  return common.contains('.') ? common.str() : llvm::join(distinct, ", ");
}

std::string uls::getSource(Operation *op) {
  auto name = op->getLoc()->findInstanceOf<NameLoc>();
  return name ? getLayerPattern(name.getName()) : std::string();
}

/// "a; b; c" without repetition, in order.
static StringAttr joinCauses(ArrayRef<dist::CollectiveOpInterface> members) {
  SmallVector<StringRef> causes;
  for (dist::CollectiveOpInterface member : members)
    if (StringAttr cause = member.getCauseAttr();
        cause && !llvm::is_contained(causes, cause.getValue()))
      causes.push_back(cause.getValue());
  if (causes.empty())
    return {};
  return StringAttr::get(members.front()->getContext(), llvm::join(causes, "; "));
}

void uls::mergeCollectives(OpBuilder &builder, Location location,
                           ArrayRef<dist::CollectiveOpInterface> members) {
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  SmallVector<int64_t> dims;
  for (dist::CollectiveOpInterface member : members) {
    llvm::append_range(inputs, member.getInputs());
    llvm::append_range(types, member.getOutputs().getTypes());
    if (auto list = member->getAttrOfType<DenseI64ArrayAttr>("dims"))
      llvm::append_range(dims, list.asArrayRef());
  }
  dist::CollectiveOpInterface first = members.front();
  NamedAttrList attrs(first->getAttrs());
  if (!dims.empty())
    attrs.set("dims", builder.getDenseI64ArrayAttr(dims));
  if (StringAttr cause = joinCauses(members))
    attrs.set("cause", cause);
  OperationState state(location, first->getName(), inputs, types, attrs.getAttrs());
  Operation *merged = builder.create(state);
  unsigned next = 0;
  for (dist::CollectiveOpInterface member : members)
    for (Value output : member.getOutputs())
      output.replaceAllUsesWith(merged->getResult(next++));
  for (dist::CollectiveOpInterface member : members)
    member->erase();
}

CallOp uls::getContributor(Value gradient) {
  while (Operation *op = gradient.getDefiningOp()) {
    if (auto call = dyn_cast<CallOp>(op))
      return call;
    if (auto accumulate = dyn_cast<AccumulateOp>(op))
      gradient = accumulate.getValue();
    else if (isa<ReshapeOp, PadOp, SliceOp, ConvertOp>(op))
      gradient = op->getOperand(0);
    else if (isa<dist::CollectiveOpInterface>(op) && op->getNumOperands() > 0)
      gradient = op->getOperand(cast<OpResult>(gradient).getResultNumber());
    else
      return {};
  }
  return {};
}
