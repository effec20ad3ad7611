//===- MakeJoint.cpp - Reverse-mode differentiation of a block
//-----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Differentiate/MakeJoint.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ulsc::uls;

bool ulsc::uls::isDifferentiable(Type type) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  return tensor && llvm::isa<FloatType>(tensor.getElementType());
}

JointRequest ulsc::uls::requestAll(BlockOp block) {
  JointRequest request;
  for (auto [i, type] : llvm::enumerate(block.getArgumentTypes()))
    if (isDifferentiable(type))
      request.gradients.push_back(i);
  for (auto [i, type] : llvm::enumerate(block.getResultTypes()))
    if (isDifferentiable(type))
      request.cotangents.push_back(i);
  return request;
}

Type ulsc::uls::getGradientDtype(Operation *op) {
  auto module =
      llvm::isa<ModuleOp>(op) ? llvm::cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  auto dtype =
      module ? module->getAttrOfType<TypeAttr>(UlsDialect::kGradientDtypeAttrName) : TypeAttr();
  return dtype ? dtype.getValue() : Float32Type::get(op->getContext());
}

namespace {

/// Differentiates the straight-line body of one block.
class BlockDifferentiator {
public:
  BlockDifferentiator(BlockOp block, const JointRequest &request, Type gradientDtype)
      : block(block), request(request), gradientDtype(gradientDtype),
        builder(OpBuilder::atBlockEnd(&block.getEntry())) {}

  LogicalResult run();

  bool isActive(Value value) const { return active.contains(value); }
  RankedTensorType getCotangentType(Value value) const;
  void addCotangent(Value value, Value cotangent, Location loc);

private:
  LogicalResult checkRequest();
  void findActiveValues();
  void endForwardPart();
  LogicalResult buildAdjoint(Operation &op);
  Value getGradient(Value argument);
  void updateSignature();

  BlockOp block;
  const JointRequest &request;
  Type gradientDtype;
  OpBuilder builder;
  /// Values that depend on an argument whose gradient is wanted.
  llvm::DenseSet<Value> active;
  /// Parameters and what only rearranges or converts them: their cotangents have the gradient
  /// dtype.
  llvm::DenseSet<Value> parameters;
  /// Sums of the cotangents that arrived so far.
  llvm::DenseMap<Value, Value> cotangents;
};

/// What one op's adjoint talks to.
class OpAdjointBuilder : public AdjointBuilder {
public:
  OpAdjointBuilder(BlockDifferentiator &parent, OpBuilder &builder, Operation &op)
      : AdjointBuilder(builder, op.getLoc()), parent(parent), op(op) {}

  bool needs(unsigned operand) const override { return parent.isActive(op.getOperand(operand)); }
  RankedTensorType getCotangentType(unsigned operand) const override {
    return parent.getCotangentType(op.getOperand(operand));
  }
  void add(unsigned operand, Value cotangent) override {
    assert(cotangent.getType() == getCotangentType(operand) && "cotangent of another type");
    if (needs(operand))
      parent.addCotangent(op.getOperand(operand), cotangent, loc);
  }

private:
  BlockDifferentiator &parent;
  Operation &op;
};

} // namespace

RankedTensorType BlockDifferentiator::getCotangentType(Value value) const {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  return parameters.contains(value) ? type.clone(gradientDtype) : type;
}

void BlockDifferentiator::addCotangent(Value value, Value cotangent, Location loc) {
  Value &sum = cotangents[value];
  sum = sum ? AddOp::create(builder, loc, sum, cotangent).getResult() : cotangent;
}

LogicalResult BlockDifferentiator::checkRequest() {
  if (block.isJoint())
    return block.emitOpError("is joint already");
  for (int64_t index : request.gradients)
    if (!isDifferentiable(block.getArgumentTypes()[index]))
      return block.emitOpError() << "argument " << index << " of type "
                                 << block.getArgumentTypes()[index]
                                 << " has no gradient; only floating-point tensors have one";
  for (int64_t index : request.cotangents)
    if (!isDifferentiable(block.getResultTypes()[index]))
      return block.emitOpError() << "result " << index << " of type "
                                 << block.getResultTypes()[index]
                                 << " has no cotangent; only floating-point tensors have one";
  return success();
}

void BlockDifferentiator::findActiveValues() {
  for (int64_t index : request.gradients)
    active.insert(block.getEntry().getArgument(index));
  for (BlockArgument argument : block.getEntry().getArguments())
    if (isDifferentiable(argument.getType()) &&
        block.getArgAttr(argument.getArgNumber(), UlsDialect::kParameterAttrName))
      parameters.insert(argument);
  auto isParameter = [&](Value value) { return parameters.contains(value); };
  for (Operation &op : block.getEntry()) {
    bool dependsOnActive =
        llvm::any_of(op.getOperands(), [&](Value value) { return isActive(value); });
    bool rearranges =
        op.hasTrait<KeepsGradientDtype>() && llvm::all_of(op.getOperands(), isParameter);
    for (Value result : op.getResults()) {
      if (!isDifferentiable(result.getType()))
        continue;
      if (dependsOnActive)
        active.insert(result);
      if (rearranges)
        parameters.insert(result);
    }
  }
}

/// Replaces the yield by the marker between forward and backward part, and adds the cotangents'
/// arguments.
void BlockDifferentiator::endForwardPart() {
  auto yield = llvm::cast<YieldOp>(block.getEntry().back());
  SmallVector<Value> results(yield.getValues());
  Location loc = yield.getLoc();
  yield.erase();
  builder.setInsertionPointToEnd(&block.getEntry());
  ResultOp::create(builder, loc, results);
  for (int64_t index : request.cotangents) {
    Value argument =
        block.getEntry().addArgument(results[index].getType(), results[index].getLoc());
    if (!isActive(results[index]))
      continue;
    RankedTensorType type = getCotangentType(results[index]);
    if (argument.getType() != type)
      argument = ConvertOp::create(builder, loc, type, argument);
    addCotangent(results[index], argument, loc);
  }
}

LogicalResult BlockDifferentiator::buildAdjoint(Operation &op) {
  SmallVector<Value> resultCotangents;
  for (Value result : op.getResults())
    resultCotangents.push_back(cotangents.lookup(result));
  bool isAsked = llvm::any_of(resultCotangents, [](Value value) { return bool(value); });
  if (!isAsked || llvm::none_of(op.getOperands(), [&](Value value) { return isActive(value); }))
    return success();
  auto differentiable = llvm::dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op.emitOpError(
        "has no adjoint, but a gradient that is wanted passes through it; implement "
        "DifferentiableOpInterface, or freeze the parameters that it depends on");
  OpAdjointBuilder adjoint(*this, builder, op);
  return differentiable.buildAdjoint(adjoint, resultCotangents);
}

/// The sum of an argument's cotangents; zeros for one that no result depends on.
Value BlockDifferentiator::getGradient(Value argument) {
  if (Value gradient = cotangents.lookup(argument))
    return gradient;
  RankedTensorType type = getCotangentType(argument);
  return ConstantOp::create(builder, block.getLoc(), type,
                            llvm::cast<ElementsAttr>(builder.getZeroAttr(type)));
}

/// Appends cotangents and gradients to the type. Cotangents are attributed as the results they
/// belong to, gradients by the logical axes of their arguments.
void BlockDifferentiator::updateSignature() {
  int64_t primalArguments = block.getFunctionType().getNumInputs();
  int64_t primalResults = block.getFunctionType().getNumResults();
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  block.getAllArgAttrs(argumentAttrs);
  block.getAllResultAttrs(resultAttrs);
  argumentAttrs.resize(primalArguments, builder.getDictionaryAttr({}));
  resultAttrs.resize(primalResults, builder.getDictionaryAttr({}));
  for (int64_t index : request.cotangents)
    argumentAttrs.push_back(resultAttrs[index]);
  for (int64_t index : request.gradients) {
    SmallVector<NamedAttribute> attrs;
    if (Attribute axes = argumentAttrs[index].get(UlsDialect::kAxesAttrName))
      attrs.push_back(builder.getNamedAttr(UlsDialect::kAxesAttrName, axes));
    resultAttrs.push_back(builder.getDictionaryAttr(attrs));
  }
  SmallVector<Type> results(block.getFunctionType().getResults());
  llvm::append_range(results, block.getEntry().back().getOperandTypes());
  block.setFunctionType(builder.getFunctionType(block.getEntry().getArgumentTypes(), results));
  block.setAllArgAttrs(argumentAttrs);
  block.setAllResultAttrs(resultAttrs);
  block.setPrimalArguments(primalArguments);
  block.setPrimalResults(primalResults);
  block.setGradients(request.gradients);
  block.setCotangents(request.cotangents);
}

LogicalResult BlockDifferentiator::run() {
  if (failed(checkRequest()))
    return failure();
  SmallVector<Operation *> forward;
  for (Operation &op : block.getEntry().without_terminator())
    forward.push_back(&op);
  Location loc = block.getEntry().back().getLoc();
  findActiveValues();
  endForwardPart();
  for (Operation *op : llvm::reverse(forward))
    if (failed(buildAdjoint(*op)))
      return failure();
  SmallVector<Value> gradients;
  for (int64_t index : request.gradients)
    gradients.push_back(getGradient(block.getEntry().getArgument(index)));
  YieldOp::create(builder, loc, gradients);
  updateSignature();
  return success();
}

LogicalResult ulsc::uls::makeJoint(BlockOp block, const JointRequest &request, Type gradientDtype) {
  return BlockDifferentiator(block, request, gradientDtype).run();
}
