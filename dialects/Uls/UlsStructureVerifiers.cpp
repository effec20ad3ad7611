//===- UlsStructureVerifiers.cpp - Invariants of functions, calls and the step
//-------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

static bool isPartitioned(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  return module && module->hasAttr(dist::DistDialect::kPartitionedAttrName);
}

/// `values` must have `types`; `what` says whose they are.
static LogicalResult expectTypes(Operation *op, TypeRange values, TypeRange types, StringRef what) {
  if (values.size() != types.size())
    return op->emitOpError() << "has " << values.size() << " " << what << ", expected "
                             << types.size();
  for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(values, types)))
    if (std::get<0>(pair) != std::get<1>(pair))
      return op->emitOpError() << what << " " << i << " is " << std::get<0>(pair) << ", expected "
                               << std::get<1>(pair);
  return success();
}

/// The terminator yields the function's results.
template <typename Op>
static LogicalResult verifyYield(Op op, TypeRange types) {
  auto yield = llvm::dyn_cast<YieldOp>(op.getBody().front().back());
  if (!yield)
    return op.emitOpError("must end in uls.yield");
  return expectTypes(yield, yield.getOperandTypes(), types, "value");
}

LogicalResult ParamOp::verify() {
  RankedTensorType type = getTensorType();
  if (int64_t(getAxes().size()) != type.getRank())
    return emitOpError() << "names " << getAxes().size() << " logical axes for " << type;
  if (auto external = getExternal())
    for (Attribute group : *external) {
      auto list = llvm::dyn_cast<ArrayAttr>(group);
      if (!list || !llvm::all_of(list, [](Attribute dim) { return llvm::isa<IntegerAttr>(dim); }))
        return emitOpError() << "external dimensions are lists of integers, found " << group;
    }
  int64_t next = 0;
  for (const auto &group : getExternalDims())
    for (int64_t dim : group)
      if (dim != next++)
        return emitOpError("external dimensions must list all dimensions in order");
  if (next != type.getRank())
    return emitOpError() << "external dimensions name " << next << " of " << type.getRank()
                         << " dimensions";
  if (int64_t(getUnpaddedShape().size()) != type.getRank())
    return emitOpError() << "logical shape has rank " << getUnpaddedShape().size();
  for (auto [padded, size] : llvm::zip_equal(type.getShape(), getUnpaddedShape()))
    if (size > padded || size < 0)
      return emitOpError() << "logical size " << size << " exceeds " << padded;
  return success();
}

LogicalResult BlockOp::verify() {
  if (!isJoint())
    return verifyYield(*this, getResultTypes());
  if (!getPrimalResults() || !getGradients() || !getCotangents())
    return emitOpError("is joint but lacks primal_results, gradients or cotangents");
  int64_t primalArguments = getNumPrimalArguments(), primalResults = getNumPrimalResults();
  ArrayRef<Type> arguments = getArgumentTypes(), results = getResultTypes();
  ArrayRef<int64_t> gradients = *getGradients(), cotangents = *getCotangents();
  if (primalArguments + int64_t(cotangents.size()) != int64_t(arguments.size()) ||
      primalResults + int64_t(gradients.size()) != int64_t(results.size()))
    return emitOpError("primal and backward arguments or results do not add up");
  for (int64_t index : gradients)
    if (index < 0 || index >= primalArguments)
      return emitOpError() << "has a gradient of argument " << index << " of " << primalArguments;
  for (int64_t index : cotangents)
    if (index < 0 || index >= primalResults)
      return emitOpError() << "has a cotangent of result " << index << " of " << primalResults;
  ResultOp result = getResultOp();
  if (!result)
    return emitOpError("is joint but has no uls.result");
  if (failed(expectTypes(result, result.getOperandTypes(),
                         TypeRange(results.take_front(primalResults)), "value")))
    return failure();
  for (Operation &op : getEntry())
    for (Value operand : op.getOperands())
      if (auto argument = llvm::dyn_cast<BlockArgument>(operand))
        if (op.isBeforeInBlock(result) && argument.getOwner() == &getEntry() &&
            argument.getArgNumber() >= primalArguments)
          return op.emitOpError("is in the forward part but uses a cotangent");
  return verifyYield(*this, results.drop_front(primalResults));
}

LogicalResult ForwardOp::verify() { return verifyYield(*this, getResultTypes()); }
LogicalResult StepOp::verify() { return verifyYield(*this, getResultTypes()); }

LogicalResult UpdateRuleOp::verify() {
  int64_t tensors = getRoles().size();
  ArrayRef<Type> arguments = getArgumentTypes();
  if (int64_t(arguments.size()) < tensors)
    return emitOpError() << "has " << tensors << " roles for " << arguments.size() << " arguments";
  for (auto [i, type] : llvm::enumerate(arguments)) {
    auto tensor = llvm::dyn_cast<RankedTensorType>(type);
    int64_t rank = int64_t(i) < tensors ? 1 : 0;
    if (!tensor || tensor.getRank() != rank)
      return emitOpError() << "argument " << i << " is " << type << ", expected a tensor of rank "
                           << rank;
  }
  if (getUpdates().size() != getResultTypes().size())
    return emitOpError() << "has " << getUpdates().size() << " updates for "
                         << getResultTypes().size() << " results";
  return verifyYield(*this, getResultTypes());
}

LogicalResult MicrobatchesOp::verify() {
  Block &body = getBody().front();
  SmallVector<Type> expected{IntegerType::get(getContext(), 64)};
  llvm::append_range(expected, getInits().getTypes());
  if (int64_t(getCount()) < 1)
    return emitOpError() << "count " << getCount() << " is below 1";
  if (failed(expectTypes(*this, body.getArgumentTypes(), TypeRange(expected), "body argument")) ||
      failed(expectTypes(*this, getResultTypes(), getInits().getTypes(), "result")))
    return failure();
  return verifyYield(*this, getResultTypes());
}

LogicalResult MicrobatchOp::verify() {
  auto input = llvm::cast<RankedTensorType>(getInput().getType());
  if (input.getRank() < 1 ||
      getOutput().getType() !=
          RankedTensorType::get(input.getShape().drop_front(), input.getElementType()))
    return emitOpError() << "takes " << getOutput().getType() << " from " << input;
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Symbols
//===---------------------------------------------------------------------------------------===//

template <typename Target>
static Target lookup(Operation *op, FlatSymbolRefAttr name, SymbolTableCollection &symbols) {
  auto target = symbols.lookupNearestSymbolFrom<Target>(op, name);
  if (!target)
    op->emitOpError() << "names " << name << ", which is not a " << Target::getOperationName();
  return target;
}

LogicalResult MaterializeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto param = lookup<ParamOp>(*this, getParameterAttr(), symbols);
  if (!param)
    return failure();
  auto type = llvm::cast<RankedTensorType>(getOutput().getType());
  if (!isPartitioned(*this) && type.getShape() != param.getTensorType().getShape())
    return emitOpError() << "gives " << type << " of a parameter of type " << param.getType();
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto block = lookup<BlockOp>(*this, getCalleeAttr(), symbols);
  if (!block)
    return failure();
  SmallVector<Type> results(block.getResultTypes().take_front(block.getNumPrimalResults()));
  if (block.isJoint() && getNumResults() == results.size() + 1)
    results.push_back(ResidualsType::get(getContext()));
  if (failed(
          expectTypes(*this, getOperandTypes(),
                      TypeRange(block.getArgumentTypes().take_front(block.getNumPrimalArguments())),
                      "argument")))
    return failure();
  return expectTypes(*this, getResultTypes(), TypeRange(results), "result");
}

/// What `gives` says of a half: each gradient once, and the second half others than the first.
static LogicalResult verifyHalf(BackwardOp op) {
  auto first = op.getResiduals().getDefiningOp<BackwardOp>();
  if (!op.getGives() && !first && !op.getLeft())
    return success();
  if (!op.getGives())
    return op.emitOpError("is one half of a backward; name the gradients that it gives");
  if (first && op.getLeft())
    return op.emitOpError("is a second half, which leaves nothing");
  if (first && first.getCallee() != op.getCallee())
    return op.emitOpError() << "goes on with what the first half of " << first.getCalleeAttr()
                            << " left, not that of " << op.getCalleeAttr();
  llvm::SmallDenseSet<int64_t> given;
  ArrayRef<int64_t> gives = *op.getGives();
  for (int64_t number : gives) {
    if (!given.insert(number).second)
      return op.emitOpError() << "gives gradient " << number << " twice";
    if (first && first.getGives() &&
        llvm::is_contained(ArrayRef<int64_t>(*first.getGives()), number))
      return op.emitOpError() << "gives gradient " << number << ", which its first half gives";
  }
  return success();
}

LogicalResult BackwardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto block = lookup<BlockOp>(*this, getCalleeAttr(), symbols);
  if (!block)
    return failure();
  if (!block.isJoint())
    return emitOpError() << "calls the backward part of " << getCalleeAttr()
                         << ", which is not joint";
  if (failed(verifyHalf(*this)))
    return failure();
  SmallVector<Type> cotangents(block.getArgumentTypes().drop_front(block.getNumPrimalArguments()));
  if (isSecondHalf())
    cotangents.clear();
  if (failed(expectTypes(*this, getCotangents().getTypes(), cotangents, "cotangent")))
    return failure();
  ArrayRef<Type> gradients = block.getResultTypes().drop_front(block.getNumPrimalResults());
  SmallVector<Type> expected;
  ArrayRef<int64_t> gives = getGives().value_or(ArrayRef<int64_t>());
  if (!getGives())
    expected.assign(gradients.begin(), gradients.end());
  else
    for (int64_t number : gives) {
      if (number < 0 || number >= int64_t(gradients.size()))
        return emitOpError() << "gives gradient " << number << " of " << gradients.size();
      expected.push_back(gradients[number]);
    }
  if (Value left = getLeft())
    expected.push_back(left.getType());
  return expectTypes(*this, getResultTypes(), TypeRange(expected), "result");
}

Value BackwardOp::getLeft() {
  bool hasLeft = getNumResults() > 0 && llvm::isa<ResidualsType>(getResults().back().getType());
  return hasLeft ? getResults().back() : Value();
}

LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto rule = lookup<UpdateRuleOp>(*this, getRuleAttr(), symbols);
  if (!rule)
    return failure();
  if (getParameters().size() != getGradients().size())
    return emitOpError() << "has " << getGradients().size() << " gradients for "
                         << getParameters().size() << " parameters";
  for (auto name : getParameters().getAsRange<StringAttr>())
    if (!lookup<ParamOp>(*this, FlatSymbolRefAttr::get(name), symbols))
      return failure();
  if (!getResults().empty() && getResults().size() != getGradients().size())
    return emitOpError() << "has " << getResults().size() << " results for "
                         << getParameters().size() << " parameters; expected none or one for each";
  if (!getValues().empty() && getValues().size() != getResults().size())
    return emitOpError() << "reads " << getValues().size() << " values for " << getResults().size()
                         << " results; expected none or one for each";
  if (rule.getRoles().size() + getScalars().size() != rule.getNumArguments())
    return emitOpError() << "passes " << getScalars().size() << " scalars to " << getRuleAttr()
                         << ", which takes " << rule.getNumArguments() - rule.getRoles().size();
  if (Value condition = getCondition()) {
    auto type = llvm::cast<RankedTensorType>(condition.getType());
    if (type.getRank() != 0 || !type.getElementType().isF32())
      return emitOpError() << "depends on " << type << ", expected a rank-0 f32";
  }
  return success();
}

LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto param = lookup<ParamOp>(*this, getParameterAttr(), symbols);
  if (!param)
    return failure();
  Type element = llvm::cast<RankedTensorType>(getValue().getType()).getElementType();
  if (element != param.getTensorType().getElementType())
    return emitOpError() << "assigns " << getValue().getType() << " to " << getParameterAttr()
                         << ", which is stored in " << param.getTensorType().getElementType();
  return success();
}

LogicalResult ControlOp::verify() {
  static constexpr StringLiteral fields[] = {"learning_rate",
                                             "beta1",
                                             "beta2",
                                             "epsilon",
                                             "bias_correction1",
                                             "bias_correction2",
                                             "weight_decay",
                                             "momentum",
                                             "clip_grad",
                                             "loss_scale",
                                             "good_steps",
                                             "loss_scale_growth_interval",
                                             "stop_requested",
                                             "parameter_lr_scale",
                                             "parameter_decay_scale"};
  if (!llvm::is_contained(fields, getField()))
    return emitOpError() << "\"" << getField() << "\" is no field of the control block";
  return success();
}

LogicalResult ReportOp::verify() {
  static constexpr StringLiteral fields[] = {"loss",       "grad_norm",       "valid_count",
                                             "stop_count", "next_loss_scale", "next_good_steps",
                                             "overflowed"};
  if (!llvm::is_contained(fields, getField()))
    return emitOpError() << "\"" << getField() << "\" is no field that a step reports";
  return success();
}
